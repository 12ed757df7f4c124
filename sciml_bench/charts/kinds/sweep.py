"""Scaling of a sweep: a quantity against the size that the run goes over, a line for each cell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from sciml_bench.analysis.summary import RunSummary
from sciml_bench.analysis.sweep import SweepRow, SweepTable, sweep_tables
from sciml_bench.analysis.tables import formatting, sweep
from sciml_bench.charts import scales
from sciml_bench.charts.axes import Axes
from sciml_bench.charts.backend import Backend
from sciml_bench.charts.chart import Chart, chart_name, clean
from sciml_bench.charts.layout import Grid, LegendLine, failed_strip, title
from sciml_bench.charts.line_names import End, LineNames
from sciml_bench.charts.problem_data import listed, places
from sciml_bench.charts.style import Palette, Style, configuration
from sciml_bench.stats.spread import Spread

Place = tuple[float, Spread]

_COLUMNS = {
    "solve": "solve_s", "gradient": "gradient_s", "memory": "working_bytes", "process": "peak_bytes",
    "steps": "steps", "evaluations": "evaluations",
}  # fmt: skip


def sweep_charts(summary: RunSummary, palette: Palette) -> Iterator[Chart]:
    """A chart for each table of a sweep in which a cell has numbers at two sizes at least."""
    for number, table in enumerate(sweep_tables(summary)):
        if any(len(_known(row)) > 1 for row in table.rows):
            yield _chart(table, palette, number)


def _chart(table: SweepTable, palette: Palette, number: int) -> Chart:
    caption = clean(sweep.caption(table), 110)
    column = _COLUMNS[table.quantity]
    return Chart(
        kind="scaling",
        name=chart_name("scaling", table.quantity, table.axis.of, table.axis.over, str(number)),
        title=f"{clean(table.axis.of, 40)}: {caption}",
        alt=_alt(table),
        method=(
            "Every size is a separate problem, made from one file by changing one number; all were measured in the "
            "same blocks. The median over processes; the vertical line spans the smallest and the largest. "
            f"{sweep.reading_help([table])}"
        ),
        columns=(
            "set", "solver", "size", column, f"least_process_{column}", f"most_process_{column}", "why_not", "records",
        ),
        rows=tuple(_rows(table)),
        draw=lambda backend: _draw(backend, palette, table),
    )  # fmt: skip


def _rows(table: SweepTable) -> Iterator[tuple[object, ...]]:
    for row in table.rows:
        for size, value in row.values.items():
            cell = row.solver.cells.get(table.axis.problems[size])
            spread = value.spread
            known = (None,) * 3 if spread is None else (spread.median, spread.minimum, spread.maximum)
            reason = value.reason if spread is None else None
            told = 1.0 / size if table.axis.tolerance else int(size)
            yield (table.contest.name, row.solver.name, told, *known, reason, places(cell) if cell else "")


def _known(row: SweepRow) -> list[Place]:
    return [(size, value.spread) for size, value in row.values.items() if value.spread is not None]


def _alt(table: SweepTable) -> str:
    grown = [f"{row.solver.name} exponent {sweep.power_text(row.power)}" for row in table.rows if row.power is not None]
    crossed = [line for line in sweep.notes(table) if "faster" in line]
    told = f" {listed(grown, 6)}." if grown else ""
    return f"{sweep.caption(table)}.{told} {' '.join(f'{line}.' for line in crossed[:3])}".strip()


def _draw(backend: Backend, palette: Palette, table: SweepTable) -> None:
    shown = [(palette.style(configuration(row.solver.cell)), row) for row in table.rows]
    names = LineNames([LegendLine(style, _told(table, row)) for style, row in shown])
    grid = Grid(1, names.below_in, right_in=names.right_in, cautioned=True)
    grid.open(backend)
    what, _, more = sweep.caption(table).replace("; ", ", ").partition(", ")
    title(backend, clean(f"{table.axis.of}: {what}", 80), clean(more, 110))
    axes = grid.axes(backend, 0)
    known = [place for row in table.rows for place in _known(row)]
    x_limits = scales.log_limits([math.log10(size) for size, _ in known], least=0.5)
    y_limits = scales.log_limits([math.log10(value) for _, of in known for value in (of.minimum, of.maximum)])
    axes.limits(x=x_limits, y=y_limits)
    # The sizes measured are few, and their own best ticks.
    ticks = {math.log10(size): sweep.size_text(table.axis, size) for size in table.axis.sizes}
    axes.x_axis(ticks, "rtol" if table.axis.tolerance else table.axis.unit)
    axes.y_axis(scales.named_ticks(y_limits, _tick(table)), _label(table))
    for style, row in shown:
        draw_line(axes, style, _known(row))
    failing = [style for style, row in shown if len(_known(row)) < len(row.values)]
    if failing:
        failed_strip(axes, failing)
    names.draw(backend, axes, [_end(row) for _, row in shown])


def _end(row: SweepRow) -> End:
    return max(((math.log10(size), math.log10(of.median)) for size, of in _known(row)), default=None)


def _tick(table: SweepTable) -> Callable[[float], str]:
    if table.quantity in ("solve", "gradient"):
        return scales.duration_tick
    return (lambda log: formatting.size(10.0**log)) if table.quantity in ("memory", "process") else scales.count_tick


def _label(table: SweepTable) -> str:
    return sweep.caption(table).partition(" against ")[0]


def draw_line(axes: Axes, style: Style, known: Sequence[Place]) -> None:
    """The medians at each size, joined, and for each a line from the smallest to the largest process."""
    if not known:
        return
    xs = [math.log10(size) for size, _ in known]
    axes.line(xs, [math.log10(spread.median) for _, spread in known], **style.look())
    ends = [(math.log10(spread.minimum), math.log10(spread.maximum)) for _, spread in known]
    axes.segments([(x, low, x, high) for x, (low, high) in zip(xs, ends, strict=True)], style.colour, alpha=0.7)


def _told(table: SweepTable, row: SweepRow) -> str:
    missing = [sweep.size_text(table.axis, size) for size, value in row.values.items() if value.spread is None]
    power = "" if row.power is None else f" (k = {row.power.exponent:.2f})"
    return f"{row.solver.name}{power}" + (f": none at {', '.join(missing)}" if missing else "")
