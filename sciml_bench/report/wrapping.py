"""Wraps text for a terminal; words, and with them numbers and commands, stay whole."""

from __future__ import annotations

import textwrap

# Narrower terminals get lines of this width.
_NARROWEST = 40


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """The lines of a text, indented, and from the second on by two more."""
    return textwrap.wrap(
        text,
        max(width, _NARROWEST),
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
