"""Stability: what became of solves for perturbed parameters at each tolerance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sciml_bench.analysis import quantities
from sciml_bench.analysis import reliability as trials
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.charts.chart import Chart, chart_name
from sciml_bench.charts.data import Material, ending, label, listed, places
from sciml_bench.charts.style import HONEST, INK, RIGHT, SILENT
from sciml_bench.stats.shares import Stability
from sciml_bench.stats.shares import stability as shares_of

if TYPE_CHECKING:
    from sciml_bench.charts.axes import Box, Pane
    from sciml_bench.charts.paper import Paper


TRIALS: Mapping[str, tuple[str, str, str]] = {
    "right": ("right", RIGHT, ""),
    "honest": ("honest failure", HONEST, "///"),
    "silent": ("silently wrong", SILENT, "xxxx"),
}
"""What a trial can be: its name, its colour, and a hatching that is seen in grey."""


def stability(material: Material) -> Iterator[Chart]:
    """One chart: a lane for each cell and a box for each tolerance, the most dependable cell of each division first."""
    groups = [(name, sorted(cells, key=_key)) for name, cells in material.divisions()]
    cells = [cell for _, of_group in groups for cell in of_group if trials.shares(cell) is not None]
    if not cells:
        return
    yield Chart(
        kind="stability",
        name=chart_name("stability", material.problem),
        title=f"{material.title}: stability over tolerances",
        alt=_alt(material, cells),
        method=(
            "Every parameter was changed by up to a factor of two, and each such problem solved at every tolerance. "
            "Right: success is reported, and the error is within a thousand tolerances. Honest failure: a typed "
            "failure is reported. Silently wrong: success is reported, and the error is larger. The numbers are those "
            "that were right of those tried, over all processes."
        ),
        columns=(
            "division", "cell", "rtol", "trials", "right", "honest_failure", "silently_wrong", "right_share_low_95",
            "right_share_high_95", "records",
        ),
        rows=tuple(row for name, of_group in groups for cell in of_group for row in _rows(name, cell)),
        draw=lambda figure: _draw(figure, material, groups),
    )  # fmt: skip


def _shares(cell: CellSummary) -> Stability:
    found = trials.shares(cell)
    assert found is not None, "cells without trials are left out before"
    return found


def _key(cell: CellSummary) -> tuple[float, float]:
    found = trials.shares(cell)
    # What was not tried comes last.
    return (2.0, 0.0) if found is None else (found.silent.share, -found.right.share)


def _counts(cell: CellSummary, rtol: float) -> list[int]:
    return [sum(process.trials_at.get((rtol, kind), 0) for process in cell.processes) for kind in TRIALS]


def _rtols(cells: Sequence[CellSummary]) -> list[float]:
    found = {rtol for cell in cells for process in cell.processes for rtol, _ in process.trials_at}
    return sorted(found, reverse=True)


def _rows(division: str, cell: CellSummary) -> Iterator[tuple[object, ...]]:
    if trials.shares(cell) is None:
        yield (division, label(cell), None, 0, *(None,) * 5, places(cell))
    for rtol in _rtols([cell]):
        counts = _counts(cell, rtol)
        right = shares_of(*counts).right
        tried = [process for process in cell.processes if any(at == rtol for at, _ in process.trials_at)]
        yield (division, label(cell), rtol, sum(counts), *counts, right.low, right.high, places(cell, tried))


def _alt(material: Material, cells: Sequence[CellSummary]) -> str:
    total = sum(_shares(cell).right.total for cell in cells)
    said = [f"{total} solves of {material.title} on perturbed parameters, {len(cells)} cells."]
    always = [label(cell) for cell in cells if _shares(cell).right.share == 1]
    silent = [
        f"{label(cell)} ({100 * _shares(cell).silent.share:.0f} %)" for cell in cells if _shares(cell).silent.share > 0
    ]
    failing = [
        f"{label(cell)} ({100 * _shares(cell).honest.share:.0f} %)" for cell in cells if _shares(cell).honest.share > 0
    ]
    if always:
        said.append(f"Always right: {listed(always, 6)}.")
    if failing:
        said.append(f"Failed honestly: {listed(failing, 6)}.")
    said.append(f"Silently wrong: {listed(silent, 6)}." if silent else "None was silently wrong.")
    return " ".join(said)


def _draw(figure: Paper, material: Material, groups: Sequence[tuple[str, Sequence[CellSummary]]]) -> None:
    from sciml_bench.charts.axes import WIDTH_IN, Swatch, swatches, title
    from sciml_bench.charts.lanes import Group, Lane, Lanes

    lanes = Lanes(
        [Group(name, [Lane(c, label(c), material.style(c)) for c in cells]) for name, cells in groups], 0.15
    )  # fmt: skip
    rtols = _rtols([cell for _, cells in groups for cell in cells])
    figure.set_size_inches(WIDTH_IN, 0.3 + lanes.height_in + 0.8)
    title(figure, f"{material.title}: perturbed parameters at each tolerance")
    pane, found = lanes.pane(figure, 0.8)
    pane.limits(x=(0, len(rtols)))
    names = {place + 0.35: quantities.tolerance(rtol) for place, rtol in enumerate(rtols)}
    pane.x_axis(names, "relative tolerance", grid=False)
    boxes: dict[str, list[Box]] = {kind: [] for kind in (*TRIALS, "frame")}
    for cell, y in found:
        if trials.shares(cell) is None:
            pane.text(0.02, y + 0.115, f"not tried: {ending(cell)}", fontstyle="italic")
            continue
        for place, rtol in enumerate(rtols):
            _draw_box(pane, boxes, _counts(cell, rtol), place, y)
    for kind, (_, colour, hatch) in TRIALS.items():
        if boxes[kind]:
            pane.boxes(boxes[kind], colour, hatch=hatch or None)
    pane.boxes(boxes["frame"], "none", edgecolor=INK, linewidth=0.5)
    swatches(figure, [Swatch(colour, name, hatch) for name, colour, hatch in TRIALS.values()], 0.14)


def _draw_box(pane: Pane, boxes: dict[str, list[Box]], counts: Sequence[int], place: int, y: float) -> None:
    """The box of one cell at one tolerance, added to ``boxes``, and its numbers."""
    total, left = sum(counts), float(place)
    if not total:
        pane.text(place + 0.02, y + 0.115, "not tried", fontstyle="italic")
        return
    for count, kind in zip(counts, TRIALS, strict=True):
        if count:
            boxes[kind].append((left, y, 0.7 * count / total, 0.15))
            left += 0.7 * count / total
    boxes["frame"].append((place, y, 0.7, 0.15))
    pane.text(place + 0.72, y + 0.12, f"{counts[0]}/{total}")
