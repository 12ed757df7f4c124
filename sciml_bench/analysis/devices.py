"""Steps of one way on two devices: a GPU should take the steps that the processor takes.

A solver that was moved to a GPU should do the same work there. One that takes other steps, as when the slowest of many
trajectories decides for all, is not the solver that was compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sciml_bench.analysis.explanation.solver_counts import COUNTS, count
from sciml_bench.analysis.summary import CellSummary, RunSummary
from sciml_bench.analysis.tables import formatting
from sciml_bench.record.task import Cell

HOST = "cpu"

ROUNDING = 0.02
"""Counts that differ by this share are equal: a step that is nearly rejected goes either way by rounding."""


@dataclass(frozen=True)
class Moved:
    """A way on another device, and on the processor. ``points`` counts tolerances with counts of both; ``other`` has
    the tolerances at which they differ, with the name of a count and its numbers there and on the processor.
    """

    cell: Cell
    points: int
    other: tuple[tuple[float, str, float, float], ...]


def moved(summary: RunSummary) -> Iterator[Moved]:
    """Each way that ran on the processor and on another device, if its solver counts anything."""
    by_cell = {cell.cell: cell for cell in summary.cells.values()}
    for cell, there in by_cell.items():
        here = by_cell.get(replace(cell, device=HOST))
        if cell.device == HOST or here is None:
            continue
        found = _compared(cell, _counts(there), _counts(here))
        if found.points:
            yield found


def _compared(
    cell: Cell, there: Mapping[float, Mapping[str, float]], here: Mapping[float, Mapping[str, float]]
) -> Moved:
    other: list[tuple[float, str, float, float]] = []
    common = [rtol for rtol in there if rtol in here]
    for rtol in common:
        for name, number in there[rtol].items():
            expected = here[rtol].get(name)
            if expected is not None and abs(number - expected) > max(1.0, ROUNDING * expected):
                other.append((rtol, name, number, expected))
                break
    return Moved(cell, len(common), tuple(other))


def _counts(cell: CellSummary) -> dict[float, dict[str, float]]:
    """The solver's counts at each tolerance, of the first process that has them: solvers are deterministic."""
    found: dict[float, dict[str, float]] = {}
    for process in cell.processes:
        for point in process.points:
            counts = {name: n for name, keys in COUNTS.items() if (n := count(point, "solve", keys)) is not None}
            if counts:
                found.setdefault(point.rtol, counts)
    return found


def sentences(summary: RunSummary) -> Iterator[str]:
    """Sentences on solvers that do other work on a GPU, and how many do not."""
    found = list(moved(summary))
    for way in found:
        for rtol, name, number, expected in way.other:
            yield (
                f"{way.cell.problem}: {way.cell.solver} does other work than on the processor: {number:.0f} {name} for "
                f"{expected:.0f} at rtol {formatting.tolerance(rtol)}"
            )
    same = sum(not way.other for way in found)
    if same:
        yield f"on the {found[0].cell.device} {same} of {len(found)} ways take as many steps as on the processor"
