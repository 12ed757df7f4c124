"""Judges a task's first calls: a solver's by its reference, a model's by its own."""

from __future__ import annotations

from sciml_bench.adapters.program import FloatArray, Gradient
from sciml_bench.measure.scoring.gradient import gradient_scores
from sciml_bench.measure.scoring.parity import BOUNDS, gradient_parity, output_scores, slopes_of
from sciml_bench.measure.scoring.solution import solve_scores
from sciml_bench.record.point import Scores
from sciml_bench.record.task import Point, Task
from sciml_bench.record.theta import Theta

Judged = tuple[Scores | None, str]
"""Scores, ``None`` without a reference, and the reason why they miss their bound, empty if they meet it."""


def judged_solve(task: Task, ys: FloatArray) -> Judged:
    """Of a solution (n_times, n_states), or of a model's outputs (batch, n_outputs)."""
    if task.learning is None:
        if task.reference is None:
            return None, ""
        return solve_scores(ys, task.reference, task.numbers.atol_scale, task.error_bound)
    truth = task.learning.truth
    return (None, "") if truth is None else output_scores(ys, truth, BOUNDS[task.cell.precision])


def judged_gradient(task: Task, gradient: Gradient, point: Point) -> Judged:
    """Of a loss and its gradient."""
    precision = task.cell.precision
    if task.learning is None:
        if task.reference is None:
            return None, ""
        theta = task.theta or Theta.unnamed(task.numbers.theta)
        return gradient_scores(gradient.gradient, theta, task.reference, point, precision, task.gradient_error_bound)
    truth = task.learning.truth
    if truth is None:
        return None, ""
    return gradient_parity(gradient.loss, gradient.gradient, point.batch or 1, truth, BOUNDS[precision])


def judged_slopes(task: Task, gradient: Gradient) -> FloatArray | None:
    """The numbers that judge a model's gradient, kept in its record: its products with the truth's directions."""
    truth = None if task.learning is None else task.learning.truth
    return None if truth is None else slopes_of(gradient.gradient, truth)
