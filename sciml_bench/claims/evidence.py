"""The records of a run on one setting of a claim: both sides by block, or why they are missing."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sciml_bench.adapters.base import BACKWARD_EVALUATIONS
from sciml_bench.analysis.process_summary import HalfSummary, PointSummary, ProcessSummary
from sciml_bench.analysis.rows import Target, Work, axis_at, is_bound, reading, work_points
from sciml_bench.analysis.summary import CellSummary, RunSummary
from sciml_bench.claims.claim import COUNTS, LATER, ONE_SIDE, SIDES, Claim
from sciml_bench.claims.conditions import CALL_PATH, DIRECT, MEAN, MEDIAN, MINIMUM, TIMING
from sciml_bench.plan.cells import labels
from sciml_bench.plan.purpose import claimed_sides
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.task import Cell, Point
from sciml_bench.stats.front import AxisError, WorkPoint, common_target, on_axis, pareto_front
from sciml_bench.stats.ratio import Ratio, pair, paired_ratio

Value = Callable[[PointSummary], float | None]

# Accepted steps: not every library reports rejected ones. For a batch, the steps of the longest trajectory.
_COUNT_KEYS = {"steps": "n_accepted", "evaluations": "n_rhs_evaluations"}

_OF_GRADIENTS = ("gradient", "backward_evaluations")


@dataclass(frozen=True)
class Measured:
    """One side: a number of each block, in seconds or a count; ``why`` there is none.

    ``at_most`` is true if its loosest tolerance is already more accurate than what both are compared at, so that its
    number is an upper bound. ``axis`` is the error of reading it at equal accuracy.
    """

    blocks: Mapping[int, float | None] = field(default_factory=dict[int, "float | None"])
    at_most: bool = False
    why: str = ""
    axis: AxisError | None = None


@dataclass(frozen=True)
class Evidence:
    """Both sides of one setting. ``digits`` are the digits of the comparison, if that is at equal accuracy.

    ``alone`` is true if both are calls of the same cell: the first one is the slow side. ``disturbed`` are the
    processes of both sides that other work on the machine disturbed, and all of them.
    """

    fast: Measured
    slow: Measured
    digits: float | None = None
    alone: bool = False
    disturbed: tuple[int, int] = (0, 0)

    @property
    def why(self) -> str:
        """Return why the ratio is missing; empty if it is there."""
        if self.alone and (missing := self.slow.why or self.fast.why):
            return f"the cell {missing}"
        told = [f"the {name} side {side.why}" for name, side in (("fast", self.fast), ("slow", self.slow)) if side.why]
        if told:
            return "; ".join(told)
        return "" if self.ratio is not None else "the sides have no block in common"

    @property
    def ratio(self) -> Ratio | None:
        """Slow over fast, paired by block."""
        pairs = pair(self.fast.blocks, self.slow.blocks)
        return on_axis(paired_ratio(pairs.base, pairs.new), self.fast.axis, self.slow.axis) if pairs.blocks else None

    @property
    def counts(self) -> tuple[float, float]:
        """The counts of the slow and of the fast side in their first common block; solvers are deterministic."""
        pairs = pair(self.fast.blocks, self.slow.blocks)
        return pairs.new[0], pairs.base[0]


def evidence(claim: Claim, setting: str, summary: RunSummary) -> tuple[Evidence, ...]:
    """The evidence on one setting of a claim, from a run of its cells; a side that was left out says why.

    At equal accuracy there is one for each whole digit that both sides reach, loosest first, or one for the claim's
    own digits; otherwise there is one.
    """
    found = _measured(claim, setting, summary)
    names = ONE_SIDE * 2 if found[0].alone else SIDES
    fast, slow = (_left_out(summary, _label(claim, f"{setting}.{side}", summary)) for side in names)
    if fast is None and slow is None:
        return found
    # The other side was not measured on its own: there was nothing to compare it with.
    return (dataclasses.replace(found[-1], fast=fast or Measured(), slow=slow or Measured()),)


def _measured(claim: Claim, setting: str, summary: RunSummary) -> tuple[Evidence, ...]:
    """The evidence if both sides were planned.

    As published, times of calls are reduced as the source did; when fair, by the median. A library that the source
    called from its own language is read on its side of the bridge in both settings.

    As published, both sides are read at the claim's stated tolerances, if any; when fair, at equal achieved accuracy
    on the ladder of the profile, if that has both. Models, which are right before they are timed, are read at their
    largest batch. First calls are one number per process in either setting.
    """
    quantity = claim.figure.quantity
    value = {side: _value(quantity, _taken(claim, setting, side)) for side in claim.figure.sides}
    if claim.figure.against_later:
        (side,) = ONE_SIDE
        cell = _cell(claim, f"{setting}.{side}", summary)
        later = _at_point(cell, _value(LATER[quantity], _taken(claim, setting, side)))
        first = _at_point(cell, value[side])
        return (Evidence(later, first, alone=True, disturbed=_disturbed(cell)),)
    fast, slow = (_cell(claim, f"{setting}.{side}", summary) for side in SIDES)
    disturbed = _disturbed(fast, slow)
    if quantity == "first_gradient":
        return (Evidence(_first(fast), _first(slow), disturbed=disturbed),)
    of_fast, of_slow = (value[side] for side in SIDES)
    if quantity == "first_solve":
        return (Evidence(_at_point(fast, of_fast), _at_point(slow, of_slow), disturbed=disturbed),)
    stated = [side.rtol is not None for side in getattr(claim, setting).sides.values()]
    if setting == "published" and all(stated):
        places = [_place(claim, side, summary) for side in SIDES]
        at_fast, at_slow = _at_point(fast, of_fast, places[0]), _at_point(slow, of_slow, places[1])
        return (Evidence(at_fast, at_slow, disturbed=disturbed),)
    batch = max((point.batch for cell in (fast, slow) for point in cell.points if point.batch is not None), default=0)
    if batch:
        target = Target(None, None, batch)
        at_fast, at_slow = _at(fast, target, _no_work, of_fast), _at(slow, target, _no_work, of_slow)
        return (Evidence(at_fast, at_slow, disturbed=disturbed),)
    works = {side: _work(quantity, value[side]) for side in SIDES}
    cells = dict(zip(SIDES, (fast, slow), strict=True))
    chosen = _digits(claim, [work_points([one], works[side]) for side in SIDES for one in cells[side].processes])
    if not chosen and claim.figure.digits is not None:
        # Any other accuracy would be another claim.
        beyond = Measured(why=f"cannot be read at {claim.figure.digits:g} digits, as in the source, in every process")
        return (Evidence(beyond, beyond, disturbed=disturbed),)
    if not chosen:
        digits = common_target(work_points(cells[side].processes, works[side]) for side in SIDES)
        if digits is None:
            return (Evidence(_unscored(fast, of_fast), _unscored(slow, of_slow), disturbed=disturbed),)
        chosen = [digits]
    found: list[Evidence] = []
    for digits in chosen:
        at_fast, at_slow = (_at(cells[side], Target(digits, None), works[side], value[side]) for side in SIDES)
        found.append(Evidence(at_fast, at_slow, digits, disturbed=disturbed))
    return tuple(found)


def _digits(claim: Claim, points: list[list[WorkPoint]]) -> list[float]:
    """The digits at which every process of both sides can be read: the source's, or all whole ones."""
    fronts = [front for found in points if (front := pareto_front(found))]
    if not fronts or len(fronts) < len(points):
        return []
    low, high = max(front[0].digits for front in fronts), min(front[-1].digits for front in fronts)
    if claim.figure.digits is not None:
        return [claim.figure.digits] if low <= claim.figure.digits <= high else []
    return [float(digits) for digits in range(math.ceil(low), math.floor(high) + 1)]


def _disturbed(*cells: CellSummary) -> tuple[int, int]:
    processes = [process for cell in cells for process in cell.processes]
    return sum(bool(process.noisy) for process in processes), len(processes)


def _cell(claim: Claim, side: str, summary: RunSummary) -> CellSummary:
    """The cell of a side; one that the plan left out has no process."""
    label = _label(claim, side, summary)
    found = next((cell for cell in summary.cells.values() if cell.cell.label == label), None)
    return CellSummary(Cell("", "", "", "", ""), "other", "") if found is None else found


def _label(claim: Claim, side: str, summary: RunSummary) -> str:
    return claimed_sides(summary.plan).get(claim.id, {}).get(side, "")


def _place(claim: Claim, side: str, summary: RunSummary) -> int:
    """The point of a published side in its cell; a cell that is a side when fair, too, has several."""
    points = summary.plan["claimed"].get("points", {}).get(_label(claim, f"published.{side}", summary), ())
    stated = claim.published.sides[side].tolerances if claim.published is not None else None
    return next((i for i, (rtol, atol) in enumerate(points) if Point(rtol, atol) == stated), 0)


def _left_out(summary: RunSummary, label: str) -> Measured | None:
    """A side that the plan left out, with its reason, by the label of its cell."""
    skipped = summary.plan.get("skipped", ())
    reason = next((entry["reason"] for entry in skipped if label in labels(entry["cells"])), None)
    return None if reason is None else Measured(why=f"was left out: {reason}")


Seconds = Callable[[HalfSummary], float | None]


def _taken(claim: Claim, setting: str, side: str) -> Seconds:
    """The time of a call of a side: by the source's statistic, and inside of a bridge that the source did not cross."""
    statistic = claim.conditions[TIMING].sides.get(side) if setting == "published" else None
    name = statistic if statistic in (MEAN, MINIMUM) else MEDIAN
    direct = claim.conditions[CALL_PATH].sides.get(side) == DIRECT

    def seconds(half: HalfSummary) -> float | None:
        times = half.inside if direct and half.inside is not None else half.calls
        return None if times is None else getattr(times, name)

    return seconds


def _value(quantity: str, seconds: Seconds) -> Value:
    if quantity == "backward_evaluations":
        return lambda point: _count(point.gradient, BACKWARD_EVALUATIONS)
    if quantity in COUNTS:
        key = _COUNT_KEYS[quantity]
        return lambda point: _count(point.solve, key)
    times: dict[str, Value] = {
        "solve": lambda point: seconds(point.solve),
        "step": lambda point: _per_step(point, seconds),
        "first_solve": lambda point: point.solve.first_s,
        "first_gradient": lambda point: point.gradient.first_s,
    }
    return times.get(quantity, lambda point: seconds(point.gradient))


def _per_step(point: PointSummary, seconds: Seconds) -> float | None:
    steps, time = _count(point.solve, _COUNT_KEYS["steps"]), seconds(point.solve)
    return time / steps if steps and time is not None else None


def _count(half: HalfSummary, key: str) -> float | None:
    return half.counts.get(key) if half.seconds is not None else None


def _work(quantity: str, value: Value) -> Work:
    """Digits against the claimed quantity, if both are known."""

    def of(point: PointSummary) -> WorkPoint | None:
        number = value(point)
        known = point.gradient.work if quantity in _OF_GRADIENTS else point.solve.work
        return None if known is None or number is None else WorkPoint(known.digits, number)

    return of


def _at_point(cell: CellSummary, value: Value, place: int = 0) -> Measured:
    points = {process.block: process.points[place : place + 1] for process in cell.processes}
    return _of_blocks(cell, {block: value(found[0]) if found else None for block, found in points.items()})


def _unscored(cell: CellSummary, value: Value) -> Measured:
    """Without a reference accuracy is unknown: nothing can be fair, so the reason is given."""
    timed = any(value(point) is not None for point in cell.points)
    return Measured(why="has no measured error to be compared at" if timed else _ended(cell))


def _no_work(_point: PointSummary) -> None:
    """Models have no digits."""


def _at(cell: CellSummary, target: Target, work: Work, value: Value) -> Measured:
    readings = {process.block: reading(process, target, work, value) for process in cell.processes}
    reasons = [item.reason for item in readings.values() if item.time is None and item.reason]
    blocks = {block: item.time for block, item in readings.items()}
    if not any(time is not None for time in blocks.values()):
        timed = any(value(point) is not None for point in cell.points)
        return Measured(why=reasons[0] if timed and reasons else _ended(cell))
    at_most = is_bound(cell.processes, target.digits, work)
    return Measured(blocks, at_most=at_most, axis=axis_at(cell.processes, target, work))


def _first(cell: CellSummary) -> Measured:
    return _of_blocks(cell, {process.block: process.first_gradient_built_s for process in cell.processes})


def _of_blocks(cell: CellSummary, blocks: Mapping[int, float | None]) -> Measured:
    if any(number is not None for number in blocks.values()):
        return Measured(blocks)
    return Measured(why=_ended(cell))


def _ended(cell: CellSummary) -> str:
    """Return how a side without a number ended."""
    if not cell.processes:
        return "was not measured"
    for process in cell.processes:
        if (told := _failure(process)) is not None:
            return told
    return "has no such number"


def _failure(process: ProcessSummary) -> str | None:
    ends = [*process.points, process] if process.outcome is Outcome.OK else [process, *process.points]
    for end in ends:
        if end.outcome is not Outcome.OK:
            phase = f" in {end.phase}" if end.phase else ""
            first_line = end.message.strip().splitlines()[0] if end.message.strip() else ""
            told = f"ended in {end.outcome}{phase}{f': {first_line}' if first_line else ''}"
            if end.outcome is Outcome.BUSY_TIMEOUT or (end.outcome is Outcome.TIMEOUT and process.noisy):
                return f"{told} while other work disturbed it, so it does not count: repeat it on a quiet machine"
            return f"{told}: that is a result"
    return None
