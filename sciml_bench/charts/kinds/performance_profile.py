"""Performance profiles (Dolan & Moré 2002): the share of problems that a library solves within a factor of the best."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sciml_bench.charts import scales
from sciml_bench.charts.axes import Axes
from sciml_bench.charts.backend import Backend
from sciml_bench.charts.chart import Chart, chart_name
from sciml_bench.charts.data import Measured, RunData
from sciml_bench.charts.kind import RunKind
from sciml_bench.charts.layout import Grid, Legend, LegendLine, title
from sciml_bench.charts.problem_data import ProblemData, label, listed, places
from sciml_bench.stats.aggregate import Profile, performance_profile

_FURTHEST = 1e4
BEST, DEFAULT = "best way", "default"


@dataclass(frozen=True)
class ProfilePanel:
    """Libraries measured on the same problems, each by its best way there or by its default.

    Ratios are to ``least``, the least cost of anything measured on a problem, whether its library is shown or not.
    """

    name: str
    problems: tuple[str, ...]
    libraries: Mapping[str, Mapping[str, Measured]]
    least: Mapping[str, float | None]
    profiles: Mapping[str, Profile]
    absent: tuple[str, ...]


def _made(data: RunData) -> Iterator[Chart]:
    """A chart for gradients and one for solves, with a panel for best ways and one for defaults."""
    for quantity in ("gradient", "solve"):
        panels = [panel for name in (BEST, DEFAULT) if (panel := _panel(data, name, quantity)) is not None]
        if panels:
            yield _chart(data, quantity, panels)


def _chart(data: RunData, quantity: str, panels: Sequence[ProfilePanel]) -> Chart:
    return Chart(
        kind="profile",
        name=chart_name("profile", quantity),
        title=f"Performance profile: time per {quantity} of each library over all problems",
        alt=" ".join([f"Performance profiles of the time per {quantity}.", *map(_said, panels)]),
        method=(
            f"For each problem the time per {quantity} of a library, by its fastest way there, is divided by the least "
            "time of anything measured there, at equal achieved accuracy; a curve shows on what share of the problems "
            "this ratio is at most so large. If a library failed, the ratio is never reached. The second panel takes "
            "the default of each library that recommends another way than its default. Only the comparison with the "
            "least time can be read off (Dolan & Moré 2002; Gould & Scott 2016)."
        ),
        columns=("panel", "library", "problem", "way", f"{quantity}_s", "ratio_to_least", "records"),
        rows=tuple(row for panel in panels for row in _rows(panel, quantity)),
        draw=lambda backend: _draw(backend, data, quantity, panels),
    )


def _panel(data: RunData, name: str, quantity: str) -> ProfilePanel | None:
    """The libraries measured on the same problems; ``None`` with fewer than two of either, or without any time."""
    by_problem = {of.problem: _measured(of) for of in data.problems}
    picked: dict[str, dict[str, Measured]] = {}
    for problem, entries in by_problem.items():
        for library in dict.fromkeys(entry.cell.cell.adapter for entry in entries):
            ways = [entry for entry in entries if entry.cell.cell.adapter == library]
            if name == DEFAULT:
                ways = [entry for entry in ways if entry.cell.is_default]
            if ways:
                picked.setdefault(library, {})[problem] = _cheapest(ways, quantity)
    problems = _shared(picked, list(by_problem))
    shown = {library: of for library, of in picked.items() if problems <= of.keys()}
    if len(shown) < 2 or len(problems) < 2:
        return None
    least = {
        problem: min((cost for entry in by_problem[problem] if (cost := entry.cost(quantity))), default=None)
        for problem in by_problem
        if problem in problems
    }
    costs = {library: {problem: of[problem].cost(quantity) for problem in least} for library, of in shown.items()}
    if all(cost is None for of in costs.values() for cost in of.values()):
        return None
    absent = tuple(library for library in picked if library not in shown)
    return ProfilePanel(name, tuple(least), shown, least, performance_profile(costs, least), absent)


def _measured(data: ProblemData) -> list[Measured]:
    rows = {row.summary.cell_id: row for row in data.comparison.rows}
    return [Measured(cell, rows.get(cell.cell_id)) for cell in data.cells]


def _cheapest(entries: Sequence[Measured], quantity: str) -> Measured:
    return min(entries, key=lambda entry: entry.cost(quantity) or math.inf)


def _shared(libraries: Mapping[str, Mapping[str, Measured]], problems: Sequence[str]) -> frozenset[str]:
    """The set of problems shared by at least two libraries that makes the most pairs of a library and a problem."""
    sets = {frozenset(of) for of in libraries.values()} | {frozenset(problems)}
    pairs = {of: len(of) * sum(of <= known.keys() for known in libraries.values()) for of in sets}
    fitting = [of for of in sets if pairs[of] > len(of)]
    return max(fitting, key=lambda of: (pairs[of], len(of), sorted(of)), default=frozenset())


def _rows(panel: ProfilePanel, quantity: str) -> Iterator[tuple[object, ...]]:
    for library, of in panel.libraries.items():
        for problem in panel.problems:
            cost, least = of[problem].cost(quantity), panel.least[problem]
            ratio = None if cost is None or least is None else cost / least
            yield (panel.name, library, problem, label(of[problem].cell), cost, ratio, places(of[problem].cell))


def _said(panel: ProfilePanel) -> str:
    profiles = {library: panel.profiles[library] for library in panel.libraries}
    ahead = sorted(profiles, key=lambda library: -profiles[library].best)
    shares = [f"{library} on {_percent(profiles[library].best)}" for library in ahead if profiles[library].best]
    solved = [f"{library} {_percent(of.solved)}" for library, of in profiles.items()]
    said = [
        f"Each library by its {panel.name}, {len(panel.problems)} problems. The least time of all measured ways: "
        f"{listed(shares, 6) or 'not any of them'}. Solved: {listed(solved, 9)}."
    ]
    if panel.absent:
        said.append(f"Not shown, since not measured on all of these problems: {listed(panel.absent, 6)}.")
    return " ".join(said)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _draw(backend: Backend, data: RunData, quantity: str, panels: Sequence[ProfilePanel]) -> None:
    entries = [LegendLine(data.palette.library(library), library) for panel in panels for library in panel.libraries]
    legend = Legend(list(dict.fromkeys(entries)))
    grid = Grid(len(panels), legend.height_in)
    grid.open(backend)
    title(backend, f"Performance profile of libraries, time per {quantity}")
    for place, panel in enumerate(panels):
        axes = grid.axes(backend, place)
        grid.title(axes, f"each library's {panel.name}")
        _draw_panel(axes, data, panel, "share of the problems" if grid.leftmost(place) else "")
    legend.draw(backend)


def _draw_panel(axes: Axes, data: RunData, panel: ProfilePanel, y_label: str) -> None:
    widest = max((of.ratios[-1] for of in panel.profiles.values() if of.ratios), default=1.0)
    last = math.log10(min(max(4.0, 1.5 * widest), _FURTHEST))
    axes.limits(x=(-0.01, last), y=(-0.03, 1.03))
    axes.x_axis(
        scales.named_ticks((-0.01, last), scales.ratio_tick),
        f"ratio to the least time, {len(panel.problems)} problems",
    )
    axes.y_axis({share / 4: f"{25 * share} %" for share in range(5)}, y_label)
    for library in panel.libraries:
        found = panel.profiles[library]
        xs = [0.0, *(min(math.log10(ratio), last) for ratio in found.ratios), last]
        ys = [found.best, *found.shares, found.solved]
        look = data.palette.library(library).look(markersize=4, markevery=slice(0, len(xs) - 1))
        axes.line(xs, ys, steps=True, **look)


PROFILE = RunKind(
    name="profile",
    shows="performance profile: the share of problems that a library solves within a factor of the least time",
    needs="it takes two libraries that were measured on the same two problems, and one of them right",
    make=_made,
)
