"""The ranked table of all ways of a problem with a cost at the asked accuracy."""

from __future__ import annotations

from collections.abc import Sequence

from sciml_bench.analysis.advice.recommendation import Recommendation
from sciml_bench.analysis.advice.way import Way
from sciml_bench.analysis.tables import formatting
from sciml_bench.analysis.tables.table import Column, Entry, Table, Unit, error_entry, seconds_entry

FEW = 6
"""The number of ways shown next to other tables."""


def recommendation_table(found: Recommendation, most: int | None = None) -> Table:
    """A line for each way, the one to take first; at most ``most`` lines."""
    shown = found.ways[:most]
    left = len(found.ways) - len(shown)
    return _table(found, shown, f"{left} more {'way costs' if left == 1 else 'ways cost'} more" if left else "")


def library_table(found: Recommendation) -> Table:
    """The best way of each library, the one to take first."""
    best = {way.cell.adapter: way for way in reversed(found.ways)}
    shown = [way for way in found.ways if best[way.cell.adapter] is way]
    left = len(found.ways) - len(shown)
    more = f"the best way of each library; {left} more {'way' if left == 1 else 'ways'} below"
    return _table(found, shown, more if left else "")


def _table(found: Recommendation, shown: Sequence[Way], note: str) -> Table:
    counts = [f"total of {formatting.count(n)}" for n in found.counts]
    return Table(
        caption=f"{found.problem}: ways at a relative error of {formatting.tolerance(found.advised.accuracy)}",
        columns=(
            Column("way"),
            Column("first", True, unit=Unit.SECONDS, rank=1),
            Column(f"each {found.advised.call}", True, unit=Unit.SECONDS),
            Column("rtol", True, rank=2),
            Column("error", True, unit=Unit.ERROR, rank=3),
            *(
                Column(text, True, unit=Unit.SECONDS, rank=0 if n == found.advised.count else 4)
                for n, text in zip(found.counts, counts, strict=True)
            ),
            Column("against the first"),
        ),
        rows=tuple(_entries(way, found) for way in shown),
        notes=(note,) if note else (),
    )


def _entries(way: Way, found: Recommendation) -> tuple[Entry, ...]:
    totals = [way.cost.total_s(n) if way.cost else None for n in found.counts]
    return (
        Entry(way.name),
        seconds_entry(way.first),
        seconds_entry(way.each, at_most=way.at_most),
        Entry(formatting.NOTHING if way.rtol is None else formatting.tolerance(way.rtol), value=way.rtol),
        error_entry(way.error),
        *(Entry(formatting.duration(total), value=total) for total in totals),
        Entry(_against(way, found)),
    )


def _against(way: Way, found: Recommendation) -> str:
    if way is found.ways[0]:
        return "take this" if found.standing.decided or len(found.ways) == 1 else "take this for now"
    if not way.factor_text:
        return ""
    return f"×{way.factor_text}" + ("" if way.raced else ", looked at once")
