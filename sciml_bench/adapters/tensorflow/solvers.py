"""TensorFlow Probability's solvers, bounded in a way that a compiled program can report.

Left alone they fail silently or never: the adjoint solve's status is dropped and its partial result returned as the
gradient; ``DormandPrince`` bounds its steps by an assertion, which XLA leaves out, so that a step size that has become
not-a-number loops for ever (https://github.com/tensorflow/probability/issues/1318 is such a case).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

from sciml_bench.adapters.time_grid import grid, refuse_too_many, steps_between
from sciml_bench.record.outcome import Outcome, SolverFailure

# The classical Runge-Kutta method in fixed steps, as users of TensorFlow write it.

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


MAX_STEPS = 2**16
"""Of a solve; for the adjoint, of each interval between saved times."""
MAX_STEPS_ADJOINT = 2**13

BDF_ATOL = 1e-2
"""Of the absolute tolerance, what BDF takes of it in a solve. It ends Newton's iterations, and weighs errors, by
``atol + rtol*abs(y)``, and does poorly where both are alike: components that are small beside their scale then carry
the errors of the others. Its defaults, ``rtol=1e-3`` and ``atol=1e-6``, are a thousand times apart. With a hundredth,
Robertson's problem takes 0.81 times the evaluations at equal accuracy, HIRES 0.93, the Brusselator in one dimension
0.93 to 0.99; with a thousandth slightly more. The adjoint equation has no such scale, and keeps the tolerance; so do
forward sensitivities, whose errors a larger part of the norm must see: at an error of 1e-5 Robertson's gradient takes
4.3 ms with the whole tolerance, 4.8 with a hundredth of it."""

# Values of a solver's status: BDF's own, and one more of ours.
TOO_MANY_STEPS = -1
NOT_A_NUMBER = -2


class CheckedBDF(tfp.math.ode.BDF):
    """BDF whose result is not a number when it did not reach the end."""

    def solve(self, *args: Any, **kwargs: Any) -> Any:
        """As :meth:`tfp.math.ode.Solver.solve`."""
        results = super().solve(*args, **kwargs)
        reached = tf.equal(results.diagnostics.status, 0)
        return results._replace(states=_where(reached, results.states))


class BoundedDormandPrince(tfp.math.ode.DormandPrince):
    """DormandPrince that ends with a status, not an assertion, if it takes too many steps or its step is not a number.

    It ends by setting its time to infinity, past every saved time; its solution is then not-a-number. What need not be
    done in every step is done once, after the last: every operation in the loop counts.
    """

    def __init__(self, max_steps: int, **options: Any):
        super().__init__(**options)
        self._most_evaluations = max_steps * self.ODE_FN_EVALS_PER_STEP

    def _step(self, solver_state: Any, diagnostics: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        state, diagnostics = super()._step(solver_state, diagnostics, *args, **kwargs)
        going_on = tf.logical_and(
            diagnostics.num_ode_fn_evaluations < self._most_evaluations, tf.math.is_finite(state.step_size)
        )
        infinity = tf.constant(float("inf"), state.current_time.dtype)
        return state._replace(current_time=tf.where(going_on, state.current_time, infinity)), diagnostics

    def solve(self, *args: Any, **kwargs: Any) -> Any:
        """As :meth:`tfp.math.ode.Solver.solve`, with a status."""
        results = super().solve(*args, **kwargs)
        last = results.solver_internal_state
        stopped = tf.where(tf.math.is_finite(last.step_size), TOO_MANY_STEPS, NOT_A_NUMBER)
        status = tf.where(tf.math.is_finite(last.current_time), results.diagnostics.status, stopped)
        return results._replace(
            states=_where(tf.equal(status, 0), results.states),
            diagnostics=results.diagnostics._replace(status=status),
        )


def solver(method: str, xla: bool, rtol: tf.Tensor, atol: tf.Tensor, bdf_atol: float = BDF_ATOL) -> Any:
    """The solver for a method of the declaration. As by default, the adjoint equation is solved by the same one.

    ``bdf_atol`` is the part of the absolute tolerance that BDF takes, see :data:`BDF_ATOL`.
    """
    tolerances = {"rtol": rtol, "atol": atol}
    if method == "bdf":
        adjoint = CheckedBDF(**tolerances, max_num_steps=MAX_STEPS_ADJOINT)
        return tfp.math.ode.BDF(
            rtol=rtol, atol=bdf_atol * atol, max_num_steps=MAX_STEPS, make_adjoint_solver_fn=lambda: adjoint
        )
    if xla:
        adjoint = BoundedDormandPrince(MAX_STEPS_ADJOINT, **tolerances)
        return BoundedDormandPrince(MAX_STEPS, **tolerances, make_adjoint_solver_fn=lambda: adjoint)
    adjoint = tfp.math.ode.DormandPrince(**tolerances, max_num_steps=MAX_STEPS_ADJOINT)
    return tfp.math.ode.DormandPrince(**tolerances, max_num_steps=MAX_STEPS, make_adjoint_solver_fn=lambda: adjoint)


def _where(kept: tf.Tensor, values: Any) -> Any:
    return tf.nest.map_structure(lambda value: tf.where(kept, value, tf.constant(float("nan"), value.dtype)), values)


# Typed outcomes of failed solves in TensorFlow.

_ASSERTION = "max_num_steps exceeded"
_MAX_STEPS = "TensorFlow Probability stopped: the maximum number of steps was reached"
# XLA's words for an operation that it has no kernel for or whose shape it cannot tell.
_UNCOMPILABLE = (
    "Detected unsupported operations",
    "not compilable",
    "XLA compilation",
    "uncompilable",
    "must be a compile-time constant",
)


@contextmanager
def typed(xla: bool) -> Iterator[None]:
    """Turn an assertion of the solver, or XLA's refusal to compile a program, into a typed failure."""
    try:
        yield
    except (tf.errors.InvalidArgumentError, tf.errors.UnimplementedError) as error:
        text = error.message
        if _ASSERTION in text:
            raise SolverFailure(Outcome.MAX_STEPS, _MAX_STEPS) from error
        if xla and any(words in text for words in _UNCOMPILABLE):
            raise SolverFailure(Outcome.UNSUPPORTED, f"XLA cannot compile the program: {_short(text)}") from error
        raise


def check(status: int) -> None:
    """Raise when a solver's status is not success."""
    if status == NOT_A_NUMBER:
        raise SolverFailure(Outcome.NONFINITE, "TensorFlow Probability stopped: the step size became not-a-number")
    if status != 0:
        raise SolverFailure(Outcome.MAX_STEPS, _MAX_STEPS)


def _short(text: str) -> str:
    """Without the lines that only say where in the graph it happened."""
    return " ".join(text.split())[:500]
