"""The answer to "what should I take?" as lines of a terminal, and as JSON."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from sciml_bench.analysis.advice.recommendation import Recommendation, Way
from sciml_bench.analysis.tables.recommendation import recommendation_table
from sciml_bench.render.terminal import console_for, print_lines, print_table

_LONGEST_REASON = 100
_REASONS = 6


def print_recommendation(found: Recommendation, stream: TextIO | None = None) -> None:
    """Print the sentences, the ranked table of all ways with a cost, and what failed or was not tried."""
    console = console_for(stream or sys.stdout)
    print_lines(["", *found.sentences], console)
    if found.ways:
        print_table(recommendation_table(found), console)
    print_lines([*_failures(found), *_untried(found)], console)


def _ways(count: int) -> str:
    return "1 way" if count == 1 else f"{count} ways"


def _untried(found: Recommendation) -> Iterator[str]:
    if found.untried:
        expected = "expected to be slower, or out of time" if found.ways else "out of time"
        yield f"Not tried: {_ways(found.untried)} ({expected})."
    if found.refused:
        yield f"Cannot run this problem: {_ways(sum(found.refused.values()))}; --json lists the reasons."
    for name, reason in found.absent.items():
        yield f"Not installed: {name}: {_shortened(reason)}"


def _failures(found: Recommendation) -> Iterator[str]:
    if not found.failed:
        return
    yield ""
    have, were = ("has", "was") if len(found.failed) == 1 else ("have", "were")
    stopped = f", or took far longer than the best one and {were} stopped" if found.ways else ""
    yield f"{_ways(len(found.failed))} {have} no {found.advised.call} at this accuracy{stopped}:"
    for reason, count in Counter(_shortened(way.reason) for way in found.failed).most_common(_REASONS):
        names = [way.name for way in found.failed if _shortened(way.reason) == reason]
        yield f"  {', '.join(names[:3])}{f' and {count - 3} more' if count > 3 else ''}: {reason}"
    if found.ways:
        yield from (f"  {line}" for line in found.cured)


def _shortened(reason: str) -> str:
    line = " ".join(reason.split())
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 1] + "…"


def recommendation_document(found: Recommendation, folders: Sequence[str]) -> dict[str, Any]:
    """Return the answer as JSON values, with the folders of its runs."""
    return {**advised_document(found), "runs": list(folders)}


def advised_document(found: Recommendation) -> dict[str, Any]:
    """The recommendation as JSON values, with numbers unrounded; times in seconds."""
    return {
        "problem": found.problem,
        "call": found.advised.call,
        "count": found.advised.count,
        "accuracy": found.advised.accuracy,
        "requested": found.advised.requested or found.advised.accuracy,
        "sentences": list(found.sentences),
        "decided": found.standing.decided,
        "tied": [way.cell.label for way in found.tied],
        "blocks": found.blocks,
        "ways": [_document(way, found) for way in found.ways],
        "failed": [{"cell": way.cell.label, "reason": way.reason} for way in found.failed],
        "cured": list(found.cured),
        "untried": found.untried,
        "refused": dict(found.refused),
        "absent": dict(found.absent),
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
