"""What each library does with a batch: steps of their own or shared ones, and what became of the trajectories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sciml_bench.outcome import Outcome
from sciml_bench.report import quantities
from sciml_bench.report.summary import CellSummary, PointSummary
from sciml_bench.trajectories import Trajectories


def batch_lines(cells: Sequence[CellSummary]) -> Iterator[str]:
    """A line for each cell that integrates a batch, at its tightest tolerance, and one for each tolerance at which
    some trajectories failed and others did not."""
    lines = [line for cell in cells for line in _of_cell(cell)]
    if lines:
        yield ""
        yield "the batch: steps that trajectories take in a solve"
        yield from lines


def _of_cell(cell: CellSummary) -> Iterator[str]:
    points: dict[float, PointSummary] = {}
    for point in cell.points:
        if point.trajectories is not None:
            points.setdefault(point.rtol, point)
    name = " ".join((cell.cell.adapter, cell.cell.method, cell.cell.sensitivity, cell.cell.mode))
    for rtol, point in sorted(points.items()):
        if point.trajectories is not None and (rtol == min(points) or point.trajectories.failed):
            yield f"  {name} at rtol {quantities.tolerance(rtol)}: {_told(point.trajectories)}"


def _told(of: Trajectories) -> str:
    if not of.n_steps:
        steps = "steps not counted"
    elif of.shared_steps:
        steps = f"{of.n_steps[0]} steps shared by all {of.size}"
    else:
        least, most = min(of.n_steps), max(of.n_steps)
        steps = f"own steps, {least} to {most}, median {of.median_steps:g}, {of.total_steps} in all {of.size}"
    failed = ", ".join(f"{count} {outcome}" for outcome, count in of.outcomes.items() if outcome is not Outcome.OK)
    return f"{steps}; failed: {failed}" if failed else steps
