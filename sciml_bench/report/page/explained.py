"""Every row of a table against its fastest one: the verdict, what explains the gap, and whether it was fair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sciml_bench.report import quantities
from sciml_bench.report.fairness import Item, Side, State, checklist, tally
from sciml_bench.report.gap import Gap, gap
from sciml_bench.report.page.limit import Limit
from sciml_bench.report.page.table import Entry, Places
from sciml_bench.report.page.verdicts import Win, time_of
from sciml_bench.report.remarks import row_name
from sciml_bench.report.rows import Comparison, Row
from sciml_bench.report.standing import Standing
from sciml_bench.stats.verdict import Verdict


@dataclass(frozen=True)
class Explained:
    """One comparison. ``verdict`` is empty where the profile does not compare; ``headline`` is one line."""

    name: str
    headline: str
    verdict: str
    measured: str
    gap: Gap | None
    items: tuple[Item, ...]
    places: tuple[Entry, Entry]

    @property
    def fair(self) -> str:
        """The checklist in one line."""
        counts = tally(self.items)
        text = f"{counts[State.PASS]} of {len(self.items)} fairness items pass"
        failing = [item.what for item in self.items if item.state is State.FAIL]
        return f"{text}; not: {', '.join(failing)}" if failing else text


def explained(
    win: Win,
    found: Sequence[Standing],
    comparison: Comparison,
    places: Places,
    cell_ids: dict[int, str],
    limited: Limit,
) -> Iterator[Explained]:
    """The comparisons of a table with its fastest row, of the cells that the limit leaves.

    ``cell_ids`` are by the identity of the cell's summary.
    """
    target = comparison.gradient_target if win.quantity == "gradient" else comparison.solve_target
    judged = {id(item.row): item for item in found if item.quantity == win.quantity}

    def side(row: Row) -> Side:
        return Side(row, places.traces.get(cell_ids[id(row.summary)], ()))

    for row in win.table.rows:
        if not limited.draws(row.summary) or row is win.row or time_of(row, win.quantity).seconds is None:
            continue
        standing = judged.get(id(row))
        between = gap(win.row, row, target, win.quantity)
        yield Explained(
            name=row_name(row),
            headline=_headline(between, standing),
            verdict=standing.judgement.verdict.value if standing else "",
            measured=_measured(standing),
            gap=between,
            items=checklist(side(win.row), side(row), target, win.quantity),
            places=(places.entry(cell_ids[id(win.row.summary)]), places.entry(cell_ids[id(row.summary)])),
        )


def _measured(standing: Standing | None) -> str:
    """The ratio with its interval, over how many blocks."""
    if standing is None:
        return ""
    ratio = standing.judgement.ratio
    if ratio.n < 2:
        return f"ratio {quantities.ratio(ratio.estimate)}, one block: no interval"
    interval = f"{quantities.ratio(ratio.low)}–{quantities.ratio(ratio.high)}"
    p = standing.judgement.adjusted_p
    chance = "below 0.001" if p < 0.001 else f"{p:.3f}"
    return f"ratio {quantities.ratio(ratio.estimate)} [{interval}] over {ratio.n} blocks, adjusted p {chance}"


def _headline(between: Gap | None, standing: Standing | None) -> str:
    """What explains the ratio comes before the word slower."""
    if between is None:
        return "no time at the target"
    ratio = standing.judgement.ratio.estimate if standing else between.ratio
    first = between.sentences[0].rstrip(".")
    times = f"takes {quantities.ratio(ratio)} times as long"
    if standing is None or standing.judgement.verdict is Verdict.UNDECIDED:
        times += ", which is not decided" if standing else ""
    elif standing.judgement.verdict is Verdict.SAME:
        return "the same within 5 %"
    return f"{times}: {first[0].lower()}{first[1:]}" if between.counted else times
