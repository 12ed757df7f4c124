"""Latency: what a user waits for before the first results, phase by phase."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sciml_bench.analysis.explanation.phase_breakdown import PARTS, stack
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables import formatting
from sciml_bench.charts import scales
from sciml_bench.charts.axes import Axes
from sciml_bench.charts.backend import Backend, Box, Ends
from sciml_bench.charts.chart import Chart, chart_name
from sciml_bench.charts.kind import ProblemKind
from sciml_bench.charts.layout import WIDTH_IN, Group, Lane, Lanes, Swatch, swatches, title, whole
from sciml_bench.charts.problem_data import ProblemData, ending, label, listed, places

BEFORE = tuple(part for part in PARTS if part.letter in "sibtlcGS")
"""The parts up to the first gradient and the first solve, in order."""

_COLOURS = {
    "s": "#a9a9ad", "i": "#7fb2d9", "b": "#d9c45a", "t": "#e39a3c", "l": "#b9582a", "c": "#8c2f4f", "G": "#1f5a94",
    "S": "#4f8f8a",
}  # fmt: skip
_TITLE = "time before the first gradient and the first solve"
_PALE = "sibt"


def _made(data: ProblemData) -> Iterator[Chart]:
    """One chart: a stacked bar for each cell, the quickest of each division first."""
    groups = [(name, sorted(cells, key=_key)) for name, cells in data.divisions()]
    cells = [cell for _, of_group in groups for cell in of_group]
    if not any(stack(cell) for cell in cells):
        return
    yield Chart(
        kind="latency",
        name=chart_name("latency", data.problem),
        title=f"{data.title}: {_TITLE}",
        alt=_alt(data, cells),
        method=(
            "Every process starts with empty compile caches, unless its mode ends with -warm. A part is the median "
            f"over {data.processes}; tracing, lowering and compiling cover the gradient and the solve together, "
            "and phases that a framework does not separate are part of its first call. The mark and the number are the "
            "median time from the start of the process to the first gradient; cells without one show how far they "
            "came."
        ),
        columns=(
            "division", "cell", *(f"{part.name.replace(' ', '_').replace('1st', 'first')}_s" for part in BEFORE),
            "to_first_gradient_s", "fastest_process_s", "slowest_process_s", "ended", "records",
        ),
        rows=tuple(_row(name, cell) for name, of_group in groups for cell in of_group),
        draw=lambda backend: _draw(backend, data, groups),
    )  # fmt: skip


def _key(cell: CellSummary) -> tuple[bool, float]:
    first = cell.first_gradient_process
    return (True, 0.0) if first is None else (False, first.median)


def _parts(cell: CellSummary) -> list[float]:
    found = stack(cell)
    return [0.0 if found is None else found.parts_s.get(part.name, 0.0) for part in BEFORE]


def _row(division: str, cell: CellSummary) -> tuple[object, ...]:
    first = cell.first_gradient_process
    known = (None, None, None) if first is None else (first.median, first.minimum, first.maximum)
    return (division, label(cell), *_parts(cell), *known, ending(cell), places(cell))


def _alt(data: ProblemData, cells: Sequence[CellSummary]) -> str:
    said = [f"Time from process start to the first gradient of {len(cells)} cells of {data.title}."]
    known = sorted((first.median, label(cell)) for cell in cells if (first := cell.first_gradient_process) is not None)
    if known:
        said.append(f"The quickest is {known[0][1]} with {formatting.duration(known[0][0])}")
        said[-1] += f", the slowest {known[-1][1]} with {formatting.duration(known[-1][0])}." if known[1:] else "."
    without = [f"{label(cell)} ({ending(cell)})" for cell in cells if cell.first_gradient_process is None]
    if without:
        said.append(f"Without one: {listed(without, 6)}.")
    return " ".join(said)


def _draw(backend: Backend, data: ProblemData, groups: Sequence[tuple[str, Sequence[CellSummary]]]) -> None:
    lanes = Lanes(
        [Group(name, [Lane(c, label(c), data.style(c)) for c in cells]) for name, cells in groups], 0.17
    )  # fmt: skip
    longest = max(_reach(cell) for _, cells in groups for cell in cells)
    top = 0.45 if data.caution else 0.3
    backend.set_size(WIDTH_IN, top + lanes.height_in + 0.9)
    title(backend, f"{data.title}: {_TITLE}", data.caution)
    axes, found = lanes.axes(backend, 0.9)
    axes.limits(x=(0, longest * 1.22))
    axes.x_axis({tick: f"{tick:g} s" for tick in scales.linear_ticks(longest)})
    bars = [(_parts(cell), y) for cell, y in found]
    for number, part in enumerate(BEFORE):
        _draw_part(axes, bars, number, part.letter, 0.025 * longest)
    axes.segments(list(_seams(bars, 0.006 * longest)), "#ffffff", linewidth=1.0)
    for cell, y in found:
        first = cell.first_gradient_process
        told, slant = (ending(cell), "italic") if first is None else (formatting.duration(first.median), "normal")
        axes.text(_reach(cell) + 0.012 * longest, y + 0.135, told, fontstyle=slant)
    marks = [(f.median, y - 0.03, f.median, y + 0.2) for cell, y in found if (f := cell.first_gradient_process)]
    axes.segments(marks, linewidth=1.6)
    swatches(backend, [Swatch(_COLOURS[part.letter], f"{part.letter} {part.name}") for part in BEFORE])
    whole(backend).beside(0.15, 0.1, "black mark and number: the first gradient is there", fontstyle="italic")


def _draw_part(
    axes: Axes, bars: Sequence[tuple[Sequence[float], float]], number: int, letter: str, least: float
) -> None:
    """One part of every lane's bar, with its letter if it fits."""
    boxes: list[Box] = []
    for parts, y in bars:
        left, seconds = sum(parts[:number]), parts[number]
        if seconds > 0:
            boxes.append((left, y, seconds, 0.17))
        if seconds > least:
            ink = "#1c1b1f" if letter in _PALE else "#ffffff"
            axes.text(left + seconds / 2, y + 0.13, letter, ha="center", color=ink)
    if boxes:
        axes.boxes(boxes, _COLOURS[letter])


def _seams(bars: Sequence[tuple[Sequence[float], float]], least: float) -> Iterator[Ends]:
    """The borders between neighbouring parts that are both wide enough for a line between them: in grey some look the
    same.
    """
    for parts, y in bars:
        shown = [(sum(parts[:number]), seconds) for number, seconds in enumerate(parts) if seconds > 0]
        for (_, before), (left, after) in pairwise(shown):
            if min(before, after) > least:
                yield left, y, left, y + 0.17


def _reach(cell: CellSummary) -> float:
    """Return how far the bar or the mark of a cell reaches, in seconds."""
    first = cell.first_gradient_process
    return max(sum(_parts(cell)), 0.0 if first is None else first.median, 1e-3)


LATENCY = ProblemKind(
    name="latency",
    shows="where the time of a process went, phase by phase",
    needs="no process reported its phases",
    make=_made,
)
