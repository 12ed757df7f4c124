"""Steady state: the calls of one process in order, and the change-points of their times.

After the run-sequence plots of Barrett et al. 2017, "Virtual machine warmup blows hot and cold" (arXiv 1602.00602).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from sciml_bench.analysis.explanation.loops import Loop
from sciml_bench.analysis.process_summary import ProcessSummary
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables import formatting
from sciml_bench.charts.axes import Axes
from sciml_bench.charts.backend import Backend
from sciml_bench.charts.chart import Chart, chart_name
from sciml_bench.charts.kind import ProblemKind
from sciml_bench.charts.layout import WIDTH_IN, Group, Lane, Lanes, text_width_in, title
from sciml_bench.charts.problem_data import ProblemData, ending, label, listed, places
from sciml_bench.charts.style import INK

_SLOWEST, _FASTEST = 3.0, 0.5
"""The drawn range, as multiples of the steady time; calls beyond are drawn at the edge."""

_MOST_DRAWN = 300
_LANE_IN = 0.42
_CLASSES = {"flat": "flat", "warm_up": "warm-up", "slow_down": "slowdown", "none": "no steady state"}


@dataclass(frozen=True)
class Segment:
    """Calls ``first`` to ``last`` (from 1, warm-up included) of a loop between two change-points."""

    name: str
    first: int
    last: int
    median_s: float
    fastest_s: float
    slowest_s: float


@dataclass(frozen=True)
class CellLoop:
    """One cell's loop."""

    cell: CellSummary
    process: ProcessSummary
    loop: Loop
    segments: tuple[Segment, ...]
    steady_s: float


def _made(data: ProblemData) -> Iterator[Chart]:
    """One chart: a lane for each cell with the first process that has a loop."""
    groups = [(name, [_sequence(cell) for cell in cells]) for name, cells in data.divisions()]
    found = [one for _, of_group in groups for one in of_group if isinstance(one, CellLoop)]
    if not found:
        return
    yield Chart(
        kind="steady",
        name=chart_name("steady", data.problem),
        title=f"{data.title}: calls in order, with change-points",
        alt=_alt(data, found),
        method=(
            "Of each cell the longest loop of gradients (of solves, where no gradient is right) of its first process, "
            "drawn as multiples of its steady time. Grey calls are the warm-up; vertical lines are change-points of "
            "the mean or the variance (PELT), horizontal ones the medians of the segments between them. Only calls "
            "from the last change-point of a loop that settled count. Behind the name of the class: how the loops of "
            "all tolerances and processes were classed."
        ),
        columns=(
            "division", "cell", "call", "rtol", "class", "segment", "first_call", "last_call", "median_s",
            "fastest_s", "slowest_s", "classes_of_all_loops", "records",
        ),
        rows=tuple(row for name, of_group in groups for sequence in of_group for row in _rows(name, sequence)),
        draw=lambda backend: _draw(backend, data, groups),
    )  # fmt: skip


def _sequence(cell: CellSummary) -> CellLoop | CellSummary:
    """The loop of a cell, or the cell itself where no call was repeated."""
    for process in cell.processes:
        loop = process.loop
        if loop is not None and loop.samples_ns:
            segments = _segments(loop)
            return CellLoop(cell, process, loop, segments, segments[-1].median_s)
    return cell


def _segments(loop: Loop) -> tuple[Segment, ...]:
    """The segments of the kept part of a loop; the calls before its steady ones are the first."""
    kept = len(loop.samples_ns)
    changes = loop.steady["changepoints"] if loop.steady else []
    edges = sorted({0, loop.warm_up, *(loop.warm_up + change for change in changes), kept})
    edges = [edge for edge in edges if edge <= kept]
    found: list[Segment] = []
    for first, end in pairwise(edges):
        seconds = [ns / 1e9 for ns in loop.samples_ns[first:end]]
        name = "warm-up calls" if end <= loop.warm_up else _counted(loop, first)
        found.append(Segment(name, first + 1, end, median(seconds), min(seconds), max(seconds)))
    return tuple(found)


def _counted(loop: Loop, first: int) -> str:
    start = loop.warm_up + (loop.steady["start"] if loop.steady else 0)
    return "counted" if first >= start else "before the steady state"


def _class(loop: Loop) -> str:
    return "too short to judge" if loop.steady is None else _CLASSES[loop.steady["class"]]


def _classes(cell: CellSummary, call: str) -> str:
    """Return how the loops of all processes and tolerances were classed, such as ``flat 8, warm-up 1``."""
    found = [point.half(call).steady_class for point in cell.points]
    counts = Counter(_CLASSES[name] for name in found if name is not None)
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


def _rows(division: str, found: CellLoop | CellSummary) -> Iterator[tuple[object, ...]]:
    if isinstance(found, CellSummary):
        yield (division, label(found), None, None, ending(found), *(None,) * 7, places(found))
        return
    loop = found.loop
    for segment in found.segments:
        yield (
            division, label(found.cell), loop.call, loop.rtol, _class(loop), segment.name, segment.first, segment.last,
            segment.median_s, segment.fastest_s, segment.slowest_s, _classes(found.cell, loop.call),
            places(found.cell, [found.process]),
        )  # fmt: skip


def _alt(data: ProblemData, found: Sequence[CellLoop]) -> str:
    said = [f"The calls of one process of each of {len(found)} cells of {data.title} in order."]
    by_class: dict[str, list[str]] = {}
    for sequence in found:
        name = f"{label(sequence.cell)} ({formatting.duration(sequence.steady_s)} per {sequence.loop.call})"
        by_class.setdefault(_class(sequence.loop), []).append(name)
    said += [f"{name[0].upper()}{name[1:]}: {listed(cells, 6)}." for name, cells in by_class.items()]
    return " ".join(said)


def _draw(backend: Backend, data: ProblemData, groups: Sequence[tuple[str, Sequence[CellLoop | CellSummary]]]) -> None:
    lanes = Lanes(
        [
            Group(name, [Lane(one, _heading(one), data.style(_cell(one))) for one in of_group])
            for name, of_group in groups
        ],
        _LANE_IN,
        left_in=0.55,
    )
    top = 0.45 if data.caution else 0.3
    backend.set_size(WIDTH_IN, top + lanes.height_in + 0.48)
    title(backend, f"{data.title}: calls in order, as multiples of the steady time", data.caution)
    axes, found = lanes.axes(backend, 0.48)
    axes.x_axis({}, "call, from the first to the last of the loop")
    axes.boxes([(0, y, 1, _LANE_IN) for one, y in found if isinstance(one, CellLoop)], INK, alpha=0.045)
    for one, y in found:
        if isinstance(one, CellLoop):
            _draw_lane(axes, one, y, data.style(one.cell).colour)


def _cell(one: CellLoop | CellSummary) -> CellSummary:
    return one.cell if isinstance(one, CellLoop) else one


def _heading(one: CellLoop | CellSummary) -> str:
    if isinstance(one, CellSummary):
        return f"{label(one)}: no call was repeated, {ending(one)}"
    loop = one.loop
    words = [
        f"{formatting.duration(one.steady_s)} per {loop.call} at {formatting.tolerance(loop.rtol)}",
        f"{loop.calls} calls",
        _class(loop),
    ]
    short = f"{label(one.cell)}: {', '.join(words)}"
    classes = _classes(one.cell, loop.call)
    long = f"{short} (all: {classes})" if classes else short
    return long if text_width_in(long) < WIDTH_IN - 1 else short


def _height(ratio: float, y: float) -> float:
    """The height of a multiple of the steady time in the lane with its upper edge at ``y``."""
    share = math.log(min(max(ratio, _FASTEST), _SLOWEST) / _FASTEST) / math.log(_SLOWEST / _FASTEST)
    return y + _LANE_IN * (1 - share)


def _draw_lane(axes: Axes, one: CellLoop, y: float, colour: str) -> None:
    ratios = [ns / 1e9 / one.steady_s if one.steady_s else 1.0 for ns in one.loop.samples_ns]
    calls = len(ratios)
    for ratio in (1, 2):
        axes.text(-0.008, _height(ratio, y) + 0.03, f"{ratio}×", ha="right", size=7)
    axes.segments([(0, _height(ratio, y), 1, _height(ratio, y)) for ratio in (1, 2)], alpha=0.25, linewidth=0.5)
    if one.loop.warm_up:
        axes.boxes([(0, y, min(1.0, one.loop.warm_up / calls), _LANE_IN)], INK, alpha=0.13)
    xs, drawn = _thinned(ratios)
    dots = {"marker": ".", "markersize": 3} if len(xs) <= 60 else {}
    axes.line(xs, [_height(ratio, y) for ratio in drawn], color=colour, linewidth=0.8, **dots)
    middles = [_height(segment.median_s / one.steady_s if one.steady_s else 1.0, y) for segment in one.segments]
    edges = [((segment.first - 1) / calls, segment.last / calls) for segment in one.segments]
    axes.segments([(left, at, right, at) for (left, right), at in zip(edges, middles, strict=True)], linewidth=1.2)
    changes = [(segment.first - 1) / calls for segment in one.segments if segment.first > one.loop.warm_up + 1]
    axes.segments([(x, y, x, y + _LANE_IN) for x in changes], linestyle=(0, (3, 1.5)))


def _thinned(ratios: Sequence[float]) -> tuple[list[float], list[float]]:
    """Every call at its place; of many, the fastest and the slowest of neighbours, so that no spike is lost."""
    calls = len(ratios)
    if calls <= _MOST_DRAWN:
        return [(place + 0.5) / calls for place in range(calls)], list(ratios)
    size = math.ceil(2 * calls / _MOST_DRAWN)
    xs: list[float] = []
    drawn: list[float] = []
    for start in range(0, calls, size):
        part = ratios[start : start + size]
        for place in sorted({part.index(min(part)), part.index(max(part))}):
            xs.append((start + place + 0.5) / calls)
            drawn.append(part[place])
    return xs, drawn


STEADY = ProblemKind(
    name="steady",
    shows="the calls of a process in order, with the change-points of their times",
    needs="no loop of calls was measured",
    make=_made,
)
