"""Scaling: time against size, for problems that are one problem at several sizes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sciml_bench.analysis.ranking import QUANTITIES
from sciml_bench.analysis.rows import Target, reading, work_points
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.sweep import axis_of
from sciml_bench.analysis.tables import formatting
from sciml_bench.charts import scales
from sciml_bench.charts.backend import Backend
from sciml_bench.charts.chart import Chart, chart_name, clean
from sciml_bench.charts.data import Contest, RunData
from sciml_bench.charts.kind import RunKind
from sciml_bench.charts.kinds.sweep import draw_line, sweep_charts
from sciml_bench.charts.layout import Grid, LegendLine, failed_strip, title
from sciml_bench.charts.line_names import End, LineNames
from sciml_bench.charts.problem_data import label, listed, places
from sciml_bench.charts.style import Configuration
from sciml_bench.stats.front import common_target
from sciml_bench.stats.spread import Spread, spread

_SIZE_AT_END = re.compile(r"-\d+$")


@dataclass(frozen=True)
class Dot:
    """One cell at one size: its seconds per call over the processes, or why there are none."""

    cell: CellSummary
    states: int
    seconds: Spread | None
    reason: str


@dataclass(frozen=True)
class Family:
    """One problem at several sizes, and every solver's times at one common accuracy."""

    name: str
    contest: str
    quantity: str
    target: Target
    solvers: Mapping[Configuration, tuple[Dot, ...]]


def _made(data: RunData) -> Iterator[Chart]:
    """A chart for each family, division and quantity in which a solver has times at two sizes at least.

    A run that is a sweep has its own axis, and its own sets of cells.
    """
    if axis_of(data.summary.plan) is not None:
        yield from sweep_charts(data.summary, data.palette)
        return
    for name, states in _families(data).items():
        for contest in data.contests:
            for quantity in QUANTITIES:
                found = _family(name, states, contest, quantity)
                if any(len(_timed(dots)) > 1 for dots in found.solvers.values()):
                    yield _chart(data, found)


def _families(data: RunData) -> dict[str, dict[str, int]]:
    """Problems whose names differ in a number at their end only, and whose sizes differ: their states by their name."""
    found: dict[str, dict[str, int]] = {}
    for problem in data.summary.plan.problems:
        size = problem.n_states
        if size is not None and size > 0:
            found.setdefault(_SIZE_AT_END.sub("", problem.name), {})[problem.name] = size
    return {name: states for name, states in found.items() if len(set(states.values())) > 1}


def _family(name: str, states: Mapping[str, int], contest: Contest, quantity: str) -> Family:
    members = {
        key: [entry.cell for problem, entry in of.items() if problem in states] for key, of in contest.solvers.items()
    }
    cells = [cell for of in members.values() for cell in of]
    digits = common_target(work_points(cell.processes, lambda point: point.half(quantity).work) for cell in cells)
    rtols = [point.rtol for cell in cells for point in cell.points if point.half(quantity).seconds is not None]
    target = Target(digits, None if digits is not None else min(rtols, default=None))
    solvers: dict[Configuration, tuple[Dot, ...]] = {}
    for key, of in members.items():
        dots = [_dot(cell, states[cell.cell.problem], target, quantity) for cell in of]
        if dots:
            solvers[key] = tuple(sorted(dots, key=lambda dot: dot.states))
    return Family(name, contest.name, quantity, target, solvers)


def _dot(cell: CellSummary, size: int, target: Target, quantity: str) -> Dot:
    readings = [
        reading(process, target, lambda point: point.half(quantity).work, lambda point: point.half(quantity).seconds)
        for process in cell.processes
    ]
    reason = next((item.reason for item in readings if item.time is None), "")
    return Dot(cell, size, spread(item.time for item in readings), reason)


def _chart(data: RunData, found: Family) -> Chart:
    return Chart(
        kind="scaling",
        name=chart_name("scaling", found.quantity, found.name, "" if found.contest == "idiomatic" else found.contest),
        title=f"{clean(found.name, 60)}: time per {found.quantity} against the number of states, {found.contest}",
        alt=_alt(found),
        method=(
            f"The median over processes of the median time per {found.quantity} in the steady state, {_at(found)}, the "
            "same for all sizes; the vertical line spans the fastest and the slowest process."
        ),
        columns=(
            "set", "problem", "solver", "states", f"{found.quantity}_s", "fastest_process_s", "slowest_process_s",
            "why_not", "records",
        ),
        rows=tuple((found.contest, *_row(dot)) for dots in found.solvers.values() for dot in dots),
        draw=lambda backend: _draw(backend, data, found),
    )  # fmt: skip


def _at(found: Family) -> str:
    if found.target.digits is not None:
        return f"read off at an error of {formatting.error(10.0**-found.target.digits)}"
    return f"at a relative tolerance of {formatting.tolerance(found.target.rtol or 0.0)}"


def _row(dot: Dot) -> tuple[object, ...]:
    known = (None,) * 3 if dot.seconds is None else (dot.seconds.median, dot.seconds.minimum, dot.seconds.maximum)
    reason = dot.reason if dot.seconds is None else None
    return (dot.cell.cell.problem, label(dot.cell), dot.states, *known, reason, places(dot.cell))


def _timed(dots: Sequence[Dot]) -> list[tuple[Dot, Spread]]:
    return [(dot, dot.seconds) for dot in dots if dot.seconds is not None]


def _growth(dots: Sequence[Dot]) -> str:
    """From where to where a solver's time goes, and the exponent that this means."""
    (first, start), *_, (last, end) = _timed(dots)
    exponent = math.log(end.median / start.median) / math.log(last.states / first.states)
    return (
        f"{label(first.cell)} from {formatting.duration(start.median)} at {first.states} states to "
        f"{formatting.duration(end.median)} at {last.states} (exponent {exponent:.1f})"
    )


def _alt(found: Family) -> str:
    grown = [_growth(dots) for dots in found.solvers.values() if len(_timed(dots)) > 1]
    return (
        f"Time per {found.quantity} of {clean(found.name, 60)} against its size ({found.contest}). {listed(grown, 6)}."
    )


def _draw(backend: Backend, data: RunData, found: Family) -> None:
    names = LineNames([LegendLine(data.palette.style(key), _told(dots)) for key, dots in found.solvers.items()])
    grid = Grid(1, names.below_in, right_in=names.right_in)
    grid.open(backend)
    title(backend, f"{clean(found.name, 60)}: time per {found.quantity}, {found.contest}")
    axes = grid.axes(backend, 0)
    dots = [(dot, seconds) for of in found.solvers.values() for dot, seconds in _timed(of)]
    x_limits = scales.log_limits([math.log10(dot.states) for dot, _ in dots], least=0.5)
    y_limits = scales.log_limits([math.log10(t) for _, spread in dots for t in (spread.minimum, spread.maximum)])
    axes.limits(x=x_limits, y=y_limits)
    axes.x_axis(scales.named_ticks(x_limits, scales.count_tick), "states")
    axes.y_axis(scales.named_ticks(y_limits, scales.duration_tick), f"time per {found.quantity}")
    for key, of in found.solvers.items():
        draw_line(axes, data.palette.style(key), [(dot.states, seconds) for dot, seconds in _timed(of)])
    failing = [key for key, of in found.solvers.items() if len(_timed(of)) < len(of)]
    if failing:
        failed_strip(axes, [data.palette.style(key) for key in failing])
    names.draw(backend, axes, [_end(dots) for dots in found.solvers.values()])


def _end(dots: Sequence[Dot]) -> End:
    timed = ((math.log10(dot.states), math.log10(seconds.median)) for dot, seconds in _timed(dots))
    return max(timed, default=None)


def _told(dots: Sequence[Dot]) -> str:
    missing = [dot for dot in dots if dot.seconds is None]
    if not missing:
        return label(dots[0].cell)
    return f"{label(dots[0].cell)}: none at {', '.join(str(dot.states) for dot in missing)}"


SCALING = RunKind(
    name="scaling",
    shows="time against the size of the problem",
    needs="it takes one problem at two sizes, such as brusselator-2d-16 and brusselator-2d-32; "
    "`sciml-bench scale` makes them",
    make=_made,
    compares=False,
)
