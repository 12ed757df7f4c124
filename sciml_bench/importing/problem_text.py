"""The text of a problem file from formulas: parts that are used several times become definitions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sciml_bench.importing.equations import Equations, ModelEvent
from sciml_bench.importing.evaluation import Evaluation
from sciml_bench.importing.formula_text import parts_of, text_of
from sciml_bench.importing.python.refusals import Unsupported
from sciml_bench.importing.python.traced import Condition, Traced, is_traced

#: A formula nested deeper than this is cut into definitions, for readers and for recursion.
_DEEPEST = 30
_SAVED = 20
_LONGEST = 10_000


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


def written(model: Equations) -> Written:
    """The problem file of a model."""
    taken = {*model.states, *model.parameters, *model.definitions, *model.constants, *model.reserved}
    names, definitions = dict[int, str](), dict[str, str]()
    shared = {id(part): part for part in _shared([*model.definitions.values(), *model.derivatives, *_of_events(model)])}

    def define(value: Any, name: str = "") -> None:
        """Write the shared parts of a formula, and the formula itself if it has a name."""
        for part in parts_of([value])[0]:
            if id(part) in shared and id(part) not in names and (part is not value or not name):
                made = next(f"v{i}" for i in range(len(definitions) + 1, 10**9) if f"v{i}" not in taken)
                text = text_of(part, names)[0]
                definitions[made] = f"where({text}, 1, 0)" if isinstance(part, Condition) else text
                names[id(part)] = made
                taken.add(made)
        if name:
            definitions[name] = text_of(value, names)[0]
            if is_traced(value) and value.op != "name":
                names[id(value)] = name

    for name, value in model.definitions.items():
        define(value, name)
    for value in (*model.derivatives, *_of_events(model)):
        define(value)
    equations = {name: text_of(value, names)[0] for name, value in zip(model.states, model.derivatives, strict=True)}
    tables = (
        ("constants", {name: repr(value) for name, value in model.constants.items()}),
        ("parameters", {name: _parameter(model, name, value) for name, value in model.parameters.items()}),
        ("states", {name: _state(value, model.scales.get(name)) for name, value in model.states.items()}),
        ("definitions", {name: json.dumps(text) for name, text in definitions.items()}),
        ("equations", {name: json.dumps(text) for name, text in equations.items()}),
    )
    lines = _head(model)
    for table, entries in tables:
        if entries:
            lines += ["", f"[{table}]", *(f"{name} = {value}" for name, value in entries.items())]
    for event in model.events:
        lines += ["", f"[events.{event.name}]", *_event(event, names)]
    return Written("\n".join([*lines, *model.further]) + "\n", definitions, equations)


def _of_events(model: Equations) -> list[Any]:
    return [formula for event in model.events for formula in event.formulas if is_traced(formula)]


def _event(event: ModelEvent, names: dict[int, str]) -> list[str]:
    def text(value: Any) -> str:
        return json.dumps(text_of(value, names)[0]) if is_traced(value) else repr(float(value))

    if event.at is not None:
        lines = [f"at = [{event.at!r}]"]
    else:
        lines = [f"when = {text(event.when)}", f'direction = "{event.direction}"']
    if event.priority:
        lines.append(f"priority = {event.priority}")
    return [*lines, f"reset = {{ {', '.join(f'{name} = {text(value)}' for name, value in event.reset.items())} }}"]


def _head(model: Equations) -> list[str]:
    slug = re.sub(r"[^a-z0-9]+", "-", model.name.lower()).strip("-")[:40].strip("-") or "model"
    start, end = model.t_span
    save = f"times = {json.dumps(model.saved)}" if model.saved else f'spacing = "linear", count = {_count(model)}'
    return [
        "spec = 1", f'name = "{slug}"', f'title = "{slug}, {model.origin}"', "",
        "[time]", f"t0 = {start!r}", f"t1 = {end!r}", *([] if model.further else [f"save = {{ {save} }}"]),
    ]  # fmt: skip


def _count(model: Equations) -> int:
    """The number of saved times: the first at which no scheduled event happens at one of them."""
    start, end = model.t_span
    shares = [(event.at - start) / (end - start) for event in model.events if event.at is not None]
    counts = range(_SAVED, 2 * _SAVED)
    return next((n for n in counts if all(abs(n * share - round(n * share)) > 1e-6 for share in shares)), _SAVED)


def _parameter(model: Equations, name: str, value: float) -> str:
    """A parameter's number, with the scale on which it is estimated if that is not its own."""
    scale = model.parameter_scales.get(name)
    return repr(value) if scale is None else f'{{ value = {value!r}, scale = "{scale}" }}'


def _state(value: Any, scale: float | None) -> str:
    """A state's initial value, with its scale if that is known."""
    if is_traced(value) and _size(value) > _LONGEST:
        raise Unsupported(f"an initial value, written out, has more than {_LONGEST} parts")
    initial = json.dumps(text_of(value, {})[0]) if is_traced(value) else repr(float(value))
    return initial if scale is None else f"{{ initial = {initial}, scale = {scale!r} }}"


def _size(value: Any) -> int:
    """The number of parts of a formula that is written without definitions."""
    size: dict[int, int] = {}
    for part in parts_of([value])[0]:
        size[id(part)] = 1 + sum(size.get(id(arg), 1) for arg in part.args)
    return size[id(value)]


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
