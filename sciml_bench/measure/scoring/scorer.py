"""Judges a task's first calls: a solver's by its reference, a model's by its own."""

from __future__ import annotations

from typing import Protocol

from sciml_bench.adapters.base import FloatArray, Gradient
from sciml_bench.measure.scoring.gradient import gradient_scores
from sciml_bench.measure.scoring.parity import BOUNDS, gradient_parity, output_scores, slopes_of
from sciml_bench.measure.scoring.solution import solve_scores
from sciml_bench.record.point import Scores
from sciml_bench.record.task import Point, Task
from sciml_bench.record.theta import Theta

Judged = tuple[Scores | None, str]
"""Scores, ``None`` without a reference, and the reason why they miss their bound, empty if they meet it."""


class Scorer(Protocol):
    """Judges the result of a scored call at a point."""

    def solve(self, ys: FloatArray, point: Point) -> Judged:
        """Of a solution (n_times, n_states), or of a model's outputs (batch, n_outputs)."""
        ...

    def gradient(self, gradient: Gradient, point: Point) -> Judged:
        """Of a loss and its gradient."""
        ...

    def slopes(self, gradient: Gradient) -> FloatArray | None:
        """The numbers that judge a model's gradient, kept in its record: its products with the truth's directions."""
        ...


def scorer_of(task: Task) -> Scorer:
    """The scorer of a task."""
    return _SolverScorer(task) if task.learning is None else _ModelScorer(task)


class _SolverScorer:
    def __init__(self, task: Task):
        self._task = task

    def solve(self, ys: FloatArray, point: Point) -> Judged:
        task = self._task
        if task.reference is None:
            return None, ""
        return solve_scores(ys, task.reference, task.numbers.atol_scale, task.error_bound)

    def gradient(self, gradient: Gradient, point: Point) -> Judged:
        task = self._task
        if task.reference is None:
            return None, ""
        theta = task.theta or Theta.unnamed(task.numbers.theta)
        precision, bound = task.cell.precision, task.gradient_error_bound
        return gradient_scores(gradient.gradient, theta, task.reference, point, precision, bound)

    def slopes(self, gradient: Gradient) -> FloatArray | None:
        return None


class _ModelScorer:
    def __init__(self, task: Task):
        self._truth = None if task.learning is None else task.learning.truth
        self._bound = BOUNDS[task.cell.precision]

    def solve(self, ys: FloatArray, point: Point) -> Judged:
        return (None, "") if self._truth is None else output_scores(ys, self._truth, self._bound)

    def gradient(self, gradient: Gradient, point: Point) -> Judged:
        if self._truth is None:
            return None, ""
        return gradient_parity(gradient.loss, gradient.gradient, point.batch or 1, self._truth, self._bound)

    def slopes(self, gradient: Gradient) -> FloatArray | None:
        return None if self._truth is None else slopes_of(gradient.gradient, self._truth)
