"""Scoring of a run's gradients: components judged by different rules, and points of old rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sciml_bench.analysis.summary import CellSummary, RunSummary
from sciml_bench.analysis.tables import formatting
from sciml_bench.record.point import MAX_STORED_COMPONENTS

_MOST_NAMED = 5


def scoring(summary: RunSummary) -> Iterator[str]:
    """Sentences on the components of each problem's gradient that are unresolved, not certified, or off at every
    tolerance, and on points that earlier rules scored."""
    for problem in summary.problems:
        cells = summary.of_problem(problem)
        uncertified = _names(cells, "uncertified")
        if uncertified:
            yield (
                f"{problem}: {_listed(uncertified)} of the gradient: not certified in the reference, so checked by "
                "differences of the solver's own loss"
            )
        unresolved = _names(cells, "unresolved")
        if unresolved:
            yield (
                f"{problem}: {_listed(unresolved)} of the gradient: zero, or below what the arithmetic resolves, so "
                "compared with rounding and tolerance, not with its own size"
            )
        yield from filter(None, map(_stuck, cells))
    earlier = sum(
        point.gradient_error is not None
        for cell in summary.cells.values()
        for process in cell.processes
        if process.earlier_scoring
        for point in process.points
    )
    if earlier:
        yield (
            f"the gradients of {earlier} point{'s' * (earlier != 1)} were scored by earlier rules: their errors "
            "are errors of d loss / d log p, of all components as one vector, weights of networks each by its own "
            "size, without components of theta that are zero; which component was worst was not kept, and the bound "
            "was on the raw gradient"
        )


# A component is stuck if its error at the tightest tolerance is at least _OFF, a share of the worst one at a tolerance
# looser by a span, and a multiple of the whole gradient's. Right solvers show each, but never all.
_OFF, _SHARE, _SPAN, _APART = 1e-3, 0.5, 100.0, 100.0


def _stuck(cell: CellSummary) -> str:
    """A sentence on a component that stays wrong while the tolerance falls, which a norm does not show; or nothing."""
    for process in cell.processes:
        points = sorted(
            (
                (point.rtol, point.worst_component_error, point.gradient_error, point.worst_component)
                for point in process.points
                if point.worst_component_error is not None and point.gradient_error is not None
            ),
            key=lambda point: point[0],
        )
        looser = next((point for point in points if point[0] >= _SPAN * points[0][0]), None)
        if looser is None or looser[3] != points[0][3]:
            continue
        rtol, off, error, name = points[0]
        if off >= max(_OFF, _SHARE * looser[1], _APART * error):
            return (
                f"{cell.cell.label}: component {name} of the gradient is off by {formatting.error(off)} at rtol "
                f"{rtol:g}, and by {formatting.error(looser[1])} at {looser[0]:g}; it may be wrong, which the error of "
                f"the whole gradient, {formatting.error(error)}, does not show"
            )
    return ""


def _names(cells: list[CellSummary], kind: str) -> list[str]:
    points = (point for cell in cells for point in cell.points)
    return list(dict.fromkeys(name for point in points for name in getattr(point, kind)))


def _listed(names: list[str]) -> str:
    # A record keeps only a few names, and there may be more.
    least = "at least " if len(names) >= MAX_STORED_COMPONENTS else ""
    return f"{'component' if len(names) == 1 else 'components'} {first_names(names, least)}"


def first_names(names: Sequence[str], least: str = "") -> str:
    more = f" and {least}{len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"
