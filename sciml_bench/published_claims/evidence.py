"""The records of a run on one setting of a claim: both sides by block, or why they are missing."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median

from sciml_bench.adapters.program import BACKWARD_EVALUATIONS
from sciml_bench.analysis.process_summary import CallSummary, PointSummary, ProcessSummary
from sciml_bench.analysis.rows import Target, Work, axis_at, is_bound, reading, work_points
from sciml_bench.analysis.summary import CellSummary, RunSummary
from sciml_bench.planning.labels import labels
from sciml_bench.published_claims.claim import COUNTS, LATER, ONE_SIDE, SIDES, Claim
from sciml_bench.published_claims.claim import Side as SideOfClaim
from sciml_bench.published_claims.conditions import CALL_PATH, DIRECT, MEAN, MEDIAN, MINIMUM, TIMING
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.task import Cell, Point
from sciml_bench.stats.axis_error import AxisError, on_axis
from sciml_bench.stats.front import WorkPoint, common_target, pareto_front
from sciml_bench.stats.ratio import Pairs, Ratio, pair, paired_ratio

Value = Callable[[PointSummary], float | None]

# Accepted steps: not every library reports rejected ones. For a batch, the steps of the longest trajectory.
_COUNT_KEYS = {"steps": "n_accepted", "evaluations": "n_rhs_evaluations"}

_OF_GRADIENTS = ("gradient", "backward_evaluations")


@dataclass(frozen=True)
class Measured:
    """One side: a number of each block, in seconds or a count; ``why`` there is none.

    ``cell`` is the measured cell; of several recipes the one that is the fastest at what both sides are compared at.
    ``at_most`` is true if its loosest tolerance is already more accurate than that, so that its number is an upper
    bound. ``axis`` is the error of reading it at equal accuracy. ``disturbed`` are the processes that other work on the
    machine disturbed, and all of them.
    """

    blocks: Mapping[int, float | None] = field(default_factory=dict[int, "float | None"])
    at_most: bool = False
    why: str = ""
    axis: AxisError | None = None
    cell: Cell | None = None
    disturbed: tuple[int, int] = (0, 0)

    @property
    def all_disturbed(self) -> bool:
        """True if other work on the machine disturbed every process."""
        return 0 < self.disturbed[1] == self.disturbed[0]

    @property
    def incomplete(self) -> bool:
        """True if a block has no number."""
        return not self.blocks or None in self.blocks.values()

    @property
    def typical(self) -> float:
        """The median over the blocks; ∞ without a number."""
        known = [number for number in self.blocks.values() if number is not None]
        return median(known) if known else math.inf


@dataclass(frozen=True)
class Evidence:
    """Both sides of one setting. ``digits`` are the digits of the comparison, if that is at equal accuracy.

    ``alone`` is true if both are calls of the same cell: the first one is the slow side.
    """

    fast: Measured
    slow: Measured
    digits: float | None = None
    alone: bool = False

    @property
    def disturbed(self) -> tuple[int, int]:
        """The disturbed processes of both sides, and all of them."""
        sides = (self.slow,) if self.alone else (self.fast, self.slow)
        return sum(side.disturbed[0] for side in sides), sum(side.disturbed[1] for side in sides)

    @property
    def why(self) -> str:
        """Return why the ratio is missing; empty if it is there."""
        if self.alone and (missing := self.slow.why or self.fast.why):
            return f"the cell {missing}"
        told = [f"the {name} side {side.why}" for name, side in (("fast", self.fast), ("slow", self.slow)) if side.why]
        if told:
            return "; ".join(told)
        numbers = self._pairs.base + self._pairs.new
        if not numbers:
            return "the sides have no block in common"
        return "" if min(numbers) > 0 else "a side counts nothing"

    @property
    def _pairs(self) -> Pairs[int]:
        return pair(self.fast.blocks, self.slow.blocks)

    @property
    def ratio(self) -> Ratio | None:
        """Slow over fast, paired by block; ``None`` where :attr:`why` says so."""
        if self.why:
            return None
        return on_axis(paired_ratio(self._pairs.base, self._pairs.new), self.fast.axis, self.slow.axis)

    @property
    def counts(self) -> tuple[float, float]:
        """The counts of the slow and of the fast side in their first common block; solvers are deterministic."""
        return self._pairs.new[0], self._pairs.base[0]


def evidence(claim: Claim, setting: str, summary: RunSummary) -> tuple[Evidence, ...]:
    """The evidence on one setting of a claim, from a run of its cells; a side that was left out says why.

    At equal accuracy there is one for each whole digit that both sides reach, loosest first, or one for the claim's
    own digits; otherwise there is one.
    """
    sides = {name: _Side.of(claim, setting, name, summary) for name in claim.figure.sides}
    found = _measured(claim, setting, sides, summary)
    names = ONE_SIDE * 2 if found[0].alone else SIDES
    fast, slow = (sides[name].left_out(summary) for name in names)
    if fast is None and slow is None:
        return found
    # The other side was not measured on its own: there was nothing to compare it with.
    return (dataclasses.replace(found[-1], fast=fast or Measured(), slow=slow or Measured()),)


@dataclass(frozen=True)
class _Side:
    """The cells of one side in a run, and the number that is read of each."""

    labels: tuple[str, ...]
    cells: tuple[CellSummary, ...]
    value: Value
    work: Work
    later: Value | None = None

    @staticmethod
    def of(claim: Claim, setting: str, name: str, summary: RunSummary) -> _Side:
        """The cells that a run measured of a side, which are several if it is left to recipes.

        Times are reduced by the source's statistic at its settings and by the median when fair. A library that the
        source called from its own language is read on its side of the bridge in both.
        """
        labels = summary.plan.sides.get(claim.id, {}).get(f"{setting}.{name}", ())
        problems = {label.partition("/")[0] for label in labels}
        stated: SideOfClaim = getattr(claim, setting).sides[name]
        measured = [cell for cell in summary.cells.values() if cell.cell.problem in problems]
        planned = tuple(cell for cell in measured if cell.cell.label in labels)
        found = tuple(cell for cell in measured if stated.allows(cell.cell)) or planned
        quantity, seconds = claim.figure.quantity, _taken(claim, setting, name)
        later = _value(LATER[quantity], seconds) if quantity in LATER else None
        value = _value(quantity, seconds)
        return _Side(labels, found or (_UNMEASURED,), value, _work(quantity, value), later)

    def best(self, read: Callable[[CellSummary], Measured]) -> Measured:
        """The fastest of the cells, each with a number read of it; one that failed in no block goes first."""
        return min((read(cell) for cell in self.cells), key=lambda measured: (measured.incomplete, measured.typical))

    def reaches(self, cell: Cell, digits: float) -> bool:
        """Return whether every process of a cell is this accurate, if not already at its loosest tolerance."""
        return cell in self.ranges and digits <= self.ranges[cell][1]

    @property
    def first(self) -> CellSummary:
        """The first cell with a known error, or the first one."""
        return next((cell for cell in self.cells if work_points(cell.processes, self.work)), self.cells[0])

    @cached_property
    def ranges(self) -> Mapping[Cell, tuple[float, float]]:
        """The digits over which every process of a cell can be read, of the cells with any."""
        found: dict[Cell, tuple[float, float]] = {}
        for cell in self.cells:
            points = [work_points([process], self.work) for process in cell.processes]
            fronts = [front for one in points if (front := pareto_front(one))]
            if fronts and len(fronts) == len(points):
                found[cell.cell] = max(f[0].digits for f in fronts), min(f[-1].digits for f in fronts)
        return found

    def at(self, target: Target) -> Measured:
        """The side at equal accuracy, or at a size: the fastest cell that is as accurate in every process."""
        digits = target.digits
        able = tuple(cell for cell in self.cells if digits is not None and self.reaches(cell.cell, digits))
        kept = dataclasses.replace(self, cells=able or self.cells)
        return kept.best(lambda cell: _at(cell, target, _no_work if target.batch else self.work, self.value))

    def left_out(self, summary: RunSummary) -> Measured | None:
        """A side whose cells the plan left out, with the reason of the first."""
        if self.cells != (_UNMEASURED,):
            return None
        skipped = summary.plan.skipped
        for label in self.labels:
            reason = next((skip.reason for skip in skipped if label in labels(skip.cells)), None)
            if reason is not None:
                return Measured(why=f"was left out: {reason}")
        return None


_UNMEASURED = CellSummary(Cell("", "", "", "", ""), "other", "")


def _measured(claim: Claim, setting: str, sides: Mapping[str, _Side], summary: RunSummary) -> tuple[Evidence, ...]:
    """The evidence if both sides were planned.

    At the source's settings both sides are read at the tolerances that the claim states, if any; when fair, at equal
    achieved accuracy on the ladder of the profile, if that has both. Models, which are right before they are timed, are
    read at their largest batch. First calls are one number per process in either setting.
    """
    quantity = claim.figure.quantity
    if claim.figure.against_later:
        (side,) = sides.values()
        later = side.later or side.value
        slow = side.best(lambda cell: _at_point(cell, side.value))
        return (Evidence(side.best(lambda cell: _at_point(cell, later)), slow, alone=True),)
    fast, slow = (sides[name] for name in SIDES)
    if quantity == "first_gradient":
        return (Evidence(fast.best(_first), slow.best(_first)),)
    stated = [side.rtol is not None for side in getattr(claim, setting).sides.values()]
    if quantity == "first_solve" or (setting == "published" and all(stated)):
        at = quantity != "first_solve"
        both = [
            side.best(lambda cell, side=side, name=name: _at_point(
                cell, side.value, _place(claim, name, cell, summary) if at else 0
            ))
            for name, side in sides.items()
        ]  # fmt: skip
        return (Evidence(both[0], both[1]),)
    batches = [point.batch for side in sides.values() for cell in side.cells for point in cell.points]
    batch = max((batch for batch in batches if batch is not None), default=0)
    if batch:
        target = Target(None, None, batch)
        return (Evidence(fast.at(target), slow.at(target)),)
    chosen = _digits(claim, fast, slow)
    if not chosen and claim.figure.digits is not None:
        # Any other accuracy would be another claim.
        beyond = Measured(why=f"cannot be read at {claim.figure.digits:g} digits, as in the source, in every process")
        return (Evidence(beyond, beyond),)
    if not chosen:
        digits = common_target(work_points(side.first.processes, side.work) for side in (fast, slow))
        if digits is None:
            return (Evidence(_unscored(fast.first, fast.value), _unscored(slow.first, slow.value)),)
        chosen = [digits]
    return _over_digits(fast, slow, chosen)


def _over_digits(fast: _Side, slow: _Side, chosen: Sequence[float]) -> tuple[Evidence, ...]:
    """The evidence at these digits, loosest first, until the fastest recipe of a side was not measured as accurately:
    slower ones say nothing of the library there.

    Where only a bound of a side is known, it is left out if there are other digits.
    """
    found: list[Evidence] = []
    for digits in chosen:
        last = [] if not found else [(fast, found[-1].fast.cell), (slow, found[-1].slow.cell)]
        if any(cell is not None and not side.reaches(cell, digits) for side, cell in last):
            break
        target = Target(digits, None)
        found.append(Evidence(fast.at(target), slow.at(target), digits))
    known = [read for read in found if not (read.fast.at_most or read.slow.at_most)]
    return tuple(known or found)


def _digits(claim: Claim, fast: _Side, slow: _Side) -> list[float]:
    """The digits at which every process of a cell of each side can be read: the source's, or all whole ones."""
    ranges = [side.ranges.values() for side in (fast, slow)]
    if not all(ranges):
        return []
    if claim.figure.digits is not None:
        wanted = [claim.figure.digits]
    else:
        low, high = (min(low for low, _ in ranges[0]), max(high for _, high in ranges[0]))
        wanted = [float(digits) for digits in range(math.ceil(low), math.floor(high) + 1)]
    return [
        digits for digits in wanted if all(any(low <= digits <= high for low, high in of_side) for of_side in ranges)
    ]


def _place(claim: Claim, side: str, cell: CellSummary, summary: RunSummary) -> int:
    """The point of a published side in its cell; a cell that is a side when fair, too, has several."""
    points = () if (claimed := summary.plan.claimed) is None else claimed.points.get(cell.cell.label, ())
    stated = claim.published.sides[side].tolerances if claim.published is not None else None
    return next((i for i, (rtol, atol) in enumerate(points) if Point(rtol, atol) == stated), 0)


Seconds = Callable[[CallSummary], float | None]


def _taken(claim: Claim, setting: str, side: str) -> Seconds:
    """The time of a call of a side: by the source's statistic, and inside of a bridge that the source did not cross."""
    statistic = claim.conditions[TIMING].sides.get(side) if setting == "published" else None
    name = statistic if statistic in (MEAN, MINIMUM) else MEDIAN
    direct = claim.conditions[CALL_PATH].sides.get(side) == DIRECT

    def seconds(half: CallSummary) -> float | None:
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


def _count(half: CallSummary, key: str) -> float | None:
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
    return dataclasses.replace(_of_blocks(cell, blocks), at_most=at_most, axis=axis_at(cell.processes, target, work))


def _first(cell: CellSummary) -> Measured:
    return _of_blocks(cell, {process.block: process.first_gradient_built_s for process in cell.processes})


def _of_blocks(cell: CellSummary, blocks: Mapping[int, float | None]) -> Measured:
    if any(number is not None for number in blocks.values()):
        noisy = sum(bool(process.noisy) for process in cell.processes)
        return Measured(blocks, cell=cell.cell, disturbed=(noisy, len(cell.processes)))
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
        if end.outcome is Outcome.UNCHECKED:
            return "was timed, but no reference can check it"
        if end.outcome is not Outcome.OK:
            phase = f" in {end.phase}" if end.phase else ""
            first_line = end.message.strip().splitlines()[0] if end.message.strip() else ""
            told = f"ended in {end.outcome}{phase}{f': {first_line}' if first_line else ''}"
            if end.outcome is Outcome.BUSY_TIMEOUT or (end.outcome is Outcome.TIMEOUT and process.noisy):
                return f"{told} while other work disturbed it, so it does not count: repeat it on a quiet machine"
            return f"{told}: that is a result"
    return None
