"""The next way to try where a cell failed: one that worked on the problem, or one that a rule proposes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sciml_bench.adapters.base import Method
from sciml_bench.adapters.registry import adapters
from sciml_bench.analysis.summary import CellSummary, RunSummary
from sciml_bench.planning.labels import labels
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import CHECK
from sciml_bench.record.task import AT, Cell

_OF_SOLVERS = frozenset({
    Outcome.TIMEOUT, Outcome.MAX_STEPS, Outcome.STEP_UNDERFLOW, Outcome.NONFINITE, Outcome.OUT_OF_MEMORY,
    Outcome.INACCURATE,
})  # fmt: skip
"""Failures that another method or another kind of gradient may cure."""


@dataclass(frozen=True)
class NextWay:
    """The label of a cell to try, and why."""

    label: str
    why: str


def next_way(failed: CellSummary, outcome: Outcome, phase: str | None, summary: RunSummary) -> NextWay | None:
    """Return what to try after a failure; ``None`` if nothing is known that differs in what failed."""
    if outcome not in _OF_SOLVERS or phase == CHECK:
        return None
    working = _working(failed, summary, "gradient" if phase is None or "gradient" in phase else "solve")
    if working is not None:
        return NextWay(working.cell.label, "it works in this run")
    return _proposed(failed.cell, phase, summary)


def _working(failed: CellSummary, summary: RunSummary, quantity: str) -> CellSummary | None:
    """The fastest cell of the problem that has a time, of the same adapter if one has."""
    timed = [
        (cell.cell.adapter != failed.cell.adapter, min(seconds), cell)
        for cell in summary.of_problem(failed.cell.problem)
        if cell is not failed
        and (seconds := [s for point in cell.points if (s := point.half(quantity).seconds) is not None])
    ]
    return min(timed, key=lambda item: item[:2])[2] if timed else None


def _proposed(cell: Cell, phase: str | None, summary: RunSummary) -> NextWay | None:
    """A cell outside the profile that differs in a possible reason of the failure."""
    method = _method(cell)
    found: list[tuple[int, NextWay]] = []
    for other in _left_out(cell, summary):
        theirs = _method(other)
        if method is None or theirs is None:
            continue
        far = 2 * (other.adapter != cell.adapter)
        if theirs.implicit and not method.implicit:
            found.append((far, NextWay(other.label, "an implicit method takes fewer steps on stiff problems")))
        elif other.method == cell.method and phase is not None and "gradient" in phase and _forward(other, cell):
            found.append((far, NextWay(other.label, "forward sensitivities do not go backwards in time")))
        elif theirs.implicit and other.method != cell.method:
            found.append((far + 1, NextWay(other.label, "another implicit method")))
    return min(found, key=lambda item: item[0])[1] if found else None


def _forward(other: Cell, cell: Cell) -> bool:
    return other.sensitivity == "forward" != cell.sensitivity


def _left_out(cell: Cell, summary: RunSummary) -> Iterator[Cell]:
    """The cells of a problem that only the profile left out, with the same precision and device."""
    here = (cell.precision, cell.device, cell.saving)
    for skip in summary.plan.skipped:
        if not skip.reason.startswith("not in profile"):
            continue
        for label in labels(skip.cells):
            if label.partition("/")[0] != cell.problem:
                continue
            try:
                other = Cell.from_label(label)
            except ValueError:
                continue
            if other.caches == "cold" and (other.precision, other.device, other.saving) == here:
                yield other


def _method(cell: Cell) -> Method | None:
    adapter = adapters().get(cell.adapter.partition(AT)[0])
    return None if adapter is None else next((item for item in adapter.methods if item.name == cell.method), None)
