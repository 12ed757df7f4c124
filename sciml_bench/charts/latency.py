"""Latency: what a user waits for before the first results, phase by phase."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from sciml_bench.analysis import quantities
from sciml_bench.analysis.phase_bars import PARTS, stack
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.charts.chart import Chart, chart_name
from sciml_bench.charts.data import Material, ending, label, listed, places

if TYPE_CHECKING:
    from sciml_bench.charts.axes import Box, Ends, Pane
    from sciml_bench.charts.paper import Paper


BEFORE = tuple(part for part in PARTS if part.letter in "sibtlcGS")
"""The parts up to the first gradient and the first solve, in order."""

_COLOURS = {
    "s": "#a9a9ad", "i": "#7fb2d9", "b": "#d9c45a", "t": "#e39a3c", "l": "#b9582a", "c": "#8c2f4f", "G": "#1f5a94",
    "S": "#4f8f8a",
}  # fmt: skip
_TITLE = "time before the first gradient and the first solve"
_PALE = "sibt"


def latency(material: Material) -> Iterator[Chart]:
    """One chart: a stacked bar for each cell, the quickest of each division first."""
    groups = [(name, sorted(cells, key=_key)) for name, cells in material.divisions()]
    cells = [cell for _, of_group in groups for cell in of_group]
    if not any(stack(cell) for cell in cells):
        return
    yield Chart(
        kind="latency",
        name=chart_name("latency", material.problem),
        title=f"{material.title}: {_TITLE}",
        alt=_alt(material, cells),
        method=(
            "Every process starts with empty compile caches, unless its mode ends with -warm. A part is the median "
            f"over {material.processes}; tracing, lowering and compiling are those of the gradient and of the solve "
            "together, and what a framework does not tell apart is part of its first call. The mark and the number are "
            "the median time from the start of the process to the first gradient; cells without one show how far they "
            "came."
        ),
        columns=(
            "division", "cell", *(f"{part.name.replace(' ', '_').replace('1st', 'first')}_s" for part in BEFORE),
            "to_first_gradient_s", "fastest_process_s", "slowest_process_s", "ended", "records",
        ),
        rows=tuple(_row(name, cell) for name, of_group in groups for cell in of_group),
        draw=lambda figure: _draw(figure, material, groups),
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


def _alt(material: Material, cells: Sequence[CellSummary]) -> str:
    said = [f"Time from process start to the first gradient of {len(cells)} cells of {material.title}."]
    known = sorted((first.median, label(cell)) for cell in cells if (first := cell.first_gradient_process) is not None)
    if known:
        said.append(f"The quickest is {known[0][1]} with {quantities.duration(known[0][0])}")
        said[-1] += f", the slowest {known[-1][1]} with {quantities.duration(known[-1][0])}." if known[1:] else "."
    without = [f"{label(cell)} ({ending(cell)})" for cell in cells if cell.first_gradient_process is None]
    if without:
        said.append(f"Without one: {listed(without, 6)}.")
    return " ".join(said)


def _draw(figure: Paper, material: Material, groups: Sequence[tuple[str, Sequence[CellSummary]]]) -> None:
    from sciml_bench.charts import axes as scales
    from sciml_bench.charts.axes import WIDTH_IN, Swatch, page, swatches, title
    from sciml_bench.charts.lanes import Group, Lane, Lanes

    lanes = Lanes(
        [Group(name, [Lane(c, label(c), material.style(c)) for c in cells]) for name, cells in groups], 0.17
    )  # fmt: skip
    longest = max(_reach(cell) for _, cells in groups for cell in cells)
    top = 0.45 if material.caution else 0.3
    figure.set_size_inches(WIDTH_IN, top + lanes.height_in + 0.9)
    title(figure, f"{material.title}: {_TITLE}", material.caution)
    pane, found = lanes.pane(figure, 0.9)
    pane.limits(x=(0, longest * 1.22))
    pane.x_axis({tick: f"{tick:g} s" for tick in scales.linear_ticks(longest)})
    bars = [(_parts(cell), y) for cell, y in found]
    for number, part in enumerate(BEFORE):
        _draw_part(pane, bars, number, part.letter, 0.025 * longest)
    pane.segments(list(_seams(bars, 0.006 * longest)), "#ffffff", linewidth=1.0)
    for cell, y in found:
        first = cell.first_gradient_process
        told, slant = (ending(cell), "italic") if first is None else (quantities.duration(first.median), "normal")
        pane.text(_reach(cell) + 0.012 * longest, y + 0.135, told, fontstyle=slant)
    marks = [(f.median, y - 0.03, f.median, y + 0.2) for cell, y in found if (f := cell.first_gradient_process)]
    pane.segments(marks, linewidth=1.6)
    swatches(figure, [Swatch(_COLOURS[part.letter], f"{part.letter} {part.name}") for part in BEFORE])
    page(figure).beside(0.15, 0.1, "black mark and number: the first gradient is there", fontstyle="italic")


def _draw_part(
    pane: Pane, bars: Sequence[tuple[Sequence[float], float]], number: int, letter: str, least: float
) -> None:
    """One part of every lane's bar, with its letter where there is room."""
    boxes: list[Box] = []
    for parts, y in bars:
        left, seconds = sum(parts[:number]), parts[number]
        if seconds > 0:
            boxes.append((left, y, seconds, 0.17))
        if seconds > least:
            ink = "#1c1b1f" if letter in _PALE else "#ffffff"
            pane.text(left + seconds / 2, y + 0.13, letter, ha="center", color=ink)
    if boxes:
        pane.boxes(boxes, _COLOURS[letter])


def _seams(bars: Sequence[tuple[Sequence[float], float]], least: float) -> Iterator[Ends]:
    """Where two parts of a bar meet that are both wide enough for a line between them: in grey some look the same."""
    for parts, y in bars:
        shown = [(sum(parts[:number]), seconds) for number, seconds in enumerate(parts) if seconds > 0]
        for (_, before), (left, after) in pairwise(shown):
            if min(before, after) > least:
                yield left, y, left, y + 0.17


def _reach(cell: CellSummary) -> float:
    """How far the bar or the mark of a cell reaches, in seconds."""
    first = cell.first_gradient_process
    return max(sum(_parts(cell)), 0.0 if first is None else first.median, 1e-3)
