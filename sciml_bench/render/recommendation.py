"""The answer to "what should I take?" as lines of a terminal, and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from sciml_bench.analysis import quantities
from sciml_bench.analysis.recommendation import Recommendation, Way

_LONGEST_REASON = 100
_REASONS = 6


def recommendation_lines(found: Recommendation) -> Iterator[str]:
    """The sentences, the ranked table of all ways with a cost, and what failed."""
    yield ""
    yield from found.sentences
    if found.ways:
        yield ""
        yield from _table(found)
    yield from _failures(found)
    if found.untried:
        yield f"Not looked at, since time was up: {found.untried} ways. More time: --within."


def _table(found: Recommendation) -> Iterator[str]:
    counts = [quantities.count(n) for n in found.counts]
    head = ["way", "first", f"each {found.advised.call}", "rtol", "error", *(f"total of {n}" for n in counts), ""]
    rows = [head, *(_row(way, found) for way in found.ways)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        name, *numbers, last = row
        cells = [name.ljust(widths[0]), *(text.rjust(width) for text, width in zip(numbers, widths[1:-1], strict=True))]
        yield "  ".join([*cells, last]).rstrip()


def _row(way: Way, found: Recommendation) -> list[str]:
    totals = [quantities.duration(way.cost.total_s(n)) if way.cost else quantities.NOTHING for n in found.counts]
    each = quantities.duration(way.each.median if way.each else None)
    return [
        way.name,
        quantities.duration(way.first.median if way.first else None),
        f"≤ {each}" if way.at_most else each,
        quantities.NOTHING if way.rtol is None else quantities.tolerance(way.rtol),
        quantities.error(way.error),
        *totals,
        _verdict(way, found),
    ]


def _verdict(way: Way, found: Recommendation) -> str:
    if way is found.ways[0]:
        return "take this" if found.standing.decided or len(found.ways) == 1 else "take this for now"
    if way.factor is None:
        return ""
    factor = f"×{quantities.ratio(way.factor)}"
    if not way.raced:
        return f"{factor}, looked at once"
    interval = "" if way.interval is None else f" [{', '.join(map(quantities.ratio, way.interval))}]"
    return factor + interval


def _failures(found: Recommendation) -> Iterator[str]:
    if not found.failed:
        return
    yield ""
    yield f"Without a {found.advised.call} at this accuracy: {len(found.failed)} ways"
    for reason, count in Counter(_shortened(way.reason) for way in found.failed).most_common(_REASONS):
        names = [way.name for way in found.failed if _shortened(way.reason) == reason]
        yield f"  {', '.join(names[:3])}{f' and {count - 3} more' if count > 3 else ''}: {reason}"
    yield from (f"  {line}" for line in found.cured)


def _shortened(reason: str) -> str:
    line = " ".join(reason.split())
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 1] + "…"


def recommendation_document(found: Recommendation, folders: Sequence[str]) -> dict[str, Any]:
    """The same as JSON values, with numbers unrounded; times in seconds."""
    return {
        "problem": found.problem,
        "call": found.advised.call,
        "count": found.advised.count,
        "accuracy": found.advised.accuracy,
        "sentences": list(found.sentences),
        "decided": found.standing.decided,
        "tied": [way.cell.label for way in found.tied],
        "blocks": found.blocks,
        "ways": [_document(way, found) for way in found.ways],
        "failed": [{"cell": way.cell.label, "reason": way.reason} for way in found.failed],
        "cured": list(found.cured),
        "untried": found.untried,
        "runs": list(folders),
    }


def _document(way: Way, found: Recommendation) -> dict[str, Any]:
    return {
        "cell": way.cell.label,
        "first_s": None if way.first is None else way.first.median,
        "each_s": None if way.each is None else way.each.median,
        "each_is_at_most": way.at_most,
        "rtol": way.rtol,
        "error": way.error,
        "at_rtol_s": way.there_s,
        "totals_s": {str(n): way.cost.total_s(n) for n in found.counts} if way.cost else {},
        "blocks": way.raced,
        "factor": way.factor,
        "factor_interval": None if way.interval is None else list(way.interval),
    }
