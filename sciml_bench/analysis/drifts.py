"""The drift of each library's solutions from the invariants of the exact one, at every tolerance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables import formatting


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
