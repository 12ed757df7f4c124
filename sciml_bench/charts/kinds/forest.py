"""Forest plots: the ratio of times with its interval, a lane for each problem."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sciml_bench.analysis.tables import formatting
from sciml_bench.charts import scales
from sciml_bench.charts.axes import Axes
from sciml_bench.charts.backend import Backend
from sciml_bench.charts.chart import Chart, chart_name, clean
from sciml_bench.charts.data import Contest, Measured, RunData
from sciml_bench.charts.kind import RunKind
from sciml_bench.charts.layout import WIDTH_IN, Legend, LegendLine, text_width_in, title
from sciml_bench.charts.problem_data import label, places
from sciml_bench.charts.style import INK, Configuration
from sciml_bench.stats.aggregate import GeometricMean, geometric_mean
from sciml_bench.stats.verdict import Judgement, Verdict

_MOST_SOLVERS = 5
_STEP_IN = 0.13
_BAND = math.log10(1.05)
_DECIDED = {Verdict.FASTER, Verdict.SLOWER}


@dataclass(frozen=True)
class Ratio:
    """One solver against the base on one problem."""

    problem: str
    base: Measured
    other: Measured
    judgement: Judgement


@dataclass(frozen=True)
class Opponent:
    """All ratios of one solver to the base, and their geometric mean."""

    solver: Configuration
    name: str
    ratios: tuple[Ratio, ...]
    mean: GeometricMean


@dataclass(frozen=True)
class Forest:
    """One chart: solvers against one base."""

    contest: Contest
    quantity: str
    base: Configuration
    base_name: str
    opponents: tuple[Opponent, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems with a ratio, in the plan's order."""
        known = {ratio.problem for opponent in self.opponents for ratio in opponent.ratios}
        return tuple(name for name in self.contest.solvers[self.base] if name in known)


def _made(data: RunData) -> Iterator[Chart]:
    """For each contest and quantity, the other solvers against the one that was measured on the most problems."""
    for quantity in ("gradient", "solve"):
        for contest in data.contests:
            for number, found in enumerate(_forests(data, contest, quantity), start=1):
                yield _chart(data, found, number)


def _forests(data: RunData, contest: Contest, quantity: str) -> Iterator[Forest]:
    """The base is chosen by the number of measurements, never by its times. Solvers without a common problem with it
    get another base.
    """
    left = dict(contest.solvers)
    while len(left) > 1:
        timed = {key: [name for name, entry in of.items() if entry.cost(quantity)] for key, of in left.items()}
        base = max(left, key=lambda key: len(timed[key]))
        opponents = [
            opponent for key in left if key != base and (opponent := _opponent(data, contest, quantity, base, key))
        ]
        for start in range(0, len(opponents), _MOST_SOLVERS):
            chosen = tuple(opponents[start : start + _MOST_SOLVERS])
            yield Forest(contest, quantity, base, _name(contest.solvers[base]), chosen)
        left = {key: of for key, of in left.items() if key not in {base, *(opponent.solver for opponent in opponents)}}


def _name(solver: Mapping[str, Measured]) -> str:
    return label(next(iter(solver.values())).cell)


def _opponent(
    data: RunData, contest: Contest, quantity: str, base: Configuration, other: Configuration
) -> Opponent | None:
    """The ratios of one pair; ``None`` with fewer than two problems."""
    ratios: list[Ratio] = []
    for problem, of_base in contest.solvers[base].items():
        of_other = contest.solvers[other].get(problem)
        if of_other is None:
            continue
        judgement = data.judgement(quantity, of_base, of_other)
        if judgement is not None:
            ratios.append(Ratio(problem, of_base, of_other, judgement))
    if len(ratios) < 2:
        return None
    mean = geometric_mean(ratio.judgement.ratio.estimate for ratio in ratios)
    return Opponent(other, _name(contest.solvers[other]), tuple(ratios), mean)


def _chart(data: RunData, found: Forest, number: int) -> Chart:
    return Chart(
        kind="forest",
        name=chart_name("forest", found.quantity, found.contest.name, str(number) if number > 1 else ""),
        title=f"Time per {found.quantity} relative to {found.base_name}, {found.contest.name}",
        alt=_alt(found),
        method=(
            f"A ratio below 1 is faster than {found.base_name}, which is the base because it was measured on the most "
            f"problems. Times per {found.quantity} are read off at equal achieved accuracy and paired by block; the "
            "line is the 95 % interval of the paired log ratio (Student's t), the shaded band ±5 %. Filled: faster or "
            "slower after Benjamini–Hochberg over all comparisons of the run; hollow: same or undecided. The diamond "
            "is the geometric mean over the problems, its interval how it would move with other problems like these."
        ),
        columns=(
            "set", "problem", "solver", "base", "ratio", "low_95", "high_95", "blocks", "adjusted_p", "verdict",
            "records",
        ),
        rows=tuple(row for opponent in found.opponents for row in _rows(found, opponent)),
        draw=lambda backend: _draw(backend, data, found),
    )  # fmt: skip


def _rows(found: Forest, opponent: Opponent) -> Iterator[tuple[object, ...]]:
    for item in opponent.ratios:
        ratio = item.judgement.ratio
        yield (
            found.contest.name, item.problem, opponent.name, found.base_name, ratio.estimate, ratio.low,
            ratio.high if math.isfinite(ratio.high) else None, ratio.n, item.judgement.adjusted_p,
            item.judgement.verdict.value, f"{places(item.base.cell)} {places(item.other.cell)}",
        )  # fmt: skip


def _alt(found: Forest) -> str:
    said = [f"Time per {found.quantity} relative to {found.base_name} ({found.contest.name})."]
    for opponent in found.opponents:
        counts = {verdict: sum(item.judgement.verdict is verdict for item in opponent.ratios) for verdict in Verdict}
        told = ", ".join(f"{verdict.value} on {count}" for verdict, count in counts.items() if count)
        said.append(
            f"{opponent.name}: {told} of {len(opponent.ratios)} problems, geometric mean "
            f"{formatting.ratio(opponent.mean.estimate)} ({formatting.ratio(opponent.mean.low)} to "
            f"{formatting.ratio(opponent.mean.high)})."
        )
    return " ".join(said)


def _limits(found: Forest) -> tuple[float, float]:
    """Around the estimates, and their intervals unless these are much wider."""
    every = [item.judgement.ratio for opponent in found.opponents for item in opponent.ratios]
    estimates = [math.log10(ratio.estimate) for ratio in every]
    low, high = min(0.0, *estimates) - 0.5, max(0.0, *estimates) + 0.5
    bounds = [math.log10(bound) for ratio in every for bound in (ratio.low, ratio.high) if 0 < bound < math.inf]
    inside = [bound for bound in bounds if low <= bound <= high]
    low, high = min(0.0, *estimates, *inside), max(0.0, *estimates, *inside)
    pad = 0.05 * (high - low) + 0.03
    return low - pad, high + pad


def _draw(backend: Backend, data: RunData, found: Forest) -> None:
    lane = max(0.24, _STEP_IN * len(found.opponents) + 0.1)
    problems = found.problems
    height = lane * (len(problems) + 1) + 0.05
    legend = Legend(
        [
            LegendLine(data.palette.style(opponent.solver), f"{opponent.name}: {_mean_told(opponent)}")
            for opponent in found.opponents
        ]
    )
    names = [*(clean(name, 30) for name in problems), "geometric mean"]
    left = 0.2 + max(map(text_width_in, names))
    backend.set_size(WIDTH_IN, 0.55 + height + 0.62 + legend.height_in)
    title(backend, f"Time per {found.quantity} relative to {found.base_name}", found.contest.name)
    axes = Axes(backend, left, legend.height_in + 0.55, WIDTH_IN - left - 0.25, height)
    limits = _limits(found)
    axes.limits(x=limits, y=(height, 0))
    axes.boxes([(-_BAND, 0, 2 * _BAND, height)], INK, alpha=0.08)
    axes.x_axis(scales.named_ticks(limits, scales.ratio_tick), "← faster     ratio of times     slower →")
    axes.segments([(0, 0, 0, height)])
    axes.segments([(limits[0], lane * len(problems), limits[1], lane * len(problems))], linewidth=0.6)
    middles = [lane * (place + 0.5) for place in range(len(names))]
    for name, y in zip(names, middles, strict=True):
        axes.beside(-0.09, height - y - 0.04, name, ha="right")
    for place, opponent in enumerate(found.opponents):
        shift = (place - (len(found.opponents) - 1) / 2) * _STEP_IN
        heights = {name: y + shift for name, y in zip(problems, middles, strict=False)}
        _draw_opponent(axes, data, opponent, heights, middles[-1] + shift)
    legend.draw(backend)


def _mean_told(opponent: Opponent) -> str:
    mean = opponent.mean
    low, high = formatting.ratio(mean.low), formatting.ratio(mean.high)
    return f"{formatting.ratio(mean.estimate)} ({low} to {high}) over {mean.n}"


def _draw_opponent(axes: Axes, data: RunData, opponent: Opponent, heights: Mapping[str, float], last: float) -> None:
    style = data.palette.style(opponent.solver)
    for item in opponent.ratios:
        ratio, y = item.judgement.ratio, heights[item.problem]
        _interval(axes, ratio.low, ratio.high, y, style.colour)
        face = style.colour if item.judgement.verdict in _DECIDED else "none"
        axes.line([math.log10(ratio.estimate)], [y], **style.look(linestyle="", markerfacecolor=face))
    _interval(axes, opponent.mean.low, opponent.mean.high, last, style.colour)
    diamond = style.look(linestyle="", marker="d", markersize=7)
    axes.line([math.log10(opponent.mean.estimate)], [last], **diamond)


def _interval(axes: Axes, low: float, high: float, y: float, colour: str) -> None:
    """The interval of a ratio, cut at the edges of the pane; one that is unknown is dotted from edge to edge."""
    left, right = axes.x_limits
    start = max(left, math.log10(low)) if low > 0 else left
    end = min(right, math.log10(high)) if math.isfinite(high) else right
    known = low > 0 and math.isfinite(high)
    axes.segments([(start, y, end, y)], colour, **{} if known else {"linewidth": 0.7, "linestyle": ":"})


FOREST = RunKind(
    name="forest",
    shows="ratio of times with its interval, a line for each problem",
    needs="it takes two solvers with times on the same two problems, in the same blocks",
    make=_made,
)
