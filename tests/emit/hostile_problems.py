"""Random problems whose names are those of emitted code, as text of problem files.

The names are read from what a target emits for a problem of the same shape, so that a name which an emitter starts to
use tomorrow is tried tomorrow.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

from sciml_bench.emit import source
from sciml_bench.errors import ProblemError
from sciml_bench.spec.load import load_problem

_HEAD = ("spec = 1", 'name = "hostile"', 'title = "Hostile"', "[time]", "t1 = 1")
_NAME = re.compile(r"[A-Za-z_]\w*")
_KINDS = ("vector state", "state", "state", "vector parameter", "parameter", "parameter", "vector", "number", "number")
#: Names of a file's own, beside which those of emitted code stand that are made of them.
PLAIN = ("c", "k", "u", "a", "b", "w", "h", "v", "m")
#: Names to which the language itself gives a meaning, and functions in these problems.
_MEANT = frozenset(("t", "pi", "e", "cos", "exp", "sin", "sum", "where"))


def names_of(target: str, folder: Path, *, vectors: bool) -> list[str]:
    """Names in what a target emits, and variations of the quantities' own names, that a file may use."""
    path = folder / "plain.toml"
    found: set[str] = set()
    for seed in range(3):
        path.write_text(text(seed, PLAIN, vectors=vectors), encoding="utf-8")
        found.update(_NAME.findall(source(load_problem(path), target)))
    found |= {f"{name}{ending}" for name in ("c", "k", "y", "p") for ending in ("", "_", "_0", "_1_", "0", "_i", "_c")}
    return sorted(name for name in found - {*PLAIN, *_MEANT} if _is_allowed(name, folder))


def _is_allowed(name: str, folder: Path) -> bool:
    """Return whether the loader takes a name; what it takes must be emitted rightly."""
    path = folder / "name.toml"
    lines = [*_HEAD, "[parameters]", f"{name} = 2", "[states]", "other = 1", "[equations]", f'other = "-{name}*other"']
    path.write_text("\n".join(lines), encoding="utf-8")
    try:
        load_problem(path)
    except ProblemError:
        return False
    return True


def text(seed: int, names: Sequence[str], *, vectors: bool) -> str:
    """A problem with all kinds of quantities, some under plain names, the others under these; finite at its start."""
    chosen = random.Random(seed)
    kinds = [kind for kind in _KINDS if vectors or not kind.startswith("vector")]
    of_kind: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    plain = chosen.sample(PLAIN, len(kinds) // 2)
    others = chosen.sample(sorted({*names} - {*plain}), len(kinds) - len(plain))
    chosen.shuffle(drawn := [*plain, *others])
    for kind, name in zip(kinds, drawn, strict=True):
        of_kind[kind].append(name)
    arrays = [*of_kind["vector state"], *of_kind["vector parameter"]]
    numbers = [*of_kind["state"], *of_kind["parameter"], *(f"{name}[{chosen.randrange(3)}]" for name in arrays)]
    definitions: list[str] = []
    for name in of_kind["vector"]:
        definitions.append(f'{name} = "{_whole(chosen, arrays, numbers)}"')
        arrays.append(name)
    for name in of_kind["number"]:
        definitions.append(f'{name} = "{_number(chosen, arrays, numbers)}"')
        numbers.append(name)
    # What is declared must be used.
    used = " + ".join([*numbers, *(f"sum({name})" for name in arrays)])
    equations = [f'{name} = "{_whole(chosen, arrays, numbers)}"' for name in of_kind["vector state"]]
    equations += [f'{name} = "{_number(chosen, arrays, numbers)} + {used}"' for name in of_kind["state"]]
    return "\n".join(
        [
            *_HEAD,
            "[parameters]",
            *(f"{name} = [0.7, 1.1, 0.4]" for name in of_kind["vector parameter"]),
            *(f"{name} = {chosen.choice(('0.3', '1.7'))}" for name in of_kind["parameter"]),
            "[states]",
            *(f"{name} = [0.5, 0.2, 0.9]" for name in of_kind["vector state"]),
            *(f"{name} = {chosen.choice(('0.6', '1.3'))}" for name in of_kind["state"]),
            "[definitions]",
            *definitions,
            "[equations]",
            *equations,
            "",
        ]
    )


def _number(chosen: random.Random, arrays: Sequence[str], numbers: Sequence[str]) -> str:
    a, b = chosen.choice(numbers), chosen.choice(numbers)
    forms = [f"{a}*{b}", f"sin({a})*{b}", f"exp(-{a}**2)", f"{a}/(2 + {b}**2)", f"where({a} > {b}, 2*{a}, {b}**2)"]
    forms += [f"sum({chosen.choice(arrays)}*{a})", f"{b}*sum(cos({chosen.choice(arrays)}))"] if arrays else []
    return f"{chosen.choice(forms)} - {chosen.choice(forms)}"


def _whole(chosen: random.Random, arrays: Sequence[str], numbers: Sequence[str]) -> str:
    a, b, c = chosen.choice(arrays), chosen.choice(arrays), chosen.choice(numbers)
    return chosen.choice([f"{a}*{b} - {c}*{a}", f"-{c}*{a} + sin({b})", f"exp(-{a}**2)*{c} + {b}"])
