"""The classical Runge-Kutta method in fixed steps, as users of TensorFlow write it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from sciml_bench.adapters.time_grid import grid, refuse_too_many, steps_between

STAGES = 4

RightHandSide = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


class Diagnostics(NamedTuple):
    """The report of TensorFlow Probability's solvers on a solve; fixed steps always reach the end."""

    num_ode_fn_evaluations: int
    status: int = 0
    num_jacobian_evaluations: int = 0
    num_matrix_factorizations: int = 0


class Results(NamedTuple):
    """States at the saved times, (n_times, *shape of the state)."""

    states: tf.Tensor
    diagnostics: Diagnostics


class RungeKutta4:
    """Fixed steps of order 4, equal between two saved times. ``unrolled``: each step is written into the graph.

    Has the interface of TensorFlow Probability's solvers, reduced to the parts used here.
    """

    def __init__(self, steps_per_unit: float, unrolled: bool):
        self._steps_per_unit = steps_per_unit
        self._unrolled = unrolled

    def solve(
        self, ode_fn: RightHandSide, initial_time: float, initial_state: tf.Tensor, solution_times: Any, **_: Any
    ) -> Results:
        """Solve from ``initial_state`` at ``initial_time``, and save at the increasing ``solution_times``."""
        times = (initial_time, *(float(time) for time in solution_times))
        counts = steps_between(times, self._steps_per_unit)
        refuse_too_many(sum(counts))
        solve = _written_out if self._unrolled else _in_a_loop
        states = solve(ode_fn, initial_state, grid(times, counts), np.cumsum(counts) - 1)
        return Results(states, Diagnostics(STAGES * sum(counts)))


def _in_a_loop(ode_fn: RightHandSide, y0: tf.Tensor, ends: np.ndarray, saved: np.ndarray) -> tf.Tensor:
    """The states after the steps of the indices ``saved``, of all between the times ``ends``."""
    n_steps = len(ends) - 1
    starts, sizes = tf.constant(ends[:-1], y0.dtype), tf.constant(np.diff(ends), y0.dtype)

    def body(i: tf.Tensor, y: tf.Tensor, states: tf.TensorArray) -> tuple[tf.Tensor, tf.Tensor, tf.TensorArray]:
        y = _step(ode_fn, starts[i], y, sizes[i])
        return i + 1, y, states.write(i, y)

    states = tf.TensorArray(y0.dtype, size=n_steps, element_shape=y0.shape)
    # XLA differentiates only loops with a known number of iterations.
    *_, states = tf.while_loop(lambda i, *_: i < n_steps, body, (0, y0, states), maximum_iterations=n_steps)
    return tf.gather(states.stack(), saved)


def _written_out(ode_fn: RightHandSide, y0: tf.Tensor, ends: np.ndarray, saved: np.ndarray) -> tf.Tensor:
    """Integrate without a loop in the graph."""
    y, states, wanted = y0, [], set(saved.tolist())
    for i, (start, end) in enumerate(itertools.pairwise(ends)):
        y = _step(ode_fn, tf.constant(start, y0.dtype), y, tf.constant(end - start, y0.dtype))
        if i in wanted:
            states.append(y)
    return tf.stack(states)


def _step(ode_fn: RightHandSide, t: tf.Tensor, y: tf.Tensor, h: tf.Tensor) -> tf.Tensor:
    k1 = ode_fn(t, y)
    k2 = ode_fn(t + h / 2, y + h / 2 * k1)
    k3 = ode_fn(t + h / 2, y + h / 2 * k2)
    k4 = ode_fn(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
