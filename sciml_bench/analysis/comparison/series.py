"""The compared numbers: for one cell on each side, one number per block and quantity, at equal accuracy.

The same cell at the same tolerance does the same steps, so equal tolerance is equal accuracy as long as its errors are
the same on both sides; then the times of a process are reduced to their geometric mean over the tolerances. Where the
errors differ, and between different cells, times are read off each process's work-precision front at one error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import geometric_mean, median

from sciml_bench.analysis.comparison.sides import Samples, Side
from sciml_bench.analysis.process_summary import PointSummary, ProcessSummary
from sciml_bench.analysis.rows import Target, axis_at, is_bound, reading, work_points
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables.formatting import tolerance
from sciml_bench.stats.axis_error import AxisError
from sciml_bench.stats.front import WorkPoint, common_target

# Errors closer than this (a factor of 1.26) are taken as equal; another version's rounding moves them by far less.
_EQUAL_DIGITS = 0.1


class Quantity(StrEnum):
    """The timed quantity."""

    FIRST_FROM_START = "1st gradient from start"
    FIRST_FROM_BUILT = "1st gradient from built"
    SOLVE = "solve"
    GRADIENT = "gradient"


@dataclass(frozen=True)
class Kind:
    """The way of reading a loop quantity from a point."""

    quantity: Quantity
    error: str
    work: Callable[[PointSummary], WorkPoint | None]
    seconds: Callable[[PointSummary], float | None]
    counts: Callable[[PointSummary], Mapping[str, float | None]]
    samples: Callable[[Samples], Sequence[int]]


KINDS = (
    Kind(
        Quantity.SOLVE,
        "mescd",
        lambda point: point.solve.work,
        lambda point: point.solve.seconds,
        lambda point: point.solve.counts,
        lambda samples: samples.solve_ns,
    ),
    Kind(
        Quantity.GRADIENT,
        "gradient error",
        lambda point: point.gradient.work,
        lambda point: point.gradient.seconds,
        lambda point: point.gradient.counts,
        lambda samples: samples.gradient_ns,
    ),
)


@dataclass(frozen=True)
class Series:
    """One quantity of one cell on each side. Seconds by block; ``None`` where a process has none.

    ``at`` is the point of comparison (tolerances or an error). ``bound`` is the side, ``base`` or ``new``, whose times
    are only upper bounds. ``samples_*`` are the iterations by block that ``check`` draws from, in any unit. ``reason``
    says why a comparison is impossible, if known. ``axis`` holds the errors of reading base and new at equal accuracy.
    """

    base_label: str
    new_label: str
    quantity: Quantity
    at: str
    base: Mapping[int, float | None]
    new: Mapping[int, float | None]
    bound: str = ""
    notes: tuple[str, ...] = ()
    samples_base: Mapping[int, Sequence[float]] = field(default_factory=dict[int, Sequence[float]])
    samples_new: Mapping[int, Sequence[float]] = field(default_factory=dict[int, Sequence[float]])
    reason: str = ""
    axis: tuple[AxisError | None, AxisError | None] = (None, None)

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The name of a series in its family."""
        return self.base_label, self.new_label, self.quantity, self.at


@dataclass(frozen=True)
class _Pair:
    """A cell of each side, with the samples of their sides."""

    base: CellSummary
    new: CellSummary
    base_side: Side
    new_side: Side

    @property
    def labels(self) -> tuple[str, str]:
        return self.base.cell.label, self.new.cell.label


def same_cell(base: Side, new: Side, label: str, each_tolerance: bool = False) -> Iterator[Series]:
    """The quantities of a cell that both sides have."""
    pair = _Pair(base.cells[label], new.cells[label], base, new)
    yield from _first_gradients(pair)
    for kind in KINDS:
        rtols = _common_rtols(pair, kind)
        notes = tuple(_accuracy_notes(pair, kind, rtols))
        if any(_errors_differ(pair, kind, rtol) for rtol in rtols):
            yield from _at_equal_error(pair, kind, notes)
        elif each_tolerance:
            for rtol in rtols:
                yield from _at_tolerances(pair, kind, [rtol], notes)
        else:
            yield from _at_tolerances(pair, kind, rtols, notes)


def different_cells(base: Side, new: Side, base_label: str, new_label: str) -> Iterator[Series]:
    """The quantities of two cells of one problem."""
    pair = _Pair(base.cells[base_label], new.cells[new_label], base, new)
    yield from _first_gradients(pair)
    for kind in KINDS:
        yield from _at_equal_error(pair, kind, ())


def _first_gradients(pair: _Pair) -> Iterator[Series]:
    readings: tuple[tuple[Quantity, Callable[[ProcessSummary], float | None]], ...] = (
        (Quantity.FIRST_FROM_START, lambda process: process.first_gradient_process_s),
        (Quantity.FIRST_FROM_BUILT, lambda process: process.first_gradient_built_s),
    )
    for quantity, seconds in readings:
        base, new = ({p.block: seconds(p) for p in cell.processes} for cell in (pair.base, pair.new))
        yield Series(
            *pair.labels,
            quantity,
            _first_tolerance(pair),
            base,
            new,
            samples_base={block: [s] for block, s in base.items() if s is not None},
            samples_new={block: [s] for block, s in new.items() if s is not None},
        )


def _first_tolerance(pair: _Pair) -> str:
    first = {point.rtol for cell in (pair.base, pair.new) for process in cell.processes for point in process.points[:1]}
    return f"rtol {_listed(sorted(first, reverse=True))}" if first else ""


def _at_tolerances(pair: _Pair, kind: Kind, rtols: Sequence[float], notes: tuple[str, ...]) -> Iterator[Series]:
    if not rtols:
        yield Series(*pair.labels, kind.quantity, "", {}, {}, reason=_absence(pair, kind))
        return
    sides = [
        {process.block: _mean_over(process, kind, rtols) for process in cell.processes}
        for cell in (pair.base, pair.new)
    ]
    samples = [
        {block: _calls(side, cell.cell.label, block, kind, rtols) for block, seconds in of_side.items() if seconds}
        for side, cell, of_side in zip((pair.base_side, pair.new_side), (pair.base, pair.new), sides, strict=True)
    ]
    at = f"rtol {_listed(rtols)}"
    (base, new), (calls_base, calls_new) = sides, samples
    yield Series(*pair.labels, kind.quantity, at, base, new, "", notes, calls_base, calls_new)


def _at_equal_error(pair: _Pair, kind: Kind, notes: tuple[str, ...]) -> Iterator[Series]:
    digits = common_target(work_points(cell.processes, kind.work) for cell in (pair.base, pair.new))
    if digits is None:
        yield from _without_reference(pair, kind, notes)
        return
    sides: list[dict[int, float | None]] = []
    bounded: list[bool] = []
    for cell in (pair.base, pair.new):
        found = {p.block: reading(p, Target(digits, None), kind.work, kind.seconds) for p in cell.processes}
        sides.append({block: item.time for block, item in found.items()})
        bounded.append(is_bound(cell.processes, digits, kind.work))
    bound = "base" if bounded[0] else "new" if bounded[1] else ""
    base, new = sides
    target = Target(digits, None)
    axis = (axis_at(pair.base.processes, target, kind.work), axis_at(pair.new.processes, target, kind.work))
    yield Series(*pair.labels, kind.quantity, _error_text(kind, digits), base, new, bound, notes, axis=axis)


def _without_reference(pair: _Pair, kind: Kind, notes: tuple[str, ...]) -> Iterator[Series]:
    """Errors are unknown: the tightest tolerance at which both have times, said to be no equal accuracy."""
    rtols = _common_rtols(pair, kind)
    told = "no reference: equal tolerance, not equal accuracy"
    yield from _at_tolerances(pair, kind, rtols[-1:], (*notes, told))


def _error_text(kind: Kind, digits: float) -> str:
    return f"mescd {digits:g}" if kind.quantity is Quantity.SOLVE else f"gradient error {10.0**-digits:.1e}"


def _common_rtols(pair: _Pair, kind: Kind) -> list[float]:
    """Tolerances, loosest first, at which most processes of either side have a time."""
    shared = set(_timed_rtols(pair.base, kind)) & set(_timed_rtols(pair.new, kind))
    return sorted(shared, reverse=True)


def _timed_rtols(cell: CellSummary, kind: Kind) -> Iterator[float]:
    rtols = dict.fromkeys(point.rtol for point in cell.points)
    for rtol in rtols:
        timed = sum(
            any(point.rtol == rtol and kind.seconds(point) is not None for point in process.points)
            for process in cell.processes
        )
        if 2 * timed > len(cell.processes):
            yield rtol


def _absence(pair: _Pair, kind: Kind) -> str:
    """Return why no tolerance can be compared."""
    sides = (("BASE", pair.base), ("NEW", pair.new))
    absent = [name for name, cell in sides if not any(kind.seconds(point) is not None for point in cell.points)]
    return f"no time in {' and '.join(absent)}" if absent else "no tolerance at which most processes of both have times"


def _mean_over(process: ProcessSummary, kind: Kind, rtols: Sequence[float]) -> float | None:
    """The geometric mean of a process's times at these tolerances; ``None`` unless it has all of them."""
    times = {point.rtol: kind.seconds(point) for point in process.points}
    known = [seconds for rtol in rtols if (seconds := times.get(rtol)) is not None]
    return geometric_mean(known) if len(known) == len(rtols) else None


def _calls(side: Side, label: str, block: int, kind: Kind, rtols: Sequence[float]) -> list[float]:
    """Iterations of a process: the k-th is the geometric mean of the k-th call at each tolerance."""
    points = {samples.rtol: kind.samples(samples) for samples in side.samples.get((label, block), ())}
    loops = [points.get(rtol, ()) for rtol in rtols]
    if len(loops) == 1:
        return [float(ns) for ns in loops[0]]
    return [math.exp(math.fsum(map(math.log, calls)) / len(calls)) for calls in zip(*loops, strict=False)]


def _points_at(cell: CellSummary, rtol: float) -> list[PointSummary]:
    return [point for point in cell.points if point.rtol == rtol]


def _digits_at(cell: CellSummary, kind: Kind, rtol: float) -> float | None:
    known = [work.digits for point in _points_at(cell, rtol) if (work := kind.work(point)) is not None]
    return median(known) if known else None


def _errors_differ(pair: _Pair, kind: Kind, rtol: float) -> bool:
    base, new = _digits_at(pair.base, kind, rtol), _digits_at(pair.new, kind, rtol)
    # An error below the reference's own is not known, and counts as equal.
    return base is not None and new is not None and abs(base - new) > _EQUAL_DIGITS


def _accuracy_notes(pair: _Pair, kind: Kind, rtols: Sequence[float]) -> Iterator[str]:
    for rtol in rtols:
        if _errors_differ(pair, kind, rtol):
            base, new = _digits_at(pair.base, kind, rtol), _digits_at(pair.new, kind, rtol)
            yield f"errors differ at rtol {tolerance(rtol)}: {base:.1f} → {new:.1f} digits, so compared at equal error"
            break
    for rtol in rtols:
        told = _count_change(pair, kind, rtol)
        if told:
            yield f"counts differ at rtol {tolerance(rtol)}: {told}"
            break


def _count_change(pair: _Pair, kind: Kind, rtol: float) -> str:
    base, new = _counts(pair.base, kind, rtol), _counts(pair.new, kind, rtol)
    changed = [name for name in base if name in new and base[name] != new[name]]
    return ", ".join(f"{name} {base[name]:g} → {new[name]:g}" for name in changed)


def _counts(cell: CellSummary, kind: Kind, rtol: float) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for point in _points_at(cell, rtol):
        for name, value in kind.counts(point).items():
            if value is not None:
                found.setdefault(name, []).append(value)
    return {name: median(values) for name, values in found.items()}


def _listed(rtols: Sequence[float]) -> str:
    if len(rtols) > 3:
        return f"{tolerance(rtols[0])} … {tolerance(rtols[-1])} ({len(rtols)})"
    return ", ".join(map(tolerance, rtols))
