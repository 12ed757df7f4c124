"""How gradients of a run were scored: components that were not judged like the others, and points of old rules."""

from __future__ import annotations

from collections.abc import Iterator

from sciml_bench.measure.point import MAX_STORED_COMPONENTS
from sciml_bench.report.summary import CellSummary, RunSummary

_MOST_NAMED = 5


def scoring(summary: RunSummary) -> Iterator[str]:
    """Sentences on the components of each problem's gradient that are unresolved or not certified, and on points that
    an earlier version scored."""
    for problem in summary.problems:
        cells = summary.of_problem(problem)
        uncertified = _names(cells, "uncertified")
        if uncertified:
            yield f"{problem}: {_listed(uncertified)} of the gradient: not certified in the reference, so not judged"
        unresolved = _names(cells, "unresolved")
        if unresolved:
            yield (
                f"{problem}: {_listed(unresolved)} of the gradient: zero, or below what the arithmetic resolves, so "
                "held against rounding and tolerance, not against its own size"
            )
    earlier = sum(
        point.gradient_error is not None
        for cell in summary.cells.values()
        for process in cell.processes
        if process.earlier_scoring
        for point in process.points
    )
    if earlier:
        yield (
            f"the gradients of {earlier} point{'s' * (earlier != 1)} were scored by an earlier version: their errors "
            "are those of d loss / d log p, of all components as one vector, weights of networks each by its own size, "
            "without components of theta that are zero; which component was worst was not kept, and the bound was that "
            "of the raw gradient"
        )


def _names(cells: list[CellSummary], kind: str) -> list[str]:
    points = (point for cell in cells for point in cell.points)
    return list(dict.fromkeys(name for point in points for name in getattr(point, kind)))


def _listed(names: list[str]) -> str:
    # A record keeps so many names at most, and there may be more.
    least = "at least " if len(names) >= MAX_STORED_COMPONENTS else ""
    more = f" and {least}{len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    word = "component" if len(names) == 1 else "components"
    return f"{word} {', '.join(names[:_MOST_NAMED])}{more}"
