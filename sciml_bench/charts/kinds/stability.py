"""Stability: outcomes of solves for perturbed parameters at each tolerance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sciml_bench.analysis.reliability import shares
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables import formatting
from sciml_bench.charts.axes import Axes
from sciml_bench.charts.backend import Backend, Box
from sciml_bench.charts.chart import Chart, chart_name
from sciml_bench.charts.kind import ProblemKind
from sciml_bench.charts.layout import WIDTH_IN, Group, Lane, Lanes, Swatch, swatches, title
from sciml_bench.charts.problem_data import ProblemData, ending, label, listed, places
from sciml_bench.charts.style import HONEST, INK, RIGHT, SILENT
from sciml_bench.stats.reliability import Stability
from sciml_bench.stats.reliability import stability as shares_of

TRIALS: Mapping[str, tuple[str, str, str]] = {
    "right": ("right", RIGHT, ""),
    "honest": ("honest failure", HONEST, "///"),
    "silent": ("silently wrong", SILENT, "xxxx"),
}
"""The kinds of outcomes: name, colour, and a hatching that is visible in grey."""


def _made(data: ProblemData) -> Iterator[Chart]:
    """One chart: a lane for each cell and a box for each tolerance, the most dependable cell of each division first."""
    groups = [(name, sorted(cells, key=_key)) for name, cells in data.divisions()]
    cells = [cell for _, of_group in groups for cell in of_group if shares(cell) is not None]
    if not cells:
        return
    yield Chart(
        kind="stability",
        name=chart_name("stability", data.problem),
        title=f"{data.title}: stability over tolerances",
        alt=_alt(data, cells),
        method=(
            "Every parameter was changed by up to a factor of two, and each such problem solved at every tolerance. "
            "Right: success is reported, and the error is within a thousand tolerances. Honest failure: a typed "
            "failure is reported. Silently wrong: success is reported, and the error is larger. The numbers are right "
            "solves of all solves tried, over all processes."
        ),
        columns=(
            "division", "cell", "rtol", "trials", "right", "honest_failure", "silently_wrong", "right_share_low_95",
            "right_share_high_95", "records",
        ),
        rows=tuple(row for name, of_group in groups for cell in of_group for row in _rows(name, cell)),
        draw=lambda backend: _draw(backend, data, groups),
    )  # fmt: skip


def _shares(cell: CellSummary) -> Stability:
    found = shares(cell)
    assert found is not None, "cells without trials are left out before"
    return found


def _key(cell: CellSummary) -> tuple[float, float]:
    found = shares(cell)
    # Untried cells come last.
    return (2.0, 0.0) if found is None else (found.silent.share, -found.right.share)


def _counts(cell: CellSummary, rtol: float) -> list[int]:
    return [sum(process.trials_at.get((rtol, kind), 0) for process in cell.processes) for kind in TRIALS]


def _rtols(cells: Sequence[CellSummary]) -> list[float]:
    found = {rtol for cell in cells for process in cell.processes for rtol, _ in process.trials_at}
    return sorted(found, reverse=True)


def _rows(division: str, cell: CellSummary) -> Iterator[tuple[object, ...]]:
    if shares(cell) is None:
        yield (division, label(cell), None, 0, *(None,) * 5, places(cell))
    for rtol in _rtols([cell]):
        counts = _counts(cell, rtol)
        right = shares_of(*counts).right
        tried = [process for process in cell.processes if any(at == rtol for at, _ in process.trials_at)]
        yield (division, label(cell), rtol, sum(counts), *counts, right.low, right.high, places(cell, tried))


def _alt(data: ProblemData, cells: Sequence[CellSummary]) -> str:
    total = sum(_shares(cell).right.total for cell in cells)
    said = [f"{total} solves of {data.title} on perturbed parameters, {len(cells)} cells."]
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


def _draw(backend: Backend, data: ProblemData, groups: Sequence[tuple[str, Sequence[CellSummary]]]) -> None:
    lanes = Lanes(
        [Group(name, [Lane(c, label(c), data.style(c)) for c in cells]) for name, cells in groups], 0.15
    )  # fmt: skip
    rtols = _rtols([cell for _, cells in groups for cell in cells])
    backend.set_size(WIDTH_IN, 0.3 + lanes.height_in + 0.8)
    title(backend, f"{data.title}: perturbed parameters at each tolerance")
    axes, found = lanes.axes(backend, 0.8)
    axes.limits(x=(0, len(rtols)))
    names = {place + 0.35: formatting.tolerance(rtol) for place, rtol in enumerate(rtols)}
    axes.x_axis(names, "relative tolerance", grid=False)
    boxes: dict[str, list[Box]] = {kind: [] for kind in (*TRIALS, "frame")}
    for cell, y in found:
        if shares(cell) is None:
            axes.text(0.02, y + 0.115, f"not tried: {ending(cell)}", fontstyle="italic")
            continue
        for place, rtol in enumerate(rtols):
            _draw_box(axes, boxes, _counts(cell, rtol), place, y)
    for kind, (_, colour, hatch) in TRIALS.items():
        if boxes[kind]:
            axes.boxes(boxes[kind], colour, hatch=hatch or None)
    axes.boxes(boxes["frame"], "none", edgecolor=INK, linewidth=0.5)
    swatches(backend, [Swatch(colour, name, hatch) for name, colour, hatch in TRIALS.values()], 0.14)


def _draw_box(axes: Axes, boxes: dict[str, list[Box]], counts: Sequence[int], place: int, y: float) -> None:
    """The box of one cell at one tolerance, added to ``boxes``, and its numbers."""
    total, left = sum(counts), float(place)
    if not total:
        axes.text(place + 0.02, y + 0.115, "not tried", fontstyle="italic")
        return
    for count, kind in zip(counts, TRIALS, strict=True):
        if count:
            boxes[kind].append((left, y, 0.7 * count / total, 0.15))
            left += 0.7 * count / total
    boxes["frame"].append((place, y, 0.7, 0.15))
    axes.text(place + 0.72, y + 0.12, f"{counts[0]}/{total}")


STABILITY = ProblemKind(
    name="stability",
    shows="perturbed parameters at each tolerance: right, honest failure, silently wrong",
    needs="nothing was tried on perturbed parameters; profile quick and those above it do that",
    make=_made,
    of_models=False,
)
