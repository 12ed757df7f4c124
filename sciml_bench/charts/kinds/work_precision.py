"""Work–precision: time against the error that was achieved, for solves and for gradients.

As in Hairer & Wanner 1996 (*Solving Ordinary Differential Equations II*, §IV.10) and in the diagrams of
SciMLBenchmarks: one line per cell, one point per tolerance, both axes logarithmic.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from sciml_bench.analysis.process_summary import PointSummary, ProcessSummary
from sciml_bench.analysis.rows import Row, Time
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables import formatting
from sciml_bench.charts import scales
from sciml_bench.charts.axes import Axes
from sciml_bench.charts.backend import Backend
from sciml_bench.charts.chart import Chart, chart_name
from sciml_bench.charts.kind import ProblemKind
from sciml_bench.charts.layout import Grid, LegendLine, failed_strip, joined, title
from sciml_bench.charts.line_names import End, LineNames
from sciml_bench.charts.markers import AT_MOST
from sciml_bench.charts.problem_data import Panel, ProblemData, Section, label, listed, places
from sciml_bench.record.outcome import Outcome

COLUMNS = (
    "division", "cell", "rtol", "error", "error_is_a_bound", "time_s", "fastest_process_s", "slowest_process_s",
    "outcomes", "records",
)  # fmt: skip


@dataclass(frozen=True)
class Quantity:
    """The drawn quantity: solves or gradients."""

    kind: str
    call: str
    axis: str
    of_error: str
    seconds: Callable[[PointSummary], float | None]
    error: Callable[[PointSummary], float | None]
    bounded: Callable[[PointSummary], bool]
    time: Callable[[Row], Time]


SOLVES = Quantity(
    kind="work-precision",
    call="solve",
    axis="error of the solution (mixed, largest over the saved times)",
    of_error="the largest mixed error over all saved times",
    seconds=lambda point: point.solve.seconds,
    error=lambda point: None if point.mescd is None else 10.0**-point.mescd,
    bounded=lambda point: point.solve.below_reference,
    time=lambda row: row.solve,
)
GRADIENTS = Quantity(
    kind="gradient-precision",
    call="gradient",
    axis="relative error of the gradient (d loss / d log p)",
    of_error="the relative error of d loss / d log p",
    seconds=lambda point: point.gradient.seconds,
    error=lambda point: point.gradient_error,
    bounded=lambda point: point.gradient.below_reference,
    time=lambda row: row.gradient,
)


@dataclass(frozen=True)
class Dot:
    """One tolerance of one cell over its processes. ``error`` is ``None`` without a reference."""

    rtol: float
    error: float | None
    bound: bool
    time_s: float
    fastest_s: float
    slowest_s: float


@dataclass(frozen=True)
class Line:
    """One cell: its dots from loose to tight, and how all points of its processes ended."""

    cell: CellSummary
    dots: tuple[Dot, ...]
    failed: tuple[tuple[str, int], ...]
    points: int

    @property
    def failures(self) -> str:
        """Return how many points failed and how, such as ``timeout 2 of 9``; empty when none did."""
        return ", ".join(f"{name} {count} of {self.points}" for name, count in self.failed)


def _charts(data: ProblemData, quantity: Quantity) -> Iterator[Chart]:
    for section in data.sections():
        chart = _chart(data, section, quantity)
        if chart is not None:
            yield chart


def _chart(data: ProblemData, section: Section, quantity: Quantity) -> Chart | None:
    lines = {panel.title: tuple(_line(cell, quantity) for cell in panel.cells) for panel in section.panels}
    every = [line for of_panel in lines.values() for line in of_panel]
    if not any(line.dots for line in every):
        return None
    known = any(dot.error is not None for line in every for dot in line.dots)
    words = f"{quantity.call} against {'error' if known else 'tolerance'}"
    return Chart(
        kind=quantity.kind,
        name=chart_name(quantity.kind, data.problem, "" if section.name == "idiomatic" else section.name),
        title=f"{data.title}: time per {words}, {section.name}",
        alt=_alt(data, section, quantity, every, words),
        method=_method(data, quantity, known),
        columns=COLUMNS,
        rows=tuple(row for panel in section.panels for row in _rows(panel, section, lines[panel.title], quantity)),
        draw=lambda backend: _draw(backend, data, section, lines, quantity, known),
    )


def _line(cell: CellSummary, quantity: Quantity) -> Line:
    rtols = sorted({point.rtol for point in cell.points}, reverse=True)
    dots = (_dot(rtol, [point for point in cell.points if point.rtol == rtol], quantity) for rtol in rtols)
    failed = Counter(ending for point in cell.points if (ending := _ending(point, quantity)) != "ok")
    points = len(cell.points)
    if not points:
        # A process that ended before its first tolerance counts as one failed point.
        failed.update(process.outcome.value for process in cell.processes)
        points = len(cell.processes)
    return Line(cell, tuple(dot for dot in dots if dot is not None), tuple(failed.most_common()), points)


def _ending(point: PointSummary, quantity: Quantity) -> str:
    """Return how the half of a point that is drawn ended."""
    if quantity.seconds(point) is not None:
        return Outcome.OK.value
    return "no time" if point.outcome is Outcome.OK else point.outcome.value


def _dot(rtol: float, points: Sequence[PointSummary], quantity: Quantity) -> Dot | None:
    times = [seconds for point in points if (seconds := quantity.seconds(point))]
    if not times:
        return None
    timed = [point for point in points if quantity.seconds(point)]
    errors = [error for point in timed if (error := quantity.error(point))]
    return Dot(
        rtol=rtol,
        error=median(errors) if errors else None,
        bound=any(quantity.bounded(point) for point in timed),
        time_s=median(times),
        fastest_s=min(times),
        slowest_s=max(times),
    )


def _rows(panel: Panel, section: Section, lines: Sequence[Line], quantity: Quantity) -> Iterator[tuple[object, ...]]:
    division = f"{section.name}: {panel.title}" if panel.title else section.name
    for line in lines:
        dots = {dot.rtol: dot for dot in line.dots}
        for rtol in sorted({point.rtol for point in line.cell.points}, reverse=True):
            dot = dots.get(rtol)
            known = (dot.error, dot.bound, dot.time_s, dot.fastest_s, dot.slowest_s) if dot else (None,) * 5
            taken = [process for process in line.cell.processes if any(point.rtol == rtol for point in process.points)]
            yield (
                division, label(line.cell), rtol, *known, _endings(taken, rtol, quantity), places(line.cell, taken)
            )  # fmt: skip
        if not line.cell.points:
            yield (division, label(line.cell), *(None,) * 6, line.failures, places(line.cell))


def _endings(processes: Sequence[ProcessSummary], rtol: float, quantity: Quantity) -> str:
    points = (point for process in processes for point in process.points if point.rtol == rtol)
    counts = Counter(_ending(point, quantity) for point in points)
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


def _alt(data: ProblemData, section: Section, quantity: Quantity, lines: Sequence[Line], words: str) -> str:
    cells = {line.cell.cell_id for line in lines}
    rows = [row for row in data.comparison.rows if row.summary.cell_id in cells]
    timed = [(seconds.median, row) for row in rows if (seconds := quantity.time(row).seconds) is not None]
    said = [f"Time per {words} of {data.title} ({section.name}: {section.meaning}), {len(lines)} cells."]
    if timed:
        timed.sort(key=lambda item: item[0])
        fastest, slowest = timed[0], timed[-1]
        said.append(f"{_target(data, quantity)} the fastest is {_told(*fastest)}")
        said[-1] += f", the slowest {_told(*slowest)}." if slowest is not fastest else "."
    failed = [f"{label(line.cell)} ({line.failures})" for line in lines if line.failed]
    if failed:
        said.append(f"Failed points: {listed(failed, 6)}.")
    return " ".join(said)


def _target(data: ProblemData, quantity: Quantity) -> str:
    comparison = data.comparison
    target = comparison.solve_target if quantity is SOLVES else comparison.gradient_target
    if target.digits is not None:
        return f"At an error of {formatting.error(10.0**-target.digits)}"
    return f"At a relative tolerance of {formatting.tolerance(target.rtol)}" if target.rtol is not None else "Of these"


def _told(seconds: float, row: Row) -> str:
    return f"{label(row.summary)} with {formatting.duration(seconds)}"


def _method(data: ProblemData, quantity: Quantity, known: bool) -> str:
    against = (
        f"{quantity.of_error} against the problem's reference"
        if known
        else "its tolerance, because the problem has no reference for errors"
    )
    return (
        f"A point is one tolerance: the median over {data.processes} of each process's median time per "
        f"{quantity.call} in the steady state, and {against}; the vertical line spans the fastest and the slowest "
        "process. An arrow marks an error that is too small for the reference to resolve. Points that failed, or "
        "missed the error bound, have no time and are drawn at the margin."
    )


def _draw(
    backend: Backend,
    data: ProblemData,
    section: Section,
    lines: dict[str, tuple[Line, ...]],
    quantity: Quantity,
    known: bool,
) -> None:

    every = [line for panel in section.panels for line in lines[panel.title]]
    names = LineNames(
        [
            LegendLine(data.style(line.cell), label(line.cell) + (f": {line.failures}" if line.failed else ""))
            for line in every
        ],
        len(section.panels),
    )
    grid = Grid(len(section.panels), names.below_in, cautioned=bool(data.caution), right_in=names.right_in)
    grid.open(backend)
    only = section.panels[0].title if grid.single else ""
    text = f"{data.title}: time per {quantity.call} against its error, {section.name}"
    title(backend, joined(text, only), data.caution)
    dots = [dot for line in every for dot in line.dots]
    xs = [math.log10(_x(dot, known)) for dot in dots if _has_x(dot, known)]
    x_limits = scales.log_limits(xs or [0.0])
    y_limits = scales.log_limits([math.log10(value) for dot in dots for value in (dot.fastest_s, dot.slowest_s)])
    panes = [grid.axes(backend, place) for place in range(len(section.panels))]
    for place, (panel, axes) in enumerate(zip(section.panels, panes, strict=True)):
        axes.limits(x=x_limits, y=y_limits)
        grid.title(axes, panel.title)
        x_label = (quantity.axis if grid.single else "error") if known else "relative tolerance"
        axes.x_axis(scales.named_ticks(x_limits, scales.power_tick), x_label)
        y_label = f"time per {quantity.call}" if grid.leftmost(place) else ""
        axes.y_axis(scales.named_ticks(y_limits, scales.duration_tick), y_label)
        _draw_lines(axes, data, lines[panel.title], known)
    names.draw(backend, panes[0], [_end(line, known) for line in every])


def _end(line: Line, known: bool) -> End:
    """The right end of a line."""
    places = [(math.log10(_x(dot, known)), math.log10(dot.time_s)) for dot in line.dots if _has_x(dot, known)]
    return max(places, default=None)


def _x(dot: Dot, known: bool) -> float:
    return (dot.error or 1.0) if known else dot.rtol


def _has_x(dot: Dot, known: bool) -> bool:
    return not known or dot.error is not None


def _draw_lines(axes: Axes, data: ProblemData, lines: Sequence[Line], known: bool) -> None:
    for line in lines:
        style = data.style(line.cell)
        dots = sorted((dot for dot in line.dots if _has_x(dot, known)), key=lambda dot: -dot.rtol)
        xs = [math.log10(_x(dot, known)) for dot in dots]
        ys = [math.log10(dot.time_s) for dot in dots]
        if dots:
            axes.line(xs, ys, **style.look())
        spread = [
            (x, math.log10(dot.fastest_s), x, math.log10(dot.slowest_s))
            for x, dot in zip(xs, dots, strict=True)
            if dot.slowest_s > dot.fastest_s
        ]
        if spread:
            axes.segments(spread, style.colour, alpha=0.7)
        bounds = [(x, y) for x, y, dot in zip(xs, ys, dots, strict=True) if known and dot.bound]
        if bounds:
            left, up = zip(*bounds, strict=True)
            axes.line(left, up, linestyle="", marker=AT_MOST, color=style.colour, markersize=9)
    without_x = [line for line in lines if line.failed or any(not _has_x(dot, known) for dot in line.dots)]
    if without_x:
        failed_strip(axes, [data.style(line.cell) for line in without_x])


WORK_PRECISION = ProblemKind(
    name=SOLVES.kind,
    shows="time per solve against the error of the solution",
    needs="no solve was within its error bound, so no time is shown",
    make=lambda data: _charts(data, SOLVES),
    of_models=False,
)
GRADIENT_PRECISION = ProblemKind(
    name=GRADIENTS.kind,
    shows="time per gradient against the error of the gradient",
    needs="no gradient was within its error bound, so no time is shown",
    make=lambda data: _charts(data, GRADIENTS),
    of_models=False,
)
