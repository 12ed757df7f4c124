"""The comparison itself: ratios, verdicts over the stated family, and gained or lost results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from sciml_bench.analysis.comparable import disturbed
from sciml_bench.analysis.comparison.requirements import Difference, changes
from sciml_bench.analysis.comparison.run_effect import RunEffect, run_effect
from sciml_bench.analysis.comparison.series import Quantity, Series, different_cells, same_cell
from sciml_bench.analysis.comparison.sides import Side
from sciml_bench.analysis.failures import one_line
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables.formatting import tolerance
from sciml_bench.record.retry_policy import EQUAL_ENDS
from sciml_bench.stats.aggregate import GeometricMean, geometric_mean
from sciml_bench.stats.autocorrelation import Earlier
from sciml_bench.stats.axis_error import on_axis
from sciml_bench.stats.bootstrap import Check, hierarchical_ratio
from sciml_bench.stats.ratio import Ratio, pair, paired_ratio, unpaired_ratio
from sciml_bench.stats.verdict import Held, Judgement, Verdict, judge, with_bound, without_winner


@dataclass(frozen=True)
class Compared:
    """One line: a quantity of a cell on either side, judged.

    ``base_s`` and ``new_s`` are medians over the processes that count. ``check`` is the bootstrap interval, if any;
    ``disagrees`` is true if only one of it and the t interval contains 1.
    """

    series: Series
    judgement: Judgement
    base_s: float
    new_s: float
    check: Check | None
    left_out: tuple[int, ...]

    @property
    def disagrees(self) -> bool:
        """Return whether only one of the two intervals holds 1."""
        ratio = self.judgement.ratio
        return self.check is not None and (ratio.low <= 1 <= ratio.high) != (self.check.low <= 1 <= self.check.high)


@dataclass(frozen=True)
class Change:
    """A cell, or tolerances of one, that worked on one side only."""

    label: str
    what: str
    reason: str


@dataclass(frozen=True)
class Comparison:
    """Everything that a comparison says. ``uncompared`` are quantities with no number on a side, with the reason."""

    base: str
    new: str
    band: float
    family: str
    changes: tuple[Difference, ...]
    lost: tuple[Change, ...]
    gained: tuple[Change, ...]
    only_base: tuple[str, ...]
    only_new: tuple[str, ...]
    lines: tuple[Compared, ...]
    uncompared: tuple[Change, ...]
    means: Mapping[Quantity, GeometricMean]
    noisy: tuple[int, int]
    between_runs: bool
    effect: RunEffect | None = None

    @property
    def worse(self) -> bool:
        """Return whether anything is slower, or no longer works."""
        return bool(self.lost) or any(line.judgement.verdict is Verdict.SLOWER for line in self.lines)

    def count(self, verdict: Verdict) -> int:
        """Return how many lines have this verdict."""
        return sum(line.judgement.verdict is verdict for line in self.lines)


def compare_runs(
    base: Side, new: Side, *, band: float, each_tolerance: bool = False, repeated: Sequence[Side] = ()
) -> Comparison:
    """Compare the cells that two runs share. Their blocks are not the same, whatever their seeds, so they are no pairs.

    How far runs of the same program differ comes from ``repeated`` ones and is in the intervals; if it is not known
    a winner is named from a factor of 2 on.
    """
    shared = [label for label in base.cells if label in new.cells]
    series = [item for label in shared for item in same_cell(base, new, label, each_tolerance)]
    pairs = [(base.cells[label], new.cells[label]) for label in shared]
    effect = run_effect(base, new, repeated)
    return _comparison(base, new, series, pairs, band, between_runs=True, effect=effect)


def compare_selections(of: Side, others: Side, *, band: float, earlier: Earlier | None = None) -> Comparison:
    """Compare the cells of two selections of one run, problem by problem, each pair once.

    ``earlier`` is the correlation of neighbouring blocks that a self-test of the machine found.
    """
    pairs = [
        (a, b)
        for a in of.cells.values()
        for b in others.cells.values()
        if a.cell.problem == b.cell.problem and a.cell != b.cell
    ]
    series = [item for a, b in pairs for item in different_cells(of, others, a.cell.label, b.cell.label)]
    return _comparison(of, others, series, pairs, band, between_runs=False, earlier=earlier)


def _comparison(
    base: Side,
    new: Side,
    series: Sequence[Series],
    pairs: Sequence[tuple[CellSummary, CellSummary]],
    band: float,
    *,
    between_runs: bool,
    effect: RunEffect | None = None,
    earlier: Earlier | None = None,
) -> Comparison:
    lines, uncompared = _judged(series, band, between_runs, effect, earlier)
    counts = [disturbed(side.summary.cells.values()) for side in (base, new)]
    if any(of_side.all for of_side in counts):
        lines = [replace(line, judgement=without_winner(line.judgement, Held.DISTURBED)) for line in lines]
    lost = [change for a, b in pairs for change in _changed(a, b)] if between_runs else []
    gained = [change for a, b in pairs for change in _changed(b, a)] if between_runs else []
    shared = {cell.cell.label for pair in pairs for cell in pair}
    return Comparison(
        base=base.name,
        new=new.name,
        band=band,
        family=_family(lines, between_runs),
        changes=tuple(changes(base, new)),
        lost=tuple(lost),
        gained=tuple(gained),
        only_base=tuple(label for label in base.cells if label not in shared) if between_runs else (),
        only_new=tuple(label for label in new.cells if label not in shared) if between_runs else (),
        lines=tuple(lines),
        uncompared=tuple(uncompared),
        means=dict(_means(lines, uncompared)),
        noisy=(counts[0].count, counts[1].count),
        between_runs=between_runs,
        effect=effect,
    )


def _judged(
    series: Sequence[Series], band: float, between_runs: bool, effect: RunEffect | None, earlier: Earlier | None
) -> tuple[list[Compared], list[Change]]:
    ratios: dict[tuple[str, str, str, str], Ratio] = {}
    found: list[tuple[Series, list[float], list[float], Check | None, tuple[int, ...]]] = []
    uncompared: list[Change] = []
    for item in series:
        base, new, left_out = _sides(item, between_runs)
        if not base or not new:
            uncompared.append(Change(_pair_text(item), item.quantity, _why_not(item)))
            continue
        ratio = on_axis(unpaired_ratio(base, new) if between_runs else paired_ratio(base, new), *item.axis)
        ratios[item.key] = effect.of_ratio(ratio, item.quantity) if effect else ratio
        found.append((item, base, new, None if between_runs else _check(item), left_out))
    known = not between_runs or (effect is not None and effect.known)
    judgements = judge(ratios, band=band, independent=_independent(series), runs_known=known, earlier=earlier)
    lines = [
        Compared(
            item,
            with_bound(judgements[item.key], item.bound == "base", item.bound == "new"),
            median(base),
            median(new),
            check,
            left_out,
        )
        for item, base, new, check, left_out in found
    ]
    return lines, uncompared


def _independent(series: Sequence[Series]) -> int:
    """Return how many pairs of cells are independent of each other: on each problem one less than it has cells."""
    cells: dict[str, set[str]] = {}
    for item in series:
        cells.setdefault(item.base_label.partition("/")[0], set()).update((item.base_label, item.new_label))
    return max(1, sum(len(of_problem) - 1 for of_problem in cells.values()))


def _sides(item: Series, between_runs: bool) -> tuple[list[float], list[float], tuple[int, ...]]:
    """The numbers of both sides, and the blocks that are left out since one of them has none."""
    if not between_runs:
        pairs = pair(item.base, item.new)
        return list(pairs.base), list(pairs.new), pairs.alone
    base, new = ([s for s in side.values() if s is not None] for side in (item.base, item.new))
    return base, new, tuple(sorted({b for side in (item.base, item.new) for b, s in side.items() if s is None}))


def _check(item: Series) -> Check | None:
    blocks = sorted(block for block, calls in item.samples_base.items() if calls and item.samples_new.get(block))
    return hierarchical_ratio([item.samples_base[b] for b in blocks], [item.samples_new[b] for b in blocks])


def _why_not(item: Series) -> str:
    if item.reason:
        return item.reason
    sides = (("BASE", item.base), ("NEW", item.new))
    absent = [name for name, side in sides if all(seconds is None for seconds in side.values())]
    return f"no time in {' and '.join(absent)}" if absent else "no block has a time on both sides"


def _changed(base: CellSummary, new: CellSummary) -> Iterator[Change]:
    """Results that work in ``base`` and not in ``new``: the cell, or some of its tolerances."""
    if not base.measured or not new.processes:
        return
    label = base.cell.label
    if not new.measured:
        reason = next((one_line(process.message) for process in new.processes if process.message), "")
        yield Change(label, str(new.outcome), reason)
        return
    if len(new.failing) >= EQUAL_ENDS and not base.failing:
        reason = one_line(new.failing[0].message) or new.failing[0].outcome.sentence
        yield Change(label, f"{len(new.failing)} of {len(new.processes)} processes", reason)
    for what, ok in _HALVES:
        worked, works = (_working(cell, ok) for cell in (base, new))
        gone = [place for place in worked if place not in works]
        if gone:
            points = (point for point in new.points if (point.rtol, point.batch) in gone and not ok(point))
            failed = next(points, None) or new.failing[0]
            at = ", ".join(tolerance(rtol) if batch is None else f"{batch}" for rtol, batch in gone)
            kind = "rtol" if gone[0][1] is None else "batch"
            yield Change(label, f"{what} at {kind} {at}", one_line(failed.message) or failed.outcome.sentence)


def _working(cell: CellSummary, ok: Callable[..., bool]) -> list[tuple[float, int | None]]:
    """Tolerances and batches at which most processes have a time; starved processes do not count."""
    processes = [process for process in cell.processes if not process.starved]
    timed = Counter((point.rtol, point.batch) for process in processes for point in process.points if ok(point))
    return [place for place, count in timed.items() if 2 * count > len(processes)]


_HALVES: tuple[tuple[str, Callable[..., bool]], ...] = (
    ("solve", lambda point: point.solve.seconds is not None),
    ("gradient", lambda point: point.gradient.seconds is not None),
)


def _family(lines: Sequence[Compared], between_runs: bool) -> str:
    tested = sum(line.judgement.ratio.n > 1 for line in lines)
    cells = len({(line.series.base_label, line.series.new_label) for line in lines})
    what = "cells" if between_runs else "pairs of cells"
    quantities = ", ".join(dict.fromkeys(line.series.quantity.value for line in lines))
    return f"{tested} comparisons: {cells} {what} × {quantities}"


def _means(lines: Sequence[Compared], uncompared: Sequence[Change]) -> Iterator[tuple[Quantity, GeometricMean]]:
    """Over all cells; a quantity without a ratio is counted as missing, and so is one that is only a bound."""
    for quantity in Quantity:
        of_quantity = [line for line in lines if line.series.quantity is quantity]
        ratios = [line.judgement.ratio.estimate for line in of_quantity if not line.series.bound]
        missing = sum(item.what == quantity for item in uncompared) + len(of_quantity) - len(ratios)
        if len(ratios) > 1:
            yield quantity, geometric_mean([*ratios, *[None] * missing])


def _pair_text(item: Series) -> str:
    return item.base_label if item.base_label == item.new_label else f"{item.base_label} → {item.new_label}"
