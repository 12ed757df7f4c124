"""The text of a problem file from formulas: parts that are used several times become definitions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sciml_bench.importing.evaluation import Evaluation
from sciml_bench.importing.formula_text import parts_of, text_of
from sciml_bench.importing.python_function import Formula
from sciml_bench.importing.traced import Condition, Traced

#: A formula nested deeper than this is cut into definitions, for readers and for recursion.
_DEEPEST = 30
_SAVED = 20


@dataclass(frozen=True)
class Written:
    """A problem file, and the formulas in it: definitions and derivatives by name."""

    text: str
    definitions: dict[str, str]
    equations: dict[str, str]

    def value(self, numbers: Mapping[str, float]) -> list[float]:
        """The derivatives, from numbers for time, states and parameters."""
        return list(self._evaluation.value(numbers).values())[len(self.definitions) :]

    @cached_property
    def _evaluation(self) -> Evaluation:
        # A derivative has the name of its state, which it must not replace.
        return Evaluation({**self.definitions, **{f"d{name}/dt": text for name, text in self.equations.items()}})


def written(formula: Formula) -> Written:
    """The problem file of a function."""
    taken = {*formula.states, *formula.parameters}
    names, definitions = dict[int, str](), dict[str, str]()
    for part in _shared(formula.derivatives):
        name = next(f"v{i}" for i in range(len(definitions) + 1, 10**9) if f"v{i}" not in taken)
        text = text_of(part, names)[0]
        definitions[name] = f"where({text}, 1, 0)" if isinstance(part, Condition) else text
        names[id(part)] = name
        taken.add(name)
    equations = {
        name: text_of(value, names)[0] for name, value in zip(formula.states, formula.derivatives, strict=True)
    }
    slug = re.sub(r"[^a-z0-9]+", "-", formula.name.lower()).strip("-")[:40] or "model"
    start, end = formula.given.t_span
    saved = [float(time) for time in formula.given.t_eval if time != start]
    save = f"times = {json.dumps(saved)}" if saved else f'spacing = "linear", count = {_SAVED}'
    lines = [
        "spec = 1", f'name = "{slug}"', f'title = "{slug}, from a Python function"', "",
        "[time]", f"t0 = {start!r}", f"t1 = {end!r}", f"save = {{ {save} }}",
    ]  # fmt: skip
    tables = (
        ("parameters", {name: repr(value) for name, value in formula.parameters.items()}),
        ("states", {name: repr(value) for name, value in formula.states.items()}),
        ("definitions", {name: json.dumps(text) for name, text in definitions.items()}),
        ("equations", {name: json.dumps(text) for name, text in equations.items()}),
    )
    for table, entries in tables:
        if entries:
            lines += ["", f"[{table}]", *(f"{name} = {value}" for name, value in entries.items())]
    return Written("\n".join(lines) + "\n", definitions, equations)


def _shared(values: Sequence[Any]) -> Iterator[Traced | Condition]:
    """The parts that are used more than once, or that lie deep, in the order in which they are needed."""
    order, uses = parts_of(values)
    depth: dict[int, int] = {}
    for part in order:
        depth[id(part)] = 1 + max((depth.get(id(arg), 0) for arg in part.args), default=0)
        # A comparison of names is as short as its own name would be.
        short = part.op == "name" or (isinstance(part, Condition) and depth[id(part)] < 3)
        if not short and (uses[id(part)] > 1 or depth[id(part)] > _DEEPEST):
            depth[id(part)] = 0
            yield part
