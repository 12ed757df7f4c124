"""The page's part on a problem itself: its equations, its numbers, its source, and the code that was run."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from sciml_bench.adapters.declared import Declared
from sciml_bench.analysis.loaded_run import RecordEntry
from sciml_bench.analysis.models import is_model, model_table
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables.models import checklist, parity_table, times_table
from sciml_bench.errors import SciMLBenchError
from sciml_bench.record.task import Cell
from sciml_bench.render.html.table import Places, Table

if TYPE_CHECKING:
    from sciml_bench.models.model import Layer, Model
    from sciml_bench.spec import Problem
    from sciml_bench.spec.model import Grid


# The page's part on a model of the conventional track: layers in place of equations, and separate tables.


@dataclasses.dataclass(frozen=True)
class ModelView:
    """Parity, above the times; the times; and the common conditions of all cells."""

    parity: Table
    times: Table | None
    checklist: tuple[str, ...]


def model_view(id_: str, entry: Mapping[str, Any], cells: Sequence[CellSummary], places: Places) -> ModelView | None:
    """The tables of a model; ``None`` for a differential equation, and without measurements."""
    if not is_model(entry):
        return None
    found = model_table(str(entry["name"]), cells)
    if not found.parity:
        return None
    return ModelView(
        parity=places.table(f"{id_}parity", parity_table(found.parity)),
        times=places.table(f"{id_}times", times_table(found)) if found.rows else None,
        checklist=tuple(line.strip() for line in checklist(entry, found))[1:],
    )


def model_facts(model: Model) -> ProblemFacts:
    """The facts of a model, without the codes."""
    training = model.training
    trained = "" if training is None else f", trained by {training.steps} steps of {training.optimiser}"
    return ProblemFacts(
        description=" ".join(model.description.split()),
        citation=model.source.citation,
        url=model.source.url if model.source.url.startswith(("https://", "http://")) else "",
        note=model.source.note,
        time=f"batches of {', '.join(map(str, model.batches))}{trained}",
        wrt="the weights",
        sizes=f"{model.n_weights} weights",
        equations=tuple(Formula(None, line) for line in _lines(model.layers)),
    )


def _lines(layers: Sequence[Layer]) -> Iterator[str]:
    for layer in layers:
        shape = " × ".join(map(str, layer.output))
        inside = f" ({'; '.join(_lines(layer.body))})" if layer.body else ""
        beside = f" added to ({'; '.join(_lines(layer.shortcut))})" if layer.shortcut else ""
        yield f"{layer.name or layer.kind}: {layer.kind.replace('_', ' ')}{inside}{beside} to {shape}"


# Longer lists of numbers are cut; `describe --json` has them all.
SHOWN = 12


@dataclass(frozen=True)
class Formula:
    """A line of mathematics: typeset, or, if it is too long for that, as in the file."""

    math: Markup | None
    text: str


@dataclass(frozen=True)
class Code:
    """The equations as an adapter receives them; ``note`` says whether the records of this run solved the same."""

    adapter: str
    target: str
    text: str
    note: str


@dataclass(frozen=True)
class ProblemFacts:
    """A problem in words. ``missing`` says why nothing more is known; ``changed`` that it is not the measured one."""

    missing: str = ""
    changed: str = ""
    description: str = ""
    citation: str = ""
    url: str = ""
    note: str = ""
    time: str = ""
    wrt: str = ""
    sizes: str = ""
    grids: tuple[str, ...] = ()
    definitions: tuple[Formula, ...] = ()
    equations: tuple[Formula, ...] = ()
    parameters: tuple[Formula, ...] = ()
    initial: tuple[Formula, ...] = ()
    left_out: str = ""
    codes: tuple[Code, ...] = ()


def problem_facts(
    entry: Mapping[str, Any], traces: Sequence[RecordEntry], adapters: Iterable[str], declared: Mapping[str, Declared]
) -> ProblemFacts:
    """The facts of a problem of a plan, from the catalog or from the file that the plan names.

    ``traces`` are its records that count, ``adapters`` its cells' adapters.
    """
    problem = _loaded(str(entry["name"]), entry.get("file"))
    if isinstance(problem, str):
        return ProblemFacts(missing=problem)
    from sciml_bench.render.html import mathml
    from sciml_bench.spec import Problem

    if not isinstance(problem, Problem):
        return replace(model_facts(problem), codes=tuple(_codes(problem, traces, adapters, declared)))
    specs = {trace.spec_hash for trace in traces} or {entry.get("spec_hash", problem.spec_hash)}
    changed = "" if specs == {problem.spec_hash} else (
        "The problem has changed since it was measured: this is the problem as it is now "
        f"({problem.spec_hash[:12]}), the records are of {', '.join(sorted(str(spec)[:12] for spec in specs))}."
    )  # fmt: skip
    texts = {name.partition("[")[0]: f"d{name}/dt = {text}" for name, text in problem.equation_texts.items()}
    parameters = list(zip(problem.parameter_labels, problem.p, strict=True))
    initial = _initial_values(problem)
    n_saved = len(problem.save_times)
    lists = (("parameters", parameters), ("initial values", initial))
    cut = [f"{len(values) - SHOWN} more {what}" for what, values in lists if len(values) > SHOWN]
    return ProblemFacts(
        changed=changed,
        description=" ".join(problem.description.split()),
        citation=problem.source.citation,
        url=problem.source.url if problem.source.url.startswith(("https://", "http://")) else "",
        note=problem.source.note,
        time=f"t from {problem.t0} to {problem.t1}, saved at {n_saved} time{'s' * (n_saved != 1)}",
        wrt="the parameters" if problem.wrt == "parameters" else "the initial state",
        sizes=f"{problem.n_states} states, {problem.n_parameters} parameters",
        grids=tuple(map(_grid_text, problem.grids)),
        definitions=tuple(
            Formula(mathml.definition(problem, item.name, item.expr), f"{item.name} = {item.expr}")
            for item in (*problem.encoding, *problem.definitions)
        ),
        equations=tuple(Formula(mathml.equation(problem, name), texts.get(name, name)) for name in problem.equations),
        parameters=tuple(
            Formula(mathml.value(name, number), f"{name} = {number}") for name, number in parameters[:SHOWN]
        ),
        initial=(
            *(
                Formula(mathml.definition(problem, f"{state.name}(0)", state.start), f"{state.name}(0) = {state.start}")
                for state in problem.states
                if state.start is not None
            ),
            *(Formula(mathml.value(f"{name}(0)", number), f"{name}(0) = {number}") for name, number in initial[:SHOWN]),
        ),
        left_out=" and ".join(cut),
        codes=tuple(_codes(problem, traces, adapters, declared)),
    )


def _initial_values(problem: Problem) -> list[tuple[str, Any]]:
    """The initial values that are numbers, by their labels."""
    from sciml_bench.spec.model import labels

    numbers = [state for state in problem.states if state.start is None]
    return [pair for state in numbers for pair in zip(labels(state.name, state.shape), state.initial, strict=True)]


def _grid_text(grid: Grid) -> str:
    """A grid in words, with what lies outside it."""
    boundary = {"periodic": "periodic", "neumann": "no flux at its ends (the outermost value is repeated)"}
    outside = boundary.get(grid.boundary, f"the value outside is {grid.boundary_value}")
    return f"grid {grid.name}: {grid.points} points from {grid.first} to {grid.last}, {outside}"


def _loaded(name: str, file: Any) -> Problem | Model | str:
    """The problem, or the reason why it is not known here."""
    from sciml_bench.spec import catalog

    try:
        absent = file is not None and not Path(file).is_file()
    except (OSError, TypeError, ValueError):
        absent = True
    if absent:
        return f"The problem's file {file} is not here, so its equations cannot be shown."
    try:
        return _parsed(Path(file) if file is not None else catalog.path(name))
    except SciMLBenchError as error:
        return f"The problem is not known here, so its equations cannot be shown: {error}"


@cache
def _parsed(path: Path) -> Problem | Model:
    """The problem of a file, read once for all runs of a page."""
    from sciml_bench.models.load import load_declared

    return load_declared(path)


def _codes(
    problem: Problem | Model, traces: Sequence[RecordEntry], adapters: Iterable[str], declared: Mapping[str, Declared]
) -> Iterable[Code]:
    from sciml_bench.models.emit import source_of

    for name in dict.fromkeys(adapters):
        adapter = declared.get(name)
        if adapter is None:
            yield Code(name, "", "", "The run does not say what this adapter declared, so its code cannot be shown.")
            continue
        hashes: dict[str, list[str]] = {}
        for trace in traces:
            # A damaged record may have a slash in a part of its label.
            with suppress(ValueError):
                if trace.adapter == name:
                    hashes.setdefault(adapter.target_of(Cell.from_label(trace.label)), []).append(trace.source_hash)
        for target, found in hashes.items() or [(adapter.target, [])]:
            try:
                text = source_of(problem, target)
            except (KeyError, SciMLBenchError) as error:
                yield Code(name, target, "", f"Its code cannot be emitted here: {error}")
                continue
            title = f"{adapter.title}, as {target} code," if len(hashes) > 1 else adapter.title
            yield Code(title, target, text, _run_or_not(text, found))


def _run_or_not(text: str, found: Sequence[str]) -> str:
    """Return whether a text is the one that was run, by the hashes of the records."""
    hashed = hashlib.sha256(text.encode()).hexdigest()
    same = found.count(hashed)
    if not found:
        return "Nothing was measured with it in this run."
    if same == len(found):
        return (
            f"All {same} records that count solved exactly these equations (SHA-256 {hashed[:12]}…). The adapter adds "
            "solver, tolerances and gradient."
        )
    return f"These equations were NOT solved: {len(found) - same} of {len(found)} records have other equations."
