"""The drift of each library's solutions from the invariants of the exact one, at every tolerance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sciml_bench.analysis.process_summary import PointSummary
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables import formatting
from sciml_bench.analysis.tables.table import CELL, Column, Entry, Table, cell_entries, number_entry
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import Trajectories
from sciml_bench.stats.reliability import Proportion, Stability, stability

# The reliability of each cell on perturbed parameters: right, honest about failing, or silently wrong.


def shares(cell: CellSummary) -> Stability | None:
    """The shares of a cell; ``None`` when nothing was tried."""
    counts = [sum(process.trials.get(kind, 0) for process in cell.processes) for kind in ("right", "honest", "silent")]
    return stability(*counts) if any(counts) else None


def stability_table(cells: Iterable[CellSummary]) -> Table | None:
    """The table of a problem, cells that are silently wrong most often last; ``None`` when nothing was tried."""
    found = [(cell, of_cell) for cell in cells if cell.processes and (of_cell := shares(cell)) is not None]
    if not found:
        return None
    found.sort(key=lambda item: (item[1].silent.share, -item[1].right.share))
    return Table(
        caption="stability: solves with every parameter changed by up to a factor of two, at all tolerances",
        columns=(*CELL, *(Column(text, True) for text in ("trials", "right", "honest failure", "silently wrong"))),
        rows=tuple(
            (
                *cell_entries(cell.cell),
                number_entry(of_cell.right.total, "d"),
                *map(_entry, (of_cell.right, of_cell.honest, of_cell.silent)),
            )
            for cell, of_cell in found
        ),
        names=len(CELL),
        reading="In brackets: the 95 % interval of the share.",
        cell_ids=tuple(cell.cell_id for cell, _ in found),
    )


def _entry(part: Proportion) -> Entry:
    """A share with its 95 % interval, such as ``92 % (65–99)``."""
    return Entry(f"{100 * part.share:.0f} %", f"{100 * part.low:.0f}–{100 * part.high:.0f}", part.share)


# Batches in each library: own or shared steps, and the outcomes of the trajectories.


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


@dataclass(frozen=True)
class Drift:
    """Of one invariant in the solves of one method: its largest change over the saved times, by tolerance.

    ``initial`` is its value at t0; changes are absolute, as that may be zero.
    """

    invariant: str
    initial: float | None
    adapter: str
    method: str
    mode: str
    by_rtol: dict[float, float]


def drifts(cells: Sequence[CellSummary]) -> list[Drift]:
    """Every invariant of a problem, method by method; solves that differ only in their gradients are shown once."""
    found: dict[tuple[str, str, str, str], Drift] = {}
    for summary in cells:
        cell = summary.cell
        for point in summary.points:
            for name, told in (point.invariants or {}).items():
                key = (name, cell.adapter, cell.method, cell.mode_and_saving)
                one = found.setdefault(key, Drift(name, told.get("initial"), *key[1:], {}))
                drift = told.get("drift")
                if drift is not None:
                    one.by_rtol.setdefault(point.rtol, drift)
    return sorted(found.values(), key=lambda one: one.invariant)


def drift_lines(cells: Sequence[CellSummary]) -> Iterator[str]:
    """A line for each method below its invariant; nothing of a problem that declares none."""
    last = ""
    for one in drifts(cells):
        if not one.by_rtol:
            continue
        if one.invariant != last:
            if not last:
                yield ""
            start = "" if one.initial is None else f", {one.initial:.6g} at t0"
            yield f"the exact solution keeps {one.invariant}{start}; largest change in a solve over the saved times"
            last = one.invariant
        yield f"  {one.adapter} {one.method} {one.mode}: {_by_rtol(one)}"


def _by_rtol(one: Drift) -> str:
    ladder = sorted(one.by_rtol.items(), reverse=True)
    return ", ".join(f"{drift:.1e} at rtol {formatting.tolerance(rtol)}" for rtol, drift in ladder)


def document(cells: Sequence[CellSummary]) -> list[dict[str, object]]:
    """Return the drifts as plain JSON values."""
    return [
        {
            "invariant": one.invariant,
            "initial": one.initial,
            "adapter": one.adapter,
            "method": one.method,
            "mode": one.mode,
            "drifts": [{"rtol": rtol, "drift": drift} for rtol, drift in sorted(one.by_rtol.items(), reverse=True)],
        }
        for one in drifts(cells)
    ]
