"""TensorFlow Probability's solvers, bounded in a way that a compiled program can report.

Left alone they fail silently or never: the adjoint solve's status is dropped and its partial result returned as the
gradient; ``DormandPrince`` bounds its steps by an assertion, which XLA leaves out, so that a step size that has become
not-a-number loops for ever (https://github.com/tensorflow/probability/issues/1318 is such a case).
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf
import tensorflow_probability as tfp

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
