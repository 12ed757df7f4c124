"""The kinds of charts there are. ``plot``, its help and the pages take them from here, in this order.

A new kind is one file that ends in its :class:`~sciml_bench.charts.kind.Kind`, and one line here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.summary import RunSummary
from sciml_bench.charts.chart import Chart
from sciml_bench.charts.data import RunData
from sciml_bench.charts.kind import Kind, ProblemKind, RunKind
from sciml_bench.charts.kinds.break_even import BREAK_EVEN
from sciml_bench.charts.kinds.ecosystems import TRACKS
from sciml_bench.charts.kinds.forest import FOREST
from sciml_bench.charts.kinds.latency import LATENCY
from sciml_bench.charts.kinds.memory import MEMORY
from sciml_bench.charts.kinds.performance_profile import PROFILE
from sciml_bench.charts.kinds.run_sequence import STEADY
from sciml_bench.charts.kinds.scaling import SCALING
from sciml_bench.charts.kinds.stability import STABILITY
from sciml_bench.charts.kinds.training import TRAINING
from sciml_bench.charts.kinds.work_precision import GRADIENT_PRECISION, WORK_PRECISION
from sciml_bench.charts.problem_data import ProblemData
from sciml_bench.charts.style import Palette
from sciml_bench.errors import UsageError

_KINDS = (
    WORK_PRECISION,
    GRADIENT_PRECISION,
    LATENCY,
    STEADY,
    STABILITY,
    BREAK_EVEN,
    MEMORY,
    TRAINING,
    PROFILE,
    FOREST,
    SCALING,
    TRACKS,
)

KINDS: dict[str, Kind] = {kind.name: kind for kind in _KINDS}
"""Every kind by its name."""


def of_problem(summary: RunSummary, problem: str, names: Collection[str] = tuple(KINDS)) -> Iterator[Chart]:
    """The charts of one problem, of the kinds with these names; empty if there is nothing to draw."""
    data = ProblemData(summary, problem, _palette(summary))
    for kind in KINDS.values():
        if isinstance(kind, ProblemKind) and kind.name in names:
            yield from kind.charts(data)


def across(
    summary: RunSummary, names: Collection[str] = tuple(KINDS), analysis: Analysis | None = None
) -> Iterator[Chart]:
    """The charts across several problems, of the kinds with these names; empty if there is nothing to draw.

    ``analysis`` has the run's verdicts, which may rest on more than the run.
    """
    data = RunData(summary, _palette(summary), analysis or Analysis(summary))
    for kind in KINDS.values():
        if isinstance(kind, RunKind) and kind.name in names:
            yield from kind.charts(data)


def charts(analysis: Analysis, name: str, problem: str | None = None) -> list[Chart]:
    """The charts of one kind, of one problem or of all; empty if there is nothing to draw.

    Raises:
        UsageError: there is no such kind, the run has no such problem, or the kind looks at all problems together.
    """
    summary = analysis.summary
    if name not in KINDS:
        raise UsageError(f"unknown kind of chart '{name}'; there are {', '.join(KINDS)}")
    if problem is not None and problem not in summary.problems:
        raise UsageError(f"the run has no problem '{problem}'; it has {', '.join(summary.problems) or 'none'}")
    if isinstance(KINDS[name], RunKind):
        if problem is not None:
            raise UsageError(f"{name} looks at all problems together: leave --problem out")
        return list(across(summary, (name,), analysis))
    names = summary.problems if problem is None else (problem,)
    return [chart for each in names for chart in of_problem(summary, each, (name,))]


def _palette(summary: RunSummary) -> Palette:
    looks = {name: item.look for name, item in summary.declared.items() if item.look is not None}
    return Palette((item.cell for item in summary.cells.values()), looks)
