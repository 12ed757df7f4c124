"""The figures of a run: what they show as data and words, and how they are drawn.

Nothing here imports matplotlib before something is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sciml_bench.analysis.models import is_model
from sciml_bench.analysis.summary import RunSummary
from sciml_bench.charts import precision
from sciml_bench.charts.break_even import break_even
from sciml_bench.charts.chart import ACROSS, KINDS, OF_PROBLEM, Chart
from sciml_bench.charts.data import Across, Material
from sciml_bench.charts.forest import forest
from sciml_bench.charts.latency import latency
from sciml_bench.charts.memory import memory
from sciml_bench.charts.profile import profile
from sciml_bench.charts.scaling import scaling
from sciml_bench.charts.stability import stability
from sciml_bench.charts.steady import steady
from sciml_bench.charts.style import Palette
from sciml_bench.charts.tracks import tracks
from sciml_bench.charts.training import training

__all__ = ["ACROSS", "KINDS", "OF_PROBLEM", "Chart", "across", "of_problem"]

_OF_PROBLEM: Mapping[str, Callable[[Material], Iterator[Chart]]] = {
    "work-precision": precision.work_precision,
    "gradient-precision": precision.gradient_precision,
    "latency": latency,
    "steady": steady,
    "stability": stability,
    "break-even": break_even,
    "memory": memory,
    "training": training,
}
# A model has no accuracy to trade for time: it keeps parity or is not timed.
_OF_MODEL = ("latency", "steady", "break-even", "memory", "training")
_ACROSS: Mapping[str, Callable[[Across], Iterator[Chart]]] = {
    "profile": profile,
    "forest": forest,
    "scaling": scaling,
    "tracks": tracks,
}


def of_problem(summary: RunSummary, problem: str, kinds: tuple[str, ...] = KINDS) -> Iterator[Chart]:
    """The charts of one problem, of these kinds, in the order of :data:`KINDS`; none where there is nothing to draw."""
    material = Material(summary, problem, _palette(summary))
    entry = next((entry for entry in summary.plan["problems"] if entry["name"] == problem), {})
    for kind, charts in _OF_PROBLEM.items():
        if kind in kinds and (kind in _OF_MODEL or not is_model(entry)):
            yield from charts(material)


def across(summary: RunSummary, kinds: tuple[str, ...] = KINDS) -> Iterator[Chart]:
    """The charts that need several problems, of these kinds; none where there is nothing to draw."""
    material = Across(summary, _palette(summary))
    for kind, charts in _ACROSS.items():
        if kind in kinds:
            yield from charts(material)


def _palette(summary: RunSummary) -> Palette:
    return Palette(item.cell for item in summary.cells.values())
