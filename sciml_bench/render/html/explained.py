"""Every row of a table against its fastest one: the verdict, what explains the gap, and whether it was fair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sciml_bench.analysis.explanation.fairness import Item, Side, State, checklist, tally
from sciml_bench.analysis.explanation.slowdown import Slowdown, explain_slowdown
from sciml_bench.analysis.ranking import PairwiseVerdict, Ranking, time_of
from sciml_bench.analysis.rows import Comparison, Row
from sciml_bench.analysis.tables import formatting
from sciml_bench.render.html.page_budget import PageBudget
from sciml_bench.render.html.table import Entry, Places
from sciml_bench.stats.verdict import Verdict


@dataclass(frozen=True)
class Explained:
    """One comparison. ``verdict`` is empty where the profile does not compare; ``headline`` is one line."""

    name: str
    headline: str
    verdict: str
    measured: str
    gap: Slowdown | None
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
    found: Ranking,
    rows: Sequence[Row],
    comparison: Comparison,
    places: Places,
    budget: PageBudget,
) -> Iterator[Explained]:
    """Compare the rows of a table with the fastest row of a ranking, if the page has room."""
    target = comparison.gradient_target if found.quantity == "gradient" else comparison.solve_target

    def side(row: Row) -> Side:
        return Side(row, places.traces.get(row.summary.cell_id, ()))

    for row in rows:
        if not budget.draws(row.summary) or row is found.fastest or time_of(row, found.quantity).seconds is None:
            continue
        standing = found.standing(row)
        between = explain_slowdown(found.fastest, row, target, found.quantity)
        yield Explained(
            name=row.name,
            headline=_headline(between, standing),
            verdict=standing.judgement.verdict.value if standing else "",
            measured=_measured(standing),
            gap=between,
            items=checklist(side(found.fastest), side(row), target, found.quantity),
            places=(places.entry(found.fastest.summary.cell_id), places.entry(row.summary.cell_id)),
        )


def _measured(standing: PairwiseVerdict | None) -> str:
    """The ratio with its interval, over how many blocks."""
    if standing is None:
        return ""
    ratio = standing.judgement.ratio
    if ratio.n < 2:
        return f"ratio {formatting.ratio(ratio.estimate)}, one block: no interval"
    interval = f"{formatting.ratio(ratio.low)}–{formatting.ratio(ratio.high)}"
    p = standing.judgement.adjusted_p
    chance = "below 0.001" if p < 0.001 else f"{p:.3f}"
    return f"ratio {formatting.ratio(ratio.estimate)} [{interval}] over {ratio.n} blocks, adjusted p {chance}"


def _headline(between: Slowdown | None, standing: PairwiseVerdict | None) -> str:
    """The explanation of the ratio comes before the word slower."""
    if between is None:
        return "no time at the target"
    ratio = standing.judgement.ratio.estimate if standing else between.ratio
    first = between.sentences[0].rstrip(".")
    times = f"takes {formatting.ratio(ratio)} times as long"
    if standing is None or standing.judgement.verdict is Verdict.UNDECIDED:
        times += ", which is not decided" if standing else ""
    elif standing.judgement.verdict is Verdict.SAME:
        return "the same within 5 %"
    return f"{times}: {first[0].lower()}{first[1:]}" if between.counted else times
