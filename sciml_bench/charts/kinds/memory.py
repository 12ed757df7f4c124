"""Memory: the peak of each cell's processes, and how much they grew while the same calls were repeated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from sciml_bench.analysis.process_summary import ProcessSummary
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables import formatting
from sciml_bench.charts import scales
from sciml_bench.charts.backend import Backend
from sciml_bench.charts.chart import Chart, chart_name
from sciml_bench.charts.kind import ProblemKind
from sciml_bench.charts.layout import WIDTH_IN, Group, Lane, Lanes, title
from sciml_bench.charts.problem_data import ProblemData, label, places

_MIB = 2.0**20


def _made(data: ProblemData) -> Iterator[Chart]:
    """One chart: a bar for each cell, the smallest of each division first."""
    groups = [
        (name, sorted((cell for cell in cells if _peaks(cell)), key=lambda cell: median(_peaks(cell))))
        for name, cells in data.divisions()
    ]
    cells = [cell for _, of_group in groups for cell in of_group]
    if not cells:
        return
    yield Chart(
        kind="memory",
        name=chart_name("memory", data.problem),
        title=f"{data.title}: peak memory, and growth",
        alt=_alt(data, cells),
        method=(
            "The bar is the largest resident memory of a process, the framework's own included: the median over "
            f"{data.processes}, with a line from the smallest to the largest. Growth is by how much the resident "
            "memory of the worker rose over all of its steady calls together; a little is common, much is a leak."
        ),
        columns=(
            "division", "cell", "peak_rss_bytes", "smallest_peak_rss_bytes", "largest_peak_rss_bytes", "growth_bytes",
            "peak_device_bytes", "records",
        ),
        rows=tuple(_row(name, cell) for name, of_group in groups for cell in of_group),
        draw=lambda backend: _draw(backend, data, groups),
    )  # fmt: skip


def _peaks(cell: CellSummary) -> list[int]:
    return [process.peak_rss_bytes for process in cell.processes if process.peak_rss_bytes]


def _growth(cell: CellSummary) -> float | None:
    """The median over the processes of their growth in bytes; ``None`` when none was measured."""
    known = [grown for process in cell.processes if (grown := _growth_of(process)) is not None]
    return median(known) if known else None


def _growth_of(process: ProcessSummary) -> int | None:
    known = [point.memory_growth_bytes for point in process.points if point.memory_growth_bytes is not None]
    return sum(known) if known else None


def _on_device(cell: CellSummary) -> int | None:
    known = [process.peak_device_bytes for process in cell.processes if process.peak_device_bytes is not None]
    return max(known, default=None)


def _row(division: str, cell: CellSummary) -> tuple[object, ...]:
    peaks = _peaks(cell)
    known = (median(peaks), min(peaks), max(peaks), _growth(cell), _on_device(cell))
    return (division, label(cell), *known, places(cell))


def _told(cell: CellSummary) -> str:
    """The numbers of a cell in words."""
    words = [formatting.size(median(_peaks(cell)))]
    grown, on_device = _growth(cell), _on_device(cell)
    if grown is not None and grown >= 1:
        words.append(f"grew {formatting.size(grown)}")
    if on_device is not None:
        words.append(f"{formatting.size(on_device)} on the device")
    return ", ".join(words)


def _alt(data: ProblemData, cells: Sequence[CellSummary]) -> str:
    ordered = sorted(cells, key=lambda cell: median(_peaks(cell)))
    said = [f"Peak memory of {len(cells)} cells of {data.title}."]
    said.append(f"The smallest is {label(ordered[0])} with {_told(ordered[0])}")
    said[-1] += f", the largest {label(ordered[-1])} with {_told(ordered[-1])}." if ordered[1:] else "."
    most = max(cells, key=lambda cell: _growth(cell) or 0.0)
    if (_growth(most) or 0.0) >= 1:
        said.append(f"{label(most)} grew most while its calls were repeated, by {formatting.size(_growth(most))}.")
    return " ".join(said)


def _draw(backend: Backend, data: ProblemData, groups: Sequence[tuple[str, Sequence[CellSummary]]]) -> None:
    lanes = Lanes(
        [Group(name, [Lane(c, label(c), data.style(c)) for c in cells]) for name, cells in groups], 0.15
    )  # fmt: skip
    backend.set_size(WIDTH_IN, 0.3 + lanes.height_in + 0.38)
    title(backend, f"{data.title}: peak memory, and growth over the steady calls")
    axes, found = lanes.axes(backend, 0.38)
    longest = max(max(_peaks(cell)) for cell, _ in found) / _MIB
    axes.limits(x=(0, longest * 1.4))
    axes.x_axis({tick: _tick(tick) for tick in scales.linear_ticks(longest)})
    for cell, y in found:
        axes.boxes([(0.0, y, median(_peaks(cell)) / _MIB, 0.15)], data.style(cell).colour, alpha=0.85)
    axes.segments([(min(p) / _MIB, y + 0.075, max(p) / _MIB, y + 0.075) for c, y in found if (p := _peaks(c))])
    for cell, y in found:
        axes.text(max(_peaks(cell)) / _MIB + 0.012 * longest, y + 0.125, _told(cell))


def _tick(mib: float) -> str:
    return formatting.size(mib * _MIB).replace(".00", "").replace(".0 ", " ") if mib else "0"


MEMORY = ProblemKind(
    name="memory",
    shows="peak memory, and its growth over the steady calls",
    needs="no process reported its memory use",
    make=_made,
)
