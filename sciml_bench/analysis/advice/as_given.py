"""The cost of a function as its user gave it, next to the recommendation: the gain of emitted code and gradients."""

from __future__ import annotations

from sciml_bench.adapters.as_given import NAME
from sciml_bench.analysis.advice.recommendation import Recommendation
from sciml_bench.analysis.failures import one_line
from sciml_bench.analysis.tables import formatting


def as_given(found: Recommendation) -> str:
    """One line on the best way of the function as it is; empty if none was looked at."""
    ways = [way for way in found.ways if way.cell.adapter == NAME]
    failed = [way for way in found.failed if way.cell.adapter == NAME]
    if ways and ways[0] is found.ways[0]:
        return f"Your function as it is, in {_in(ways[0].name)}, is the first way: nothing is gained by emitted code."
    if ways:
        each = formatting.duration(ways[0].each.median if ways[0].each else None)
        return (
            f"Your function as it is, in {_in(ways[0].name)}, takes {each} per {found.advised.call}, and in all "
            f"{ways[0].factor_text} times as long as the first way."
        )
    if failed:
        return f"Your function as it is fails in {_in(failed[0].name)}: {one_line(failed[0].reason)}."
    return ""


def _in(name: str) -> str:
    return name.removeprefix(f"{NAME} ")
