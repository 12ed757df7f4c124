"""The text of a problem file from formulas: parts that are used several times become definitions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from sciml_bench.importing.python_function import Formula
from sciml_bench.importing.traced import Condition, Traced, parts_of, text_of

#: A formula nested deeper than this is cut into definitions, for readers and for recursion.
_DEEPEST = 30
_SAVED = 20


def problem_text(formula: Formula) -> str:
    """The problem file of a function."""
    taken = {*formula.states, *formula.parameters}
    names, definitions = dict[int, str](), list[tuple[str, str]]()
    for part in _shared(formula.derivatives):
        name = next(f"v{i}" for i in range(len(definitions) + 1, 10**9) if f"v{i}" not in taken)
        definitions.append((name, text_of(part, names)[0]))
        names[id(part)] = name
        taken.add(name)
    slug = re.sub(r"[^a-z0-9]+", "-", formula.name.lower()).strip("-")[:40] or "model"
    start, end = formula.given.t_span
    saved = [float(time) for time in formula.given.t_eval if time != start]
    save = f"times = {json.dumps(saved)}" if saved else f'spacing = "linear", count = {_SAVED}'
    lines = [
        "spec = 1", f'name = "{slug}"', f'title = "{slug}, from a Python function"', "",
        "[time]", f"t0 = {start!r}", f"t1 = {end!r}", f"save = {{ {save} }}",
    ]  # fmt: skip
    tables = [
        ("parameters", {name: repr(value) for name, value in formula.parameters.items()}),
        ("states", {name: repr(value) for name, value in formula.states.items()}),
        ("definitions", {name: json.dumps(text) for name, text in definitions}),
        (
            "equations",
            {
                name: json.dumps(text_of(value, names)[0])
                for name, value in zip(formula.states, formula.derivatives, strict=True)
            },
        ),
    ]
    for table, entries in tables:
        if entries:
            lines += ["", f"[{table}]", *(f"{name} = {value}" for name, value in entries.items())]
    return "\n".join(lines) + "\n"


def _shared(values: Sequence[Any]) -> Iterator[Traced]:
    """The parts that are used more than once, or that lie deep, in the order in which they are needed."""
    order, uses = parts_of(values)
    depth: dict[int, int] = {}
    for part in order:
        depth[id(part)] = 1 + max((depth.get(id(arg), 0) for arg in part.args), default=0)
        if part.op == "name" or isinstance(part, Condition):
            continue
        if uses[id(part)] > 1 or depth[id(part)] > _DEEPEST:
            depth[id(part)] = 0
            yield part
