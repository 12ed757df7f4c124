"""Both tracks side by side: how much faster one ecosystem is than another on each suite, models and equations alike.

Whoever wins on images may lose on stiff equations. Solvers and model frameworks of one ecosystem are matched, and of
each the fastest recommended cell of a problem is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sciml_bench.report import quantities
from sciml_bench.report.charts.across import Across
from sciml_bench.report.charts.chart import Chart, chart_name
from sciml_bench.report.charts.material import Material, places
from sciml_bench.report.charts.palette import INK, Style, configuration
from sciml_bench.report.rows import Row
from sciml_bench.stats.across import GeometricMean, geometric_mean

if TYPE_CHECKING:
    from sciml_bench.report.charts.pane import Pane
    from sciml_bench.report.charts.paper import Paper

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
class Mean:
    """One ecosystem against the base on one suite: the ratios of its problems, and their geometric mean."""

    suite: str
    ecosystem: str
    pairs: tuple[tuple[str, Row, Row], ...]
    mean: GeometricMean


@dataclass(frozen=True)
class Tracks:
    """The chart: suites that have a ratio, against the ecosystem that was measured on the most problems."""

    base: str
    suites: tuple[str, ...]
    means: tuple[Mean, ...]


def tracks(material: Across) -> Iterator[Chart]:
    """The chart of a run that holds models and equations; none where it has one of them, or one ecosystem."""
    found = _found(material) if material.comparable else None
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
            "One problem has no interval, and is dotted."
        ),
        columns=("suite", "problem", "ecosystem", "base", "ratio", "cell", "base_cell", "records"),
        rows=tuple(row for mean in found.means for row in _rows(found, mean)),
        draw=lambda figure: _draw(figure, material, found),
    )


def _found(material: Across) -> Tracks | None:
    suites = {entry["name"]: str(entry.get("suite", "")) for entry in material.summary.plan["problems"]}
    best = {item.problem: _best(item) for item in material.materials}
    counts = {name: sum(name in of for of in best.values()) for name in ECOSYSTEMS}
    base = max(counts, key=lambda name: counts[name])
    means = [
        mean
        for suite in dict.fromkeys(suites.values())
        for name in ECOSYSTEMS
        if name != base
        and (mean := _mean(suite, name, base, {p: of for p, of in best.items() if suites.get(p) == suite})) is not None
    ]
    measured = tuple(dict.fromkeys(mean.suite for mean in means))
    if "conventional" not in measured or len(measured) < 2:
        return None
    return Tracks(base, measured, tuple(means))


def _best(material: Material) -> dict[str, Row]:
    """The fastest recommended cell of each ecosystem on a problem."""
    found: dict[str, Row] = {}
    for row in material.comparison.rows:
        seconds = row.gradient.seconds
        name = next((name for name, own in ECOSYSTEMS.items() if row.summary.cell.adapter in own), None)
        if name is None or seconds is None or row.summary.division != "idiomatic":
            continue
        known = found.get(name)
        if known is None or known.gradient.seconds is None or seconds.median < known.gradient.seconds.median:
            found[name] = row
    return found


def _mean(suite: str, name: str, base: str, best: dict[str, dict[str, Row]]) -> Mean | None:
    pairs = tuple((problem, of[name], of[base]) for problem, of in best.items() if name in of and base in of)
    if not pairs:
        return None
    return Mean(suite, name, pairs, geometric_mean(_ratio(row, other) for _, row, other in pairs))


def _ratio(row: Row, base: Row) -> float:
    assert row.gradient.seconds is not None
    assert base.gradient.seconds is not None
    return row.gradient.seconds.median / base.gradient.seconds.median


def _rows(found: Tracks, mean: Mean) -> Iterator[tuple[object, ...]]:
    for problem, row, base in mean.pairs:
        yield (
            mean.suite, problem, mean.ecosystem, found.base, _ratio(row, base), row.summary.cell.label,
            base.summary.cell.label, f"{places(row.summary)} {places(base.summary)}",
        )  # fmt: skip


def _alt(found: Tracks) -> str:
    said = [f"Time per gradient relative to {found.base}, suite by suite."]
    for mean in found.means:
        said.append(f"{mean.suite}: {mean.ecosystem} {_told(mean.mean)}.")
    return " ".join(said)


def _told(mean: GeometricMean) -> str:
    if mean.n == 1:
        return f"{quantities.ratio(mean.estimate)} on one problem"
    low, high = quantities.ratio(mean.low), quantities.ratio(mean.high)
    return f"{quantities.ratio(mean.estimate)} ({low} to {high}) over {mean.n} problems"


def _limits(found: Tracks) -> tuple[float, float]:
    """Around the means, and their intervals as far as these are not much wider."""
    estimates = [math.log10(mean.mean.estimate) for mean in found.means]
    low, high = min(0.0, *estimates) - 0.7, max(0.0, *estimates) + 0.7
    bounds = [math.log10(b) for mean in found.means for b in (mean.mean.low, mean.mean.high) if 0 < b < math.inf]
    inside = [bound for bound in bounds if low <= bound <= high]
    pad = 0.08
    return min(0.0, *estimates, *inside) - pad, max(0.0, *estimates, *inside) + pad


def _draw(figure: Paper, material: Across, found: Tracks) -> None:
    from sciml_bench.report.charts import scales
    from sciml_bench.report.charts.canvas import WIDTH_IN, text_width_in, title
    from sciml_bench.report.charts.legend import Entry, Legend
    from sciml_bench.report.charts.pane import Pane

    names = tuple(dict.fromkeys(mean.ecosystem for mean in found.means))
    styles = {name: _style(material, found, name) for name in names}
    height = _LANE_IN * len(found.suites)
    legend = Legend([Entry(styles[name], name) for name in names])
    left = 0.2 + max(map(text_width_in, found.suites))
    figure.set_size_inches(WIDTH_IN, 0.55 + height + 0.62 + legend.height_in)
    title(figure, f"Time per gradient relative to {found.base}", "models beside equations")
    pane = Pane(figure, left, legend.height_in + 0.55, WIDTH_IN - left - 0.25, height)
    limits = _limits(found)
    pane.limits(x=limits, y=(height, 0))
    pane.x_axis(scales.named_ticks(limits, scales.ratio_tick), "← faster     ratio of times     slower →")
    pane.segments([(0, 0, 0, height)], INK)
    for place, suite in enumerate(found.suites):
        middle = _LANE_IN * (place + 0.5)
        pane.beside(-0.09, height - middle - 0.04, suite, ha="right")
        for mean in (mean for mean in found.means if mean.suite == suite):
            shift = (names.index(mean.ecosystem) - (len(names) - 1) / 2) * _STEP_IN
            _draw_mean(pane, mean.mean, middle + shift, styles[mean.ecosystem])
    legend.draw(figure)


def _style(material: Across, found: Tracks, name: str) -> Style:
    """How an ecosystem is drawn: as the first of its cells."""
    first = next(mean for mean in found.means if mean.ecosystem == name)
    return material.palette.style(configuration(first.pairs[0][1].summary.cell))


def _draw_mean(pane: Pane, mean: GeometricMean, y: float, style: Style) -> None:
    left, right = pane.x_limits
    known = mean.low > 0 and math.isfinite(mean.high)
    start = max(left, math.log10(mean.low)) if known else left
    end = min(right, math.log10(mean.high)) if known else right
    pane.segments([(start, y, end, y)], style.colour, **{} if known else {"linewidth": 0.7, "linestyle": ":"})
    pane.line([math.log10(mean.estimate)], [y], **style.look(linestyle="", marker="d", markersize=7))
