"""The page's part on a problem itself: its equations, its numbers, its source, and the code that was run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sciml_bench.adapters.declared import Declared
from sciml_bench.analysis.loaded_run import RecordEntry
from sciml_bench.errors import SciMLBenchError
from sciml_bench.planning.written_plan import WrittenProblem
from sciml_bench.record.task import Cell
from sciml_bench.render.html.model_facts import model_facts
from sciml_bench.render.html.problem_view import Code, Formula, ProblemFacts

if TYPE_CHECKING:
    from sciml_bench.models.model import Model
    from sciml_bench.spec import Problem
    from sciml_bench.spec.quantities import Grid


# Longer lists of numbers are cut; `describe --json` has them all.
SHOWN = 12


def problem_facts(
    entry: WrittenProblem, traces: Sequence[RecordEntry], adapters: Iterable[str], declared: Mapping[str, Declared]
) -> ProblemFacts:
    """The facts of a problem of a plan, from the catalog or from the file that the plan names.

    ``traces`` are its records that count, ``adapters`` its cells' adapters.
    """
    problem = _loaded(entry.name, entry.file)
    if isinstance(problem, str):
        return ProblemFacts(missing=problem)
    from sciml_bench.render.html import mathml
    from sciml_bench.spec import Problem

    if not isinstance(problem, Problem):
        return replace(model_facts(problem), codes=tuple(_codes(problem, traces, adapters, declared)))
    specs = {trace.spec_hash for trace in traces} or {entry.spec_hash or problem.spec_hash}
    changed = "" if specs == {problem.spec_hash} else (
        "The problem has changed since it was measured: this is the problem as it is now "
        f"({problem.spec_hash[:12]}), the records are of {', '.join(sorted(str(spec)[:12] for spec in specs))}."
    )  # fmt: skip
    left = {name: "0" if name in problem.algebraic else f"d{name}/dt" for name in problem.equation_texts}
    texts = {name.partition("[")[0]: f"{left[name]} = {text}" for name, text in problem.equation_texts.items()}
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
            for item in (*problem.declared_encoding, *problem.declared_definitions)
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
    from sciml_bench.models.load_declared import load_declared

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
