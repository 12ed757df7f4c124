"""Performance profiles (Dolan & Moré 2002): the share of problems that a solver solves within a factor of the best."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sciml_bench.charts import scales
from sciml_bench.charts.axes import Axes
from sciml_bench.charts.backend import Backend
from sciml_bench.charts.chart import Chart, chart_name
from sciml_bench.charts.data import Contest, Measured, RunData, label, listed, places
from sciml_bench.charts.kind import RunKind
from sciml_bench.charts.layout import Grid, Legend, LegendLine, joined, title
from sciml_bench.charts.style import Configuration
from sciml_bench.stats.across import Profile, performance_profile

_FURTHEST = 1e4


@dataclass(frozen=True)
class ProfilePanel:
    """One panel: solvers that were all measured on the same problems."""

    name: str
    problems: tuple[str, ...]
    solvers: Mapping[Configuration, Mapping[str, Measured]]
    profiles: Mapping[Configuration, Profile]


def _made(data: RunData) -> Iterator[Chart]:
    """A chart for gradients and one for solves, with a panel for each set of solvers measured on the same problems."""
    for quantity in ("gradient", "solve"):
        panels = [panel for contest in data.contests for panel in _panels(contest, quantity)]
        if panels:
            yield _chart(data, quantity, panels)


def _chart(data: RunData, quantity: str, panels: Sequence[ProfilePanel]) -> Chart:
    return Chart(
        kind="profile",
        name=chart_name("profile", quantity),
        title=f"Performance profile: time per {quantity} over all problems",
        alt=_alt(data, quantity, panels),
        method=(
            f"For each problem the time per {quantity} at equal achieved accuracy is divided by the least of the "
            "solvers in the panel; a curve shows on what share of the problems this ratio is at most so large. Where "
            "a solver failed, the ratio is never reached. Only the comparison with the best can be read off (Dolan & "
            "Moré 2002; Gould & Scott 2016). A panel holds solvers that were measured on the same problems."
        ),
        columns=("set", "solver", "problem", f"{quantity}_s", "ratio_to_least", "records"),
        rows=tuple(row for panel in panels for row in _rows(panel, quantity)),
        draw=lambda backend: _draw(backend, data, quantity, panels),
    )


def _panels(contest: Contest, quantity: str) -> Iterator[ProfilePanel]:
    """The solvers of a contest in sets that were measured on the same problems, the largest set first."""
    left = dict(contest.solvers)
    while True:
        found = _largest(left)
        if found is None:
            return
        solvers = {key: of for key, of in left.items() if found <= of.keys()}
        for key in solvers:
            del left[key]
        problems = tuple(name for name in next(iter(solvers.values())) if name in found)
        costs = {key: {name: of[name].cost(quantity) for name in problems} for key, of in solvers.items()}
        if any(cost is not None for of in costs.values() for cost in of.values()):
            yield ProfilePanel(contest.name, problems, solvers, performance_profile(costs))


def _largest(solvers: Mapping[Configuration, Mapping[str, Measured]]) -> frozenset[str] | None:
    """The problems shared by at least two solvers that make the most pairs of a solver and a problem."""
    sets = sorted({frozenset(of) for of in solvers.values()}, key=sorted)
    counts = [(sum(problems <= of.keys() for of in solvers.values()), problems) for problems in sets]
    fitting = [(n * len(problems), len(problems), problems) for n, problems in counts if n > 1 and len(problems) > 1]
    return max(fitting, key=lambda item: item[:2])[2] if fitting else None


def _name(solver: Mapping[str, Measured]) -> str:
    return label(next(iter(solver.values())).cell)


def _rows(panel: ProfilePanel, quantity: str) -> Iterator[tuple[object, ...]]:
    least = {
        problem: min((cost for of in panel.solvers.values() if (cost := of[problem].cost(quantity))), default=None)
        for problem in panel.problems
    }
    for solver in panel.solvers.values():
        for problem in panel.problems:
            cost, best = solver[problem].cost(quantity), least[problem]
            ratio = None if cost is None or best is None else cost / best
            yield (panel.name, _name(solver), problem, cost, ratio, places(solver[problem].cell))


def _alt(data: RunData, quantity: str, panels: Sequence[ProfilePanel]) -> str:
    said = [f"Performance profiles of the time per {quantity}."]
    for panel in panels:
        best = max(panel.profiles, key=lambda key: panel.profiles[key].best)
        most = max(panel.profiles, key=lambda key: panel.profiles[key].solved)
        said.append(
            f"{panel.name}, {len(panel.problems)} problems: {_name(panel.solvers[best])} is the fastest on "
            f"{_percent(panel.profiles[best].best)}; {_name(panel.solvers[most])} solves most, "
            f"{_percent(panel.profiles[most].solved)}."
        )
    shown = {(panel.name, key) for panel in panels for key in panel.solvers}
    without = [
        _name(of)
        for contest in data.contests
        for key, of in contest.solvers.items()
        if (contest.name, key) not in shown
    ]
    if without:
        said.append(f"Not shown, since no other solver was measured on the same problems: {listed(without, 6)}.")
    return " ".join(said)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _draw(backend: Backend, data: RunData, quantity: str, panels: Sequence[ProfilePanel]) -> None:
    entries = [
        LegendLine(
            data.palette.style(key),
            f"{_name(solver)}: solves {_percent(panel.profiles[key].solved)} of {len(panel.problems)}",
        )
        for panel in panels
        for key, solver in panel.solvers.items()
    ]
    legend = Legend(list(dict.fromkeys(entries)))
    grid = Grid(len(panels), legend.height_in)
    grid.open(backend)
    title(backend, joined(f"Performance profile, time per {quantity}", panels[0].name if grid.single else ""))
    for place, panel in enumerate(panels):
        axes = grid.axes(backend, place)
        grid.title(axes, panel.name.removeprefix("matched: "))
        _draw_panel(axes, data, panel, "share of the problems" if grid.leftmost(place) else "")
    legend.draw(backend)


def _draw_panel(axes: Axes, data: RunData, panel: ProfilePanel, y_label: str) -> None:
    widest = max((of.ratios[-1] for of in panel.profiles.values() if of.ratios), default=1.0)
    last = math.log10(min(max(4.0, 1.5 * widest), _FURTHEST))
    axes.limits(x=(-0.01, last), y=(-0.03, 1.03))
    x_label = f"ratio to the fastest, {len(panel.problems)} problems"
    axes.x_axis(scales.named_ticks((-0.01, last), scales.ratio_tick), x_label)
    axes.y_axis({share / 4: f"{25 * share} %" for share in range(5)}, y_label)
    for key, found in panel.profiles.items():
        xs = [0.0, *(min(math.log10(ratio), last) for ratio in found.ratios), last]
        ys = [found.best, *found.shares, found.solved]
        look = data.palette.style(key).look(markersize=4, markevery=slice(0, len(xs) - 1))
        axes.line(xs, ys, steps=True, **look)


PROFILE = RunKind(
    name="profile",
    shows="performance profile: the share of problems solved within a factor of the fastest",
    needs="it takes two solvers that were measured on the same two problems, and one of them right",
    make=_made,
)
