"""Training: the loss of each cell against the time since its first step began."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sciml_bench.analysis.tables import formatting
from sciml_bench.analysis.tables.training import LOSS
from sciml_bench.analysis.training import TrainingRow, conditions, curve_process, goal, training_rows
from sciml_bench.charts import scales
from sciml_bench.charts.axes import Axes
from sciml_bench.charts.backend import Backend
from sciml_bench.charts.chart import Chart, chart_name, clean
from sciml_bench.charts.kind import ProblemKind
from sciml_bench.charts.layout import Grid, LegendLine, failed_strip, title
from sciml_bench.charts.line_names import End, LineNames
from sciml_bench.charts.problem_data import ProblemData, label, listed, places
from sciml_bench.record.outcome import Outcome

_MOST_ROWS = 40
_MOST_DRAWN = 200

Step = tuple[int, float, float]
"""Its number from 1, the seconds at its end, and the loss that it started from."""


def _made(data: ProblemData) -> Iterator[Chart]:
    """One chart: a line for each cell that trained."""
    rows = training_rows(data.cells)
    if not any(_steps(row) for row in rows):
        return
    settings = rows[0].trained.settings
    yield Chart(
        kind="training",
        name=chart_name("training", data.problem),
        title=f"{data.title}: loss against the time of training",
        alt=_alt(data, rows),
        method=(
            f"Up to {settings.steps} steps of {settings.optimiser}, {conditions(settings)}, from the same parameters "
            "on the same data in each framework's own optimiser. The time of a step covers solve (or output), "
            "gradient and update; it is counted from the start of the "
            "first step, which compiles. The loss is the one that a step starts from. Shown is the first process of "
            "each cell; nothing is smoothed. The data holds the steps at the ends and those between at growing "
            "distances, `sciml-bench export` has all."
        ),
        columns=("cell", "step", "seconds", "loss", "ended", "steps", "records"),
        rows=tuple(line for row in rows for line in _rows(row)),
        draw=lambda backend: _draw(backend, data, rows),
    )


def _steps(row: TrainingRow) -> list[Step]:
    """The steps whose loss is finite."""
    trained = row.trained
    together = zip(trained.ended_ns, trained.losses, strict=False)
    return [(k, ns / 1e9, loss) for k, (ns, loss) in enumerate(together, start=1) if loss is not None and ns > 0]


def _some(steps: Sequence[Step], most: int, also: int | None = None) -> list[Step]:
    """Both ends, and steps between at distances that grow by the same factor; ``also`` the step at this place."""
    count = len(steps)
    if count <= most:
        return list(steps)
    kept = {round(count ** (place / (most - 1))) - 1 for place in range(most)} | {0, count - 1}
    if also is not None:
        kept.add(min(also, count - 1))
    return [steps[place] for place in sorted(kept)]


def _rows(row: TrainingRow) -> Iterator[tuple[object, ...]]:
    trained = row.trained
    steps = _some(_steps(row), _MOST_ROWS, trained.target_step)
    told = (trained.outcome.value, len(trained.losses), places(row.cell, [curve_process(row.cell)]))
    for number, seconds, loss in steps or [(None, None, None)]:
        yield (label(row.cell), number, seconds, loss, *told)


def _alt(data: ProblemData, rows: Sequence[TrainingRow]) -> str:
    wanted = goal(rows[0].trained.settings)
    said = [f"Loss against time of {len(rows)} trainings of {data.title}."]
    for row in rows:
        steps = _steps(row)
        if steps:
            _, seconds, last = steps[-1]
            words = f"{label(row.cell)} goes from {format(steps[0][2], LOSS)} to {format(last, LOSS)}"
            said.append(f"{words} in {len(steps)} steps and {formatting.duration(seconds)}.")
    reached = sorted((row.to_target.median, label(row.cell)) for row in rows if row.to_target is not None)
    if reached:
        said.append(
            f"The target, {wanted}, is reached first by {reached[0][1]}, in {formatting.duration(reached[0][0])}."
        )
    early = [f"{label(row.cell)} ({row.trained.outcome})" for row in rows if row.trained.outcome is not Outcome.OK]
    if early:
        said.append(f"Ended early: {listed(early, 6)}.")
    return " ".join(said)


def _draw(backend: Backend, data: ProblemData, rows: Sequence[TrainingRow]) -> None:
    names = LineNames([LegendLine(data.style(row.cell), _entry(row)) for row in rows])
    grid = Grid(1, names.below_in, right_in=names.right_in, cautioned=bool(data.caution))
    grid.open(backend)
    title(backend, f"{data.title}: loss against the time of training", data.caution)
    every = [step for row in rows for step in _steps(row)]
    logarithmic = all(loss > 0 for _, _, loss in every)
    axes = grid.axes(backend, 0)
    x_limits = scales.log_limits([math.log10(seconds) for _, seconds, _ in every])
    y_limits = _y_limits([loss for _, _, loss in every], logarithmic)
    axes.limits(x=x_limits, y=y_limits)
    axes.x_axis(scales.named_ticks(x_limits, scales.duration_tick), "time since the first step began")
    axes.y_axis(scales.named_ticks(y_limits, scales.ratio_tick) if logarithmic else _linear_ticks(*y_limits), "loss")
    _draw_target(axes, rows[0].trained.settings.target, logarithmic)
    for row in rows:
        _draw_curve(axes, data, row, logarithmic)
    without = [row for row in rows if not _steps(row)]
    if without:
        failed_strip(axes, [data.style(row.cell) for row in without])
    names.draw(backend, axes, [_end(row, logarithmic) for row in rows])


def _end(row: TrainingRow, logarithmic: bool) -> End:
    steps = _steps(row)
    if not steps:
        return None
    _, seconds, loss = steps[-1]
    return math.log10(seconds), math.log10(loss) if logarithmic else loss


def _entry(row: TrainingRow) -> str:
    ended = "" if row.trained.outcome is Outcome.OK else f": {row.trained.outcome}"
    return clean(f"{label(row.cell)}{ended}")


def _y_limits(losses: Sequence[float], logarithmic: bool) -> tuple[float, float]:
    if logarithmic:
        return scales.log_limits([math.log10(loss) for loss in losses], least=0.3)
    low, high = min(losses), max(losses)
    pad = 0.06 * (high - low) or 1.0
    return low - pad, high + pad


def _linear_ticks(low: float, high: float) -> dict[float, str]:
    """Five values at equal distances; a loss that can be negative has no natural zero."""
    ticks = (low + (high - low) * part / 5 for part in range(1, 5))
    return {tick: f"{tick:.3g}" for tick in ticks}


def _draw_target(axes: Axes, target: float | None, logarithmic: bool) -> None:
    if target is None or (logarithmic and target <= 0):
        return
    y = math.log10(target) if logarithmic else target
    (left, right), (low, high) = axes.x_limits, axes.y_limits
    if low < y < high:
        axes.segments([(left, y, right, y)], linewidth=0.8, linestyle=(0, (3, 2)), alpha=0.7)
        axes.text(right, y + 0.012 * (high - low), f"target {target:g}", ha="right")


def _draw_curve(axes: Axes, data: ProblemData, row: TrainingRow, logarithmic: bool) -> None:
    steps = _some(_steps(row), _MOST_DRAWN)
    if not steps:
        return
    xs = [math.log10(seconds) for _, seconds, _ in steps]
    ys = [math.log10(loss) if logarithmic else loss for _, _, loss in steps]
    axes.line(xs, ys, **data.style(row.cell).look(markevery=max(1, len(xs) // 6)))
    if row.trained.outcome is not Outcome.OK:
        axes.line([xs[-1]], [ys[-1]], marker="x", color=data.style(row.cell).colour, markersize=7.0)


TRAINING = ProblemKind(
    name="training",
    shows="loss against the time of training",
    needs="nothing was trained; problems with a [training] table are",
    make=_made,
)
