"""Break-even: the total cost of a number of gradients, including the time before the first one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from sciml_bench.analysis.advice.break_even import cost, find_break_even
from sciml_bench.analysis.rows import Row
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables import formatting
from sciml_bench.charts import scales
from sciml_bench.charts.axes import Axes
from sciml_bench.charts.backend import Backend
from sciml_bench.charts.chart import Chart, chart_name
from sciml_bench.charts.kind import ProblemKind
from sciml_bench.charts.layout import Grid, LegendLine, failed_strip, title
from sciml_bench.charts.line_names import End, LineNames
from sciml_bench.charts.problem_data import ProblemData, ending, label, places
from sciml_bench.stats.break_even import Cost

NUMBERS = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
"""The numbers of gradients for which the data gives the total."""


@dataclass(frozen=True)
class Costs:
    """Recommended cells that have a cost, and any other that is ever the cheapest; the rest with the reason.

    ``cheapest`` says from how many gradients on which cell is the cheapest of all that ran.
    """

    costs: tuple[tuple[CellSummary, Cost], ...]
    without: tuple[tuple[CellSummary, str], ...]
    cheapest: tuple[tuple[int, CellSummary], ...]


def _made(data: ProblemData) -> Iterator[Chart]:
    """A chart of a problem with at least two cells that have both a first and a steady gradient."""
    shown = _costs(data)
    if len(shown.costs) > 1:
        yield _chart(data, shown)


def _chart(data: ProblemData, shown: Costs) -> Chart:
    return Chart(
        kind="break-even",
        name=chart_name("break-even", data.problem),
        title=f"{data.title}: total time against the number of gradients",
        alt=_alt(data, shown),
        method=(
            "The total for n gradients is the median time from process start to the first gradient plus n − 1 times "
            f"the median time per gradient in the steady state, {_target(data)}, over {data.processes}. Drawn are the "
            "recommended ways and the ways that are cheapest for any n. The bar below the curves shows which of all "
            "measured ways is the cheapest."
        ),
        columns=("cell", "first_gradient_s", "each_further_s", *(f"total_{n}_s" for n in NUMBERS),
                 "cheapest_from", "why_not", "records"),
        rows=tuple(_rows(shown)),
        draw=lambda backend: _draw(backend, data, shown),
    )  # fmt: skip


def _costs(data: ProblemData) -> Costs:
    rows = {row.summary.cell_id: row for row in data.comparison.rows}
    known = {cell_id: of_row for cell_id, row in rows.items() if (of_row := cost(row)) is not None}
    chosen = find_break_even(data.comparison.rows)
    cheapest: list[tuple[int, CellSummary]] = []
    if chosen is not None:
        first = rows[min(known, key=lambda cell_id: known[cell_id].first_s)].summary
        overtakings = chosen.overtakings
        cheapest = [(1, overtakings[0].early.summary if overtakings else first)]
        cheapest += [(item.gradients, item.late.summary) for item in overtakings]
    winners = {cell.cell_id for _, cell in cheapest}
    drawn = [cell for cell in data.cells if cell.division == "idiomatic" or cell.cell_id in winners]
    return Costs(
        costs=tuple((cell, known[cell.cell_id]) for cell in drawn if cell.cell_id in known),
        without=tuple((cell, _reason(cell, rows.get(cell.cell_id))) for cell in drawn if cell.cell_id not in known),
        cheapest=tuple(cheapest),
    )


def _reason(cell: CellSummary, row: Row | None) -> str:
    if cell.first_gradient_process is None:
        return ending(cell)
    return row.gradient.reason if row is not None and row.gradient.reason else "no time per gradient"


def _target(data: ProblemData) -> str:
    target = data.comparison.gradient_target
    if target.digits is not None:
        return f"read off at a relative error of {formatting.error(10.0**-target.digits)}"
    return f"at a relative tolerance of {formatting.tolerance(target.rtol)}" if target.rtol is not None else "measured"


def _rows(shown: Costs) -> Iterator[tuple[object, ...]]:
    cheapest = {cell.cell_id: gradients for gradients, cell in shown.cheapest}
    for cell, of_cell in shown.costs:
        totals = [of_cell.total_s(n) for n in NUMBERS]
        from_n = cheapest.get(cell.cell_id)
        yield (label(cell), of_cell.first_s, of_cell.each_s, *totals, from_n, None, places(cell))
    for cell, reason in shown.without:
        yield (label(cell), *(None,) * (len(NUMBERS) + 3), reason, places(cell))


def _alt(data: ProblemData, shown: Costs) -> str:
    said = [f"Total time against the number of gradients of {data.title}."]
    if shown.cheapest:
        first = f"The cheapest is {label(shown.cheapest[0][1])} from the first gradient on"
        later = [f"{label(cell)} from {formatting.count(gradients)} on" for gradients, cell in shown.cheapest[1:]]
        said.append(f"{'; '.join([first, *later])}.")
    return " ".join(said)


def _furthest(shown: Costs) -> float:
    """log10 of the largest number of gradients that is drawn: well past the last overtaking."""
    last = max((gradients for gradients, _ in shown.cheapest), default=1)
    return min(max(4.0, math.ceil(math.log10(last)) + 1.0), 9.0)


def _draw(backend: Backend, data: ProblemData, shown: Costs) -> None:
    cells = (*((cell, "") for cell, _ in shown.costs), *shown.without)
    names = LineNames([LegendLine(data.style(cell), label(cell) + (f": {why}" if why else "")) for cell, why in cells])
    grid = Grid(1, names.below_in, right_in=names.right_in, cautioned=bool(data.caution))
    grid.open(backend)
    title(backend, f"{data.title}: total time against the number of gradients", data.caution)
    last = _furthest(shown)
    low, high = scales.log_limits([math.log10(c.total_s(round(10**n))) for _, c in shown.costs for n in (0.0, last)])
    x_limits, y_limits = (-0.05, last), (low - 0.06 * (high - low), high)
    axes = grid.axes(backend, 0)
    axes.limits(x=x_limits, y=y_limits)
    axes.x_axis(scales.named_ticks(x_limits, scales.count_tick), "gradients")
    axes.y_axis(scales.named_ticks(y_limits, scales.duration_tick), "total time")
    _draw_panel(axes, data, shown)
    ends: list[End] = [(last, math.log10(cost.total_s(round(10**last)))) for _, cost in shown.costs]
    names.draw(backend, axes, [*ends, *(None for _ in shown.without)])


def _draw_panel(axes: Axes, data: ProblemData, shown: Costs) -> None:
    last = axes.x_limits[1]
    numbers = [last * step / 24 for step in range(25)]
    for cell, of_cell in shown.costs:
        totals = [of_cell.first_s + (10**log_n - 1) * of_cell.each_s for log_n in numbers]
        axes.line(numbers, [math.log10(total) for total in totals], **data.style(cell).look(markevery=6))
    if shown.without:
        failed_strip(axes, [data.style(cell) for cell, _ in shown.without])
    low, high = axes.y_limits
    edges = [*(math.log10(gradients) for gradients, _ in shown.cheapest), last]
    for (start, end), (gradients, cell) in zip(pairwise(edges), shown.cheapest, strict=True):
        axes.boxes([(start, low, end - start, 0.035 * (high - low))], data.style(cell).colour)
        # In grey the colours of the strip are one; its markers are not.
        marker = data.style(cell).look(linestyle="", markerfacecolor="white", markersize=5)
        axes.line([(start + end) / 2], [low + 0.0175 * (high - low)], **marker)
        if gradients > 1:
            axes.segments([(start, low, start, high)], linewidth=0.8, linestyle=(0, (3, 2)), alpha=0.7)
            axes.text(start + 0.015 * last, high - 0.04 * (high - low), formatting.count(gradients))


BREAK_EVEN = ProblemKind(
    name="break-even",
    shows="total time against the number of gradients",
    needs="it takes two cells with both a first gradient and a time per gradient",
    make=_made,
)
