"""Batches in each library: own or shared steps, and the outcomes of the trajectories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sciml_bench.analysis.process_summary import PointSummary
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables import formatting
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.trajectories import Trajectories


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
    for rtol, point in sorted(points.items()):
        if point.trajectories is not None and (rtol == min(points) or point.trajectories.failed):
            told = _told(point.trajectories, point.solve.counts)
            yield f"  {cell.cell.solver} at rtol {formatting.tolerance(rtol)}: {told}"


def _told(of: Trajectories, counts: Mapping[str, float | None]) -> str:
    known = [counts.get(name) for name in ("n_steps_least", "n_steps", "n_steps_mean")]
    if not of.n_steps and None not in known:
        steps = "own steps, {:.0f} to {:.0f}, mean {:.1f}".format(*known)
    elif not of.n_steps:
        steps = "steps not counted"
    elif of.shared_steps:
        steps = f"{of.n_steps[0]} steps shared by all {of.size}"
    else:
        least, most = min(of.n_steps), max(of.n_steps)
        steps = f"own steps, {least} to {most}, median {of.median_steps:g}, {of.total_steps} in all {of.size}"
    failed = ", ".join(f"{count} {outcome}" for outcome, count in of.outcomes.items() if outcome is not Outcome.OK)
    return f"{steps}; failed: {failed}" if failed else steps
