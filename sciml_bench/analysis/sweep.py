"""A sweep's results: for each quantity and set of cells, a row for every cell with a number at each size.

Cells share a table if they may be compared with each other: the recommended ways of all libraries, the matched ones,
and the kinds of gradient of one method of one library.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from sciml_bench.analysis.comparable import why_not_comparable
from sciml_bench.analysis.contests import Contest, Solver, contests
from sciml_bench.analysis.explanation.solver_counts import COUNTS
from sciml_bench.analysis.process_summary import PointSummary, ProcessSummary
from sciml_bench.analysis.rows import Target, axis_at, is_bound, reading, work_points
from sciml_bench.analysis.summary import CellSummary, RunSummary
from sciml_bench.analysis.tables import formatting
from sciml_bench.planning.purpose import AXES
from sciml_bench.planning.written_plan import WrittenPlan
from sciml_bench.stats.axis_error import AxisError, on_axis
from sciml_bench.stats.front import common_target
from sciml_bench.stats.ratio import Ratio, pair, paired_ratio
from sciml_bench.stats.scaling import LEAST_SIZES, Crossing, PowerLaw, complete, crossings, power_law
from sciml_bench.stats.spread import Spread, spread
from sciml_bench.stats.verdict import Verdict, judge

Size = float


@dataclass(frozen=True)
class Axis:
    """The axis of a sweep. ``problems`` are its problems by size; a sweep over tolerances has the same one."""

    over: str
    of: str
    unit: str
    sizes: tuple[Size, ...]
    problems: Mapping[Size, str]

    @property
    def tolerance(self) -> bool:
        """Return whether the sizes are tolerances (as 1/rtol) of one problem."""
        return self.over == "tolerance"


@dataclass(frozen=True)
class Value:
    """One number of a cell at one size, over its processes, or why there is none.

    ``at_most`` marks an upper bound. ``least`` and ``mean`` are over the trajectories of a batch in which each takes
    its own steps; the number is the largest. ``blocks`` has the process of each block. ``steps`` counts the steps of
    the solve that a memory belongs to, in sweeps over the time span. ``axis`` is the error of reading a time at equal
    accuracy.
    """

    spread: Spread | None
    reason: str = ""
    at_most: bool = False
    least: float | None = None
    mean: float | None = None
    blocks: Mapping[int, float | None] | None = None
    steps: float | None = None
    axis: AxisError | None = None


@dataclass(frozen=True)
class SweepRow:
    """One cell over the sizes. ``power`` is ``None`` where fewer than three sizes have a number."""

    solver: Solver
    values: Mapping[Size, Value]
    power: PowerLaw | None


@dataclass(frozen=True)
class Meeting:
    """Two rows of a table and the size at which they change places; empty if they never do within the sweep.

    ``ahead`` has for each size of both which row is judged to be faster, 0 or 1, or ``None``. ``one`` says that both
    are the same method of the same library: only the kind of gradient differs.
    """

    first: SweepRow
    second: SweepRow
    crossings: tuple[Crossing, ...]
    ahead: Mapping[Size, int | None]
    one: bool


@dataclass(frozen=True)
class SweepTable:
    """One quantity (``solve``, ``gradient``, ``memory``, ``steps``, ``evaluations``) of one set of cells."""

    axis: Axis
    quantity: str
    contest: Contest
    target: Target
    rows: tuple[SweepRow, ...]
    meetings: tuple[Meeting, ...]


def axis_of(plan: WrittenPlan) -> Axis | None:
    """The axis of a run that is a sweep; ``None`` for any other."""
    sweep = plan.sweep
    if sweep is None or sweep.over not in AXES:
        return None
    if sweep.over == "tolerance":
        problems = {1.0 / rtol: sweep.of for rtol in plan.profile.rtols if rtol > 0}
    else:
        planned = {problem.name for problem in plan.problems}
        problems = {float(size): name for name, size in sweep.sizes.items() if name in planned and size > 0}
    return Axis(sweep.over, sweep.of, AXES[sweep.over], tuple(sorted(problems)), problems)


def sweep_tables(summary: RunSummary) -> Iterator[SweepTable]:
    """The tables of a sweep; empty for any other run, or without measurements."""
    axis = axis_of(summary.plan)
    if axis is None:
        return
    of_quantities = (
        _table(axis, quantity, contest) for quantity in QUANTITIES for contest in contests(summary, axis.problems)
    )
    found = [
        table
        for table in of_quantities
        if any(_is_told(value, axis) for row in table.rows for value in row.values.values())
    ]
    yield from found if why_not_comparable(summary) else _judged(found)


def _judged(tables: Sequence[SweepTable]) -> Iterator[SweepTable]:
    """The tables with the meetings of their rows: all pairs at all sizes are one family."""
    timed = {place: table for place, table in enumerate(tables) if table.quantity in ("solve", "gradient")}
    family = {
        (place, first, second, size): ratio
        for place, table in timed.items()
        for first, second in combinations(range(len(table.rows)), 2)
        for size in table.axis.sizes
        if (ratio := _ratio(table.rows[first].values[size], table.rows[second].values[size])) is not None
    }
    # A cell's solves and gradients count as one, and it may be in several tables.
    there = {
        (size, row.solver.name)
        for table in timed.values()
        for row in table.rows
        for size in table.axis.sizes
        if row.values[size].spread is not None
    }
    judged = judge(family, independent=len(there) - len({size for size, _ in there}))
    for place, table in enumerate(tables):
        of_table = {key[1:]: judgement.verdict for key, judgement in judged.items() if key[0] == place}
        yield replace(table, meetings=tuple(_meetings(table.rows, of_table))) if place in timed else table


def _ratio(first: Value, second: Value) -> Ratio | None:
    """The time of the first of two cells at a size over the second's; ``None`` if one is only an upper bound."""
    if first.at_most or second.at_most or not (first.blocks and second.blocks):
        return None
    pairs = pair(first.blocks, second.blocks)
    return on_axis(paired_ratio(pairs.new, pairs.base), first.axis, second.axis) if pairs.blocks else None


def _is_told(value: Value, axis: Axis) -> bool:
    """Return whether there is something to report: a number, or growing steps whose memory is too small to measure."""
    return value.spread is not None or (axis.over == "span" and value.reason == BELOW)


QUANTITIES = ("gradient", "solve", "memory", "process", "steps", "evaluations")

LEAST_TOLD_BYTES = 2**20
"""Of one call. The kernel counts pages in batches, so less than this is not distinguished from nothing."""

BELOW = f"below {formatting.size(LEAST_TOLD_BYTES)}"

_STEPS = (*COUNTS["steps"], *COUNTS["accepted steps"])
_EVALUATIONS = COUNTS["evaluations of the right-hand side"]


def _table(axis: Axis, quantity: str, contest: Contest) -> SweepTable:
    cells = [cell for solver in contest.solvers for cell in solver.cells.values()]
    target = Target(None, None) if axis.tolerance else _target(cells, quantity)
    rows = tuple(_row(axis, quantity, solver, target) for solver in contest.solvers)
    return SweepTable(axis, quantity, contest, target, rows, ())


def _target(cells: Sequence[CellSummary], quantity: str) -> Target:
    """The point of comparison: at equal accuracy if all errors are known, otherwise at the tolerance that most cells
    reach.

    Steps and evaluations are always given at a tolerance: they are whole numbers of one solve.
    """
    kind = quantity if quantity in ("solve", "gradient") else "solve"
    timed = [cell for cell in cells if any(point.half(kind).seconds is not None for point in cell.points)]
    if quantity in ("solve", "gradient"):
        fronts = [work_points(cell.processes, lambda point: point.half(kind).work) for cell in timed]
        digits = common_target(fronts) if all(fronts) else None
        if digits is not None:
            return Target(digits, None)
    votes: dict[float, int] = {}
    for cell in timed:
        for rtol in {point.rtol for point in cell.points if point.half(kind).seconds is not None}:
            votes[rtol] = votes.get(rtol, 0) + 1
    return Target(None, max(votes, key=lambda rtol: (votes[rtol], -rtol), default=None))


def _row(axis: Axis, quantity: str, solver: Solver, target: Target) -> SweepRow:
    values = {size: _value(axis, quantity, solver.cells.get(axis.problems[size]), size, target) for size in axis.sizes}
    return SweepRow(solver, values, _power(values))


def _value(axis: Axis, quantity: str, cell: CellSummary | None, size: Size, target: Target) -> Value:
    if cell is None:
        return Value(None, "not planned")
    if quantity == "process":
        # The peak of a process that was ended early is not the peak of the work.
        done = [
            process for process in cell.processes if any(point.solve.seconds is not None for point in process.points)
        ]
        blocks = {process.block: _number(process.peak_rss_bytes) for process in done}
        return _of_blocks(cell, blocks, "not known")
    at = Target(None, _rtol(cell, size)) if axis.tolerance else target
    if quantity == "memory":
        steps = _counted(cell, at, _STEPS).spread if axis.over == "span" else None
        return replace(_working(cell, at), steps=None if steps is None else steps.median)
    if quantity in ("steps", "evaluations"):
        return _counted(cell, at, _STEPS if quantity == "steps" else _EVALUATIONS)
    readings = {
        process.block: reading(process, at, lambda p: p.half(quantity).work, lambda p: p.half(quantity).seconds)
        for process in cell.processes
    }
    reason = next((item.reason for item in readings.values() if item.time is None), "")
    found = _of_blocks(cell, {block: item.time for block, item in readings.items()}, reason)
    at_most = is_bound(cell.processes, at.digits, lambda p: p.half(quantity).work)
    error = axis_at(cell.processes, at, lambda p: p.half(quantity).work)
    return Value(found.spread, found.reason, at_most, blocks=found.blocks, axis=error)


def _of_blocks(cell: CellSummary, blocks: Mapping[int, float | None], reason: str) -> Value:
    found = spread(blocks.values())
    if found is not None:
        return Value(found, blocks=blocks)
    if cell.outcome is not None and not cell.measured:
        return Value(None, cell.outcome.value)
    return Value(None, _ended(cell) or reason or "not run yet")


def _ended(cell: CellSummary) -> str:
    """Return how the points of a cell ended, if none is good."""
    outcomes = cell.point_outcomes
    return outcomes.most_common(1)[0][0].value if outcomes and "ok" not in outcomes else ""


def _working(cell: CellSummary, target: Target) -> Value:
    """Peak memory of one gradient at the tolerance."""
    points = {process.block: _point(process, target.rtol) for process in cell.processes}
    told = {b: p.gradient.working_bytes for b, p in points.items() if p and p.gradient.working_bytes is not None}
    if told and not any(told.values()) and cell.cell.device != "cpu":
        # Every gradient holds something there: the framework does not say how much.
        told = {}
    if told and min(told.values()) < LEAST_TOLD_BYTES:
        return Value(None, BELOW)
    return _of_blocks(cell, {block: float(size) for block, size in told.items()}, "not known")


def _counted(cell: CellSummary, target: Target, keys: Sequence[str]) -> Value:
    points = {process.block: _point(process, target.rtol) for process in cell.processes}
    counts = {block: point.solve.counts if point else {} for block, point in points.items()}
    blocks = {block: next((_number(of.get(k)) for k in keys if of.get(k)), None) for block, of in counts.items()}
    found = _of_blocks(cell, blocks, "not counted")
    if "n_steps" not in keys:
        return found
    least, mean = (spread(_number(of.get(f"n_steps_{what}")) for of in counts.values()) for what in ("least", "mean"))
    return Value(
        found.spread, found.reason, False, least.median if least else None, mean.median if mean else None, found.blocks
    )


def _point(process: ProcessSummary, rtol: float | None) -> PointSummary | None:
    return next((point for point in process.points if point.rtol == rtol and point.solve.seconds is not None), None)


def _rtol(cell: CellSummary, size: Size) -> float | None:
    """The tolerance of the ladder that a size represents."""
    rtols = {point.rtol for point in cell.points}
    return min(rtols, key=lambda rtol: abs(rtol * size - 1.0), default=None)


def _number(value: float | None) -> float | None:
    return float(value) if value else None


def _power(values: Mapping[Size, Value]) -> PowerLaw | None:
    """The exponent over the sizes that have a number; upper bounds do not count."""
    sizes = _usable(values)
    rows = complete(_by_block(values, sizes), sizes)
    return power_law(sizes, rows) if len(sizes) >= LEAST_SIZES and rows else None


def _usable(values: Mapping[Size, Value]) -> list[Size]:
    return sorted(size for size, value in values.items() if value.spread is not None and not value.at_most)


def _by_block(values: Mapping[Size, Value], sizes: Sequence[Size]) -> dict[int, dict[Size, float | None]]:
    found: dict[int, dict[Size, float | None]] = {}
    for size in sizes:
        for block, number in (values[size].blocks or {}).items():
            found.setdefault(block, {})[size] = number
    return found


def _meetings(rows: Sequence[SweepRow], verdicts: Mapping[tuple[int, int, Size], Verdict]) -> Iterator[Meeting]:
    faster = {Verdict.FASTER: 0, Verdict.SLOWER: 1}
    for (one, first), (other, second) in combinations(enumerate(rows), 2):
        sizes = sorted({*_usable(first.values)} & {*_usable(second.values)})
        if len(sizes) < 2:
            continue
        ours, theirs = (_by_block(row.values, sizes) for row in (first, second))
        common = [b for b in ours if b in theirs and all(of[b].get(s) for of in (ours, theirs) for s in sizes)]
        if not common:
            continue
        a, b = (complete({block: of[block] for block in common}, sizes) for of in (ours, theirs))
        at = {size: faster.get(verdicts.get((one, other, size), Verdict.UNDECIDED)) for size in sizes}
        found = tuple(crossings(sizes, a, b, list(at.values())))
        yield Meeting(first, second, found, at, first.solver.one_method(second.solver))
