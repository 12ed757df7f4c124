"""Mistakes in problem files, of each kind that strangers make or try."""

from __future__ import annotations

import random

_NUMBERS = (
    "nan", "inf", "-inf", "1e999", "1e-400", "0", "-1", "10_000_000_000", "true", "1979-05-27", "[]", "{}", "[[[[]]]]",
)  # fmt: skip
_WORDS = (
    "", "x" * 5000, "(" * 400 + "y" + ")" * 400, "y" + " + y" * 3000, "y**y**y**y", "1/0", "exp(exp(exp(exp(9))))",
    "sum(sum(sum(y)))", "lambda: 0", "y if y else y", "{y}", "__import__('os').system('true')", "../../../etc/passwd",
    "/dev/zero", "\\u0000", "\\u202e", "import", "None", "self", "p", "t",
)  # fmt: skip
_VALUES = (*_NUMBERS, *(f'"{word}"' for word in _WORDS))


def mistaken(text: str, chance: random.Random) -> str:
    """A file of lines with one mistake more."""
    lines = text.splitlines()
    at = chance.randrange(len(lines))
    kind = chance.randrange(8)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, lines[chance.randrange(len(lines))])
    elif kind == 2:
        lines[at] = lines[at][: chance.randrange(len(lines[at]) + 1)]
    elif kind == 3:
        place = chance.randrange(len(lines[at]) + 1)
        lines[at] = lines[at][:place] + chance.choice("\x00\x1b\"'[]{}=,.#\\é∂💥") + lines[at][place:]
    else:
        holders = [number for number, line in enumerate(lines) if "=" in line]
        if holders:
            at = chance.choice(holders)
            lines[at] = f"{lines[at].partition('=')[0]}= {chance.choice(_VALUES)}"
    return "\n".join(lines) + "\n"
