"""Both tracks next to each other: how much faster one ecosystem is than another on each suite, for models and
equations.

Whoever wins on images may lose on stiff equations. Solvers and model frameworks of one ecosystem are matched, and of
each the fastest recommended cell of a problem is taken.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass

from sciml_bench.adapters.base import INFERENCE
from sciml_bench.analysis.rows import Row
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables import formatting
from sciml_bench.charts import scales
from sciml_bench.charts.axes import Axes
from sciml_bench.charts.backend import Backend
from sciml_bench.charts.chart import Chart, chart_name
from sciml_bench.charts.data import RunData
from sciml_bench.charts.kind import RunKind
from sciml_bench.charts.layout import WIDTH_IN, Legend, LegendLine, text_width_in, title
from sciml_bench.charts.problem_data import ProblemData, places
from sciml_bench.charts.style import INK, Style, configuration
from sciml_bench.stats.aggregate import GeometricMean, geometric_mean

ECOSYSTEMS = {
    "JAX": ("jax", "diffrax"),
    "PyTorch": ("torch", "torchdiffeq"),
    "TensorFlow": ("keras", "tensorflow"),
    "Julia": ("lux", "julia"),
    "SciPy": ("scipy",),
}
"""The adapters of both tracks that belong together."""

_LANE_IN, _STEP_IN = 0.5, 0.13


@dataclass(frozen=True)
class Lane:
    """One ecosystem against the base on one suite: the ratios of its problems, and their geometric mean.

    ``lacking`` are problems without a ratio, each with a cell that has no time per gradient there: the ecosystem's
    own, or the base's. ``mean`` is ``None`` if no problem is left.
    """

    suite: str
    ecosystem: str
    pairs: tuple[tuple[str, Row, Row], ...]
    lacking: tuple[tuple[str, CellSummary], ...]
    mean: GeometricMean | None

    @property
    def cell(self) -> CellSummary:
        """The first of its cells."""
        return self.pairs[0][1].summary if self.pairs else self.lacking[0][1]


@dataclass(frozen=True)
class Tracks:
    """The chart: the suites, against the ecosystem that was measured on the most problems."""

    base: str
    suites: tuple[str, ...]
    lanes: tuple[Lane, ...]


def _made(data: RunData) -> Iterator[Chart]:
    """The chart of a run with models and equations; empty for a run with only one of them, or with one ecosystem."""
    found = _found(data)
    if found is None:
        return
    yield Chart(
        kind="tracks",
        name=chart_name("tracks"),
        title=f"Time per gradient relative to {found.base}: models beside equations",
        alt=_alt(found),
        method=(
            f"A ratio below 1 is faster than {found.base}, the ecosystem that was measured on the most problems. Of "
            "each problem and ecosystem the fastest recommended cell counts: models at their largest batch with "
            "parity shown, equations at equal achieved accuracy. The diamond is the geometric mean over the problems "
            "of a suite, its line the 95 % interval of Student's t: how it would move with other problems like these. "
            "One problem has no interval, and is dotted. Problems on which an ecosystem has no accurate gradient count "
            "for nobody, and are listed at the right."
        ),
        columns=("suite", "problem", "ecosystem", "base", "ratio", "cell", "base_cell", "records"),
        rows=tuple(row for lane in found.lanes for row in _rows(found, lane)),
        draw=lambda backend: _draw(backend, data, found),
    )


def _found(data: RunData) -> Tracks | None:
    suites = {problem.name: problem.suite for problem in data.summary.plan.problems}
    best = {item.problem: _best(item) for item in data.problems}
    counts = {name: sum(name in of for of in best.values()) for name in ECOSYSTEMS}
    base = max(counts, key=lambda name: counts[name])
    lanes: list[Lane] = []
    for suite in dict.fromkeys(suites.values()):
        of_suite = [item for item in data.problems if suites.get(item.problem) == suite]
        lanes += [lane for name in ECOSYSTEMS if name != base and (lane := _lane(suite, name, base, of_suite, best))]
    measured = {lane.suite for lane in lanes if lane.mean is not None}
    if "conventional" not in measured or len(measured) < 2:
        return None
    return Tracks(base, tuple(dict.fromkeys(lane.suite for lane in lanes)), tuple(lanes))


def _best(problem: ProblemData) -> dict[str, Row]:
    """The fastest recommended cell of each ecosystem on a problem."""
    found: dict[str, Row] = {}
    for row in problem.comparison.rows:
        seconds = row.gradient.seconds
        name = _ecosystem(row.summary)
        if name is None or seconds is None:
            continue
        known = found.get(name)
        if known is None or known.gradient.seconds is None or seconds.median < known.gradient.seconds.median:
            found[name] = row
    return found


def _ecosystem(cell: CellSummary) -> str | None:
    """Whose recommended cell this is that was run and takes gradients."""
    if cell.division != "idiomatic" or cell.cell.sensitivity == INFERENCE or not cell.processes:
        return None
    return next((name for name, own in ECOSYSTEMS.items() if cell.cell.adapter in own), None)


def _lane(
    suite: str, name: str, base: str, of_suite: list[ProblemData], best: dict[str, dict[str, Row]]
) -> Lane | None:
    """The lane of an ecosystem; empty if it and the base have no problem of the suite in common."""
    pairs: list[tuple[str, Row, Row]] = []
    lacking: list[tuple[str, CellSummary]] = []
    for item in of_suite:
        of = best[item.problem]
        ran = {_ecosystem(cell): cell for cell in reversed(item.summary.of_problem(item.problem))}
        if name in of and base in of:
            pairs.append((item.problem, of[name], of[base]))
        elif name in ran and base in ran:
            lacking.append((item.problem, ran[base] if name in of else ran[name]))
    if not pairs and not lacking:
        return None
    mean = geometric_mean(_ratio(row, other) for _, row, other in pairs) if pairs else None
    return Lane(suite, name, tuple(pairs), tuple(lacking), mean)


def _ratio(row: Row, base: Row) -> float:
    assert row.gradient.seconds is not None
    assert base.gradient.seconds is not None
    return row.gradient.seconds.median / base.gradient.seconds.median


def _rows(found: Tracks, lane: Lane) -> Iterator[tuple[object, ...]]:
    for problem, row, base in lane.pairs:
        yield (
            lane.suite, problem, lane.ecosystem, found.base, _ratio(row, base), row.summary.cell.label,
            base.summary.cell.label, f"{places(row.summary)} {places(base.summary)}",
        )  # fmt: skip
    for problem, cell in lane.lacking:
        of_base = cell.cell.adapter in ECOSYSTEMS[found.base]
        labels = (None, cell.cell.label) if of_base else (cell.cell.label, None)
        yield lane.suite, problem, lane.ecosystem, found.base, None, *labels, places(cell)


def _alt(found: Tracks) -> str:
    said = [f"Time per gradient relative to {found.base}, suite by suite."]
    for lane in found.lanes:
        told = [text for text in ("" if lane.mean is None else _told(lane.mean), _lack(found, lane)) if text]
        said.append(f"{lane.suite}: {lane.ecosystem} {', '.join(told)}.")
    return " ".join(said)


def _lack(found: Tracks, lane: Lane) -> str:
    """The number of problems without a ratio, and which side has no gradient."""
    if not lane.lacking:
        return ""
    own = sum(cell.cell.adapter in ECOSYSTEMS[lane.ecosystem] for _, cell in lane.lacking)
    count = len(lane.pairs) + len(lane.lacking)
    parts = [(lane.ecosystem, own), (found.base, len(lane.lacking) - own)]
    return ", ".join(f"no gradient by {name} on {missed} of {count}" for name, missed in parts if missed)


def _told(mean: GeometricMean) -> str:
    if mean.n == 1:
        return f"{formatting.ratio(mean.estimate)} on one problem"
    low, high = formatting.ratio(mean.low), formatting.ratio(mean.high)
    return f"{formatting.ratio(mean.estimate)} ({low} to {high}) over {mean.n} problems"


def _limits(found: Tracks) -> tuple[float, float]:
    """Around the means, and their intervals unless these are much wider."""
    means = [lane.mean for lane in found.lanes if lane.mean is not None]
    estimates = [math.log10(mean.estimate) for mean in means]
    low, high = min(0.0, *estimates) - 0.7, max(0.0, *estimates) + 0.7
    bounds = [math.log10(b) for mean in means for b in (mean.low, mean.high) if 0 < b < math.inf]
    inside = [bound for bound in bounds if low <= bound <= high]
    pad = 0.08
    return min(0.0, *estimates, *inside) - pad, max(0.0, *estimates, *inside) + pad


def _draw(backend: Backend, data: RunData, found: Tracks) -> None:
    names = tuple(name for name in ECOSYSTEMS if any(lane.ecosystem == name for lane in found.lanes))
    styles = {name: _style(data, found, name) for name in names}
    height = _LANE_IN * len(found.suites)
    legend = Legend([LegendLine(styles[name], name) for name in names])
    left = 0.2 + max(map(text_width_in, found.suites))
    backend.set_size(WIDTH_IN, 0.55 + height + 0.62 + legend.height_in)
    title(backend, f"Time per gradient relative to {found.base}", "models beside equations")
    axes = Axes(backend, left, legend.height_in + 0.55, WIDTH_IN - left - 0.25, height)
    limits = _limits(found)
    axes.limits(x=limits, y=(height, 0))
    axes.x_axis(scales.named_ticks(limits, scales.ratio_tick), "← faster     ratio of times     slower →")
    axes.segments([(0, 0, 0, height)], INK)
    for place, suite in enumerate(found.suites):
        middle = _LANE_IN * (place + 0.5)
        axes.beside(-0.09, height - middle - 0.04, suite, ha="right")
        for lane in (lane for lane in found.lanes if lane.suite == suite):
            y = middle + (names.index(lane.ecosystem) - (len(names) - 1) / 2) * _STEP_IN
            if lane.mean is not None:
                _draw_mean(axes, lane.mean, y, styles[lane.ecosystem])
            if lane.lacking:
                axes.text(limits[1], y + 0.03, _lack(found, lane), ha="right", color=styles[lane.ecosystem].colour)
    legend.draw(backend)


def _style(data: RunData, found: Tracks, name: str) -> Style:
    """Return how an ecosystem is drawn: as the first of its cells."""
    first = next(lane for lane in found.lanes if lane.ecosystem == name)
    style = data.palette.style(configuration(first.cell.cell))
    return dataclasses.replace(style, marker="d", dashes=(), filled=True)


def _draw_mean(axes: Axes, mean: GeometricMean, y: float, style: Style) -> None:
    left, right = axes.x_limits
    known = mean.low > 0 and math.isfinite(mean.high)
    start = max(left, math.log10(mean.low)) if known else left
    end = min(right, math.log10(mean.high)) if known else right
    axes.segments([(start, y, end, y)], style.colour, **{} if known else {"linewidth": 0.7, "linestyle": ":"})
    axes.line([math.log10(mean.estimate)], [y], **style.look(linestyle="", marker="d", markersize=7))


TRACKS = RunKind(
    name="tracks",
    shows="one ecosystem against another on each suite: models beside equations",
    needs="it takes two ecosystems with times on models and on equations; "
    "`sciml-bench run --suite conventional,stiff` measures both",
    make=_made,
)
