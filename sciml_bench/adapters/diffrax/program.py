"""Worker side of the Diffrax adapter: each of solve and gradient is one compiled function of all its inputs."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

# Diffrax's guide to comparing it with others: run-time checks of arguments off. What they would check is checked
# here, and a program with checks calls back into Python, which also keeps it out of JAX's compilation cache.
os.environ.setdefault("EQX_ON_ERROR", "nan")

import diffrax
import equinox
import jax
import jax.numpy as jnp
import numpy as np
import optimistix

from sciml_bench.adapters.base import FloatArray, Gradient, Program, Solution, load_source
from sciml_bench.adapters.diffrax import failure, solvers
from sciml_bench.adapters.diffrax.compiling import CompileTimes
from sciml_bench.outcome import Outcome, SolverFailure
from sciml_bench.task import Point, Task


class Inputs(NamedTuple):
    """Everything that may change between calls; changing it compiles nothing."""

    y0: jax.Array
    p: jax.Array
    rtol: jax.Array
    atol: jax.Array


class Solved(NamedTuple):
    """States at the saved times, (n_times, n_states), and what Diffrax says: status, steps, accepted steps.

    The report is one array because each output of a compiled function costs time in every call.
    """

    ys: jax.Array
    report: jax.Array


class Differentiated(NamedTuple):
    """The gradient, the loss and the report of the forward solve."""

    gradient: jax.Array
    loss: jax.Array
    report: jax.Array


class DiffraxProgram(Program):
    """``diffeqsolve``, the loss and the gradient inside one ``jax.jit``."""

    def __init__(self, task: Task):
        self._numbers = numbers = task.numbers
        self._cell = task.cell
        self._dtype = np.dtype(task.cell.precision)
        jax.config.update("jax_enable_x64", self._dtype == np.float64)
        self._source = load_source(task)
        self._scale = np.asarray(numbers.atol_scale, self._dtype)
        self._p_scale = np.array([abs(value) or 1.0 for value in numbers.p], self._dtype)
        self._solver = solvers.solver(task.cell.method)
        self._traces = 0
        self._compile_times = CompileTimes(("solve", "gradient"))
        self._compiled_solve = jax.jit(_named("solve", self._solve))
        self._compiled_gradient = jax.jit(_named("gradient", self._gradient))

    def prepare(self, theta: FloatArray, point: Point) -> Inputs:
        parameters = self._numbers.wrt == "parameters"
        y0 = self._numbers.y0 if parameters else theta
        p = theta if parameters else self._numbers.p
        inputs = Inputs(*(jnp.asarray(x, self._dtype) for x in (y0, p, point.rtol, point.atol)))
        return jax.block_until_ready(inputs)

    def solve(self, inputs: Inputs) -> Solved:
        return self._compiled_solve(inputs)

    def gradient(self, inputs: Inputs) -> Differentiated:
        return self._compiled_gradient(inputs)

    def synchronise(self, output: Solved | Differentiated) -> None:
        # All outputs of one compiled function are computed together; to wait for each takes time.
        output[0].block_until_ready()

    def read_solution(self, output: Solved) -> Solution:
        statistics = _statistics(output.report)
        ys = np.asarray(output.ys, dtype=np.float64)
        if not np.all(np.isfinite(ys)):
            raise SolverFailure(Outcome.NONFINITE, "Diffrax reports success, but the solution is not finite")
        return Solution(ys, statistics)

    def read_gradient(self, output: Differentiated) -> Gradient:
        statistics = _statistics(output.report)
        loss, gradient = float(output.loss), np.asarray(output.gradient, dtype=np.float64)
        if not (np.isfinite(loss) and np.all(np.isfinite(gradient))):
            backwards = "; its solve backwards in time may have failed" * (self._cell.sensitivity == "backsolve")
            message = f"Diffrax reports success, but the gradient is not finite{backwards}"
            raise SolverFailure(Outcome.NONFINITE, message)
        return Gradient(loss, gradient, statistics)

    def trace_count(self) -> int:
        return self._traces

    def phases_ns(self) -> dict[str, int]:
        return self._compile_times.ns

    def versions(self) -> dict[str, str]:
        return {
            "jax": jax.__version__,
            "diffrax": diffrax.__version__,
            "equinox": equinox.__version__,
            "optimistix": optimistix.__version__,
            "jax_backend": jax.default_backend(),
            "eqx_on_error": os.environ["EQX_ON_ERROR"],
        }

    def _right_hand_side(self, t: Any, y: jax.Array, p: jax.Array) -> jax.Array:
        self._traces += 1
        return self._source.rhs(t, y, p)

    def _terms(self) -> diffrax.AbstractTerm:
        """The equation as the method takes it: whole, or its explicit part and its implicit part."""
        if not solvers.is_split(self._cell.method):
            return diffrax.ODETerm(self._right_hand_side)

        def explicit(t: Any, y: jax.Array, p: jax.Array) -> jax.Array:
            self._traces += 1
            return self._source.explicit_terms(t, y, p)

        return diffrax.MultiTerm(diffrax.ODETerm(explicit), diffrax.ODETerm(self._source.implicit_terms))

    def _scaled_right_hand_side(self, t: Any, z: jax.Array, q: jax.Array) -> jax.Array:
        return self._right_hand_side(t, z * self._scale, q * self._p_scale) / self._scale

    def _solve(self, inputs: Inputs) -> Solved:
        # Without a gradient every adjoint is the same plain loop, but for DirectAdjoint, whose loop costs more.
        return self._integrate(inputs, "checkpointed")

    def _gradient(self, inputs: Inputs) -> Differentiated:
        sensitivity = self._cell.sensitivity
        integrate = self._integrate_scaled if sensitivity == "backsolve" else self._integrate
        name = "p" if self._numbers.wrt == "parameters" else "y0"

        def loss(theta: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
            solved = integrate(inputs._replace(**{name: theta}), sensitivity)
            value = self._source.loss(solved.ys)
            return value, (value, solved.report)

        differentiate = jax.jacfwd if sensitivity == "forward" else jax.grad
        gradient, (value, report) = differentiate(loss, has_aux=True)(getattr(inputs, name))
        return Differentiated(gradient, value, report)

    def _integrate(self, inputs: Inputs, sensitivity: str) -> Solved:
        return self._run(self._terms(), inputs, inputs.atol * self._scale, sensitivity)

    def _integrate_scaled(self, inputs: Inputs, sensitivity: str) -> Solved:
        """The same for z = y / atol_scale and parameters in units of their nominal size.

        The state of the adjoint equation has y, its adjoint and the parameters' gradient as parts, for which the
        controller takes one tolerance only. In scaled terms one is right: for y the problem's own, for the adjoints
        that of the loss over a typical y, or a typical parameter.
        """
        scaled = inputs._replace(y0=inputs.y0 / self._scale, p=inputs.p / self._p_scale)
        solved = self._run(diffrax.ODETerm(self._scaled_right_hand_side), scaled, inputs.atol, sensitivity)
        return solved._replace(ys=solved.ys * self._scale)

    def _run(self, terms: diffrax.AbstractTerm, inputs: Inputs, atol: jax.Array, sensitivity: str) -> Solved:
        numbers = self._numbers
        adjoint, max_steps = solvers.adjoint(sensitivity)
        solution = diffrax.diffeqsolve(
            terms,
            self._solver,
            t0=numbers.t0,
            t1=numbers.t1,
            dt0=None,
            y0=inputs.y0,
            args=inputs.p,
            saveat=diffrax.SaveAt(ts=jnp.asarray(numbers.save_times)),
            stepsize_controller=solvers.controller(self._cell.method, numbers, inputs.rtol, atol),
            adjoint=adjoint,
            max_steps=max_steps,
            throw=False,
        )
        assert solution.ys is not None
        counts = (jnp.asarray(solution.stats[name]) for name in ("num_steps", "num_accepted_steps"))
        return Solved(solution.ys, jnp.stack([failure.status(solution.result), *counts]))


def build(task: Task) -> DiffraxProgram:
    """The program of a Diffrax cell."""
    return DiffraxProgram(task)


def _named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function under the name by which JAX reports its compilation."""

    def call(inputs: Inputs) -> Any:
        return function(inputs)

    call.__name__ = call.__qualname__ = name
    return call


def _statistics(report: jax.Array) -> dict[str, float]:
    code, n_steps, n_accepted = np.asarray(report).tolist()
    failure.check(code, n_steps)
    return {"n_steps": n_steps, "n_accepted": n_accepted, "n_rejected": n_steps - n_accepted}
