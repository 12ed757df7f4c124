"""Worker side of the Diffrax adapter: each of solve and gradient is one compiled function of all its inputs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

# Diffrax's guide to comparing it with others: run-time checks of arguments off. Equivalent checks run here, and a
# program with checks calls back into Python, which also keeps it out of JAX's compilation cache.
os.environ.setdefault("EQX_ON_ERROR", "nan")

import diffrax
import equinox
import jax
import jax.numpy as jnp
import numpy as np
import optimistix

from sciml_bench.adapters.diffrax import solvers
from sciml_bench.adapters.diffrax.failures import MAX_STEPS_REACHED, check, outcome, status
from sciml_bench.adapters.diffrax.gradients import Gradients, Inputs
from sciml_bench.adapters.emitted_source import load_source
from sciml_bench.adapters.jax.compiling import CacheHits, CompileTimes
from sciml_bench.adapters.jax.device import device_of, peak_bytes
from sciml_bench.adapters.program import FloatArray, Gradient, Program, Solution, Trainer
from sciml_bench.host.extras import install_command
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Point, Task, Training
from sciml_bench.record.trajectories import Trajectories

N_REPORT = 3
"""Diffrax's report of a solve: status, steps, accepted steps."""


Arguments = tuple[Any, ...]
"""The arguments of the right-hand side after t and y: the parameters, then each network as an Equinox module."""


class Values(NamedTuple):
    """The inputs of one solve inside the compiled function, and further inputs of the loss."""

    y0: jax.Array
    p: jax.Array
    rtol: jax.Array
    atol: jax.Array
    penalty: jax.Array | float = 0.0
    controls: tuple[Any, ...] = ()


class Solved(NamedTuple):
    """States at the saved times, (n_times, n_states), and the report, (N_REPORT,); of a batch, an axis more."""

    ys: jax.Array
    report: jax.Array


Integrate = Callable[[Values, str, int], Solved]


class DiffraxProgram(Program):
    """``diffeqsolve``, the loss and the gradient inside one ``jax.jit``.

    The compiled functions take one array, theta followed by rtol and atol, and give one, the result followed by the
    report: each argument and each result costs time in every call. A change of the input compiles nothing.
    """

    def __init__(self, task: Task):
        self._numbers = numbers = task.numbers
        self._cell = task.cell
        self._dtype = np.dtype(task.cell.precision)
        jax.config.update("jax_enable_x64", self._dtype == np.float64)
        self._device = device_of(task.cell)
        self._source = load_source(task)
        self._scale = np.asarray(numbers.atol_scale[: numbers.n_states], self._dtype)
        self._p_scale = np.asarray(numbers.p_scale, self._dtype)
        self._arguments = getattr(self._source, "arguments", lambda p: (p,))
        # Data of the trajectories, where something is computed around the solve.
        self._given: tuple[jax.Array, ...] | None = getattr(self._source, "GIVEN", None)
        self._solver = solvers.solver(task.cell.method)
        self._bounds = solvers.bounds(task.cell.sensitivity, numbers)
        self._traces = 0
        self._compile_times = CompileTimes(("solve", "gradient"))
        self._cache_hits = CacheHits()
        self._compiled_solve = jax.jit(_named("solve", self._solve))
        self._gradients = Gradients(
            [jax.jit(_named("gradient", partial(self._gradient, most=most))) for most in self._bounds], self._ran_out
        )

    def solve_for(self, rhs: Callable[..., Any]) -> None:
        """Take another right-hand side of time, state and parameters than the emitted one."""
        vars(self._source)["rhs"] = rhs

    def prepare(self, theta: FloatArray, point: Point) -> Inputs:
        return Inputs(jax.block_until_ready(jnp.asarray([*theta, point.rtol, point.atol], self._dtype)), point.rtol)

    def solve(self, inputs: Inputs) -> jax.Array:
        return self._compiled_solve(inputs.values)

    def gradient(self, inputs: Inputs) -> jax.Array:
        return self._gradients(inputs)

    def synchronise(self, output: jax.Array) -> None:
        output.block_until_ready()

    def read_solution(self, output: jax.Array) -> Solution:
        values, reports = self._split(output)
        ys = self._by_time(values)
        if not np.all(np.isfinite(ys)):
            raise SolverFailure(Outcome.NONFINITE, "Diffrax reports success, but the solution is not finite")
        return Solution(ys, _statistics(reports), _trajectories(reports))

    def read_gradient(self, output: jax.Array) -> Gradient:
        return self._gradient_of(*self._split(self._gradients.complete(output)))

    def _gradient_of(self, values: FloatArray, reports: FloatArray) -> Gradient:
        *gradient, loss = values
        if not np.all(np.isfinite(values)):
            backwards = "; its solve backwards in time may have failed" * (self._cell.sensitivity == "backsolve")
            message = f"Diffrax reports success, but the gradient is not finite{backwards}"
            raise SolverFailure(Outcome.NONFINITE, message)
        return Gradient(float(loss), np.array(gradient), _statistics(reports))

    def trainer(self, training: Training) -> Trainer:
        # Optax is only imported by cells that train.
        try:
            from sciml_bench.adapters.diffrax.training import DiffraxTrainer
        except ImportError as error:
            message = f"Optax cannot be imported ({error}); run: {install_command('jax')}"
            raise SolverFailure(Outcome.UNSUPPORTED, message) from error
        inputs = self.prepare(np.asarray(self._numbers.theta), training.point)
        gradients = [partial(self._gradient, most=most) for most in self._bounds]
        return DiffraxTrainer(training, inputs.values, gradients, self._ran_out, self._read_found)

    def _read_found(self, output: jax.Array) -> Gradient:
        return self._gradient_of(*self._split(output))

    def _ran_out(self, output: jax.Array) -> bool:
        """Return whether a solve was ended by the bound on its steps."""
        return bool(np.any(self._reports(np.asarray(output))[:, 0] == MAX_STEPS_REACHED))

    def _reports(self, values: FloatArray) -> FloatArray:
        return values[-N_REPORT * self._numbers.batch :].reshape(-1, N_REPORT)

    def _split(self, output: jax.Array) -> tuple[FloatArray, FloatArray]:
        """The result, and what Diffrax says of the solve of each trajectory, (batch, N_REPORT).

        Raises a typed failure when one of them failed.
        """
        values = np.asarray(output, dtype=np.float64)
        reports = self._reports(values)
        failed = reports[reports[:, 0] != 0]
        if len(failed):
            check(int(failed[0, 0]), int(failed[0, 1]), len(failed), _trajectories(reports))
        return values[: -reports.size], reports

    def _by_time(self, values: FloatArray) -> FloatArray:
        """States at the saved times, with all trajectories side by side, (n_times, batch * n_states)."""
        numbers = self._numbers
        ys = values.reshape(numbers.batch, len(numbers.save_times), numbers.n_states)
        return ys.transpose(1, 0, 2).reshape(len(numbers.save_times), -1)

    def peak_device_bytes(self) -> int | None:
        return peak_bytes(self._device)

    def trace_count(self) -> int:
        return self._traces

    def phases_ns(self) -> dict[str, int]:
        return self._compile_times.ns

    def cache_hits(self) -> int:
        return self._cache_hits.count

    def versions(self) -> dict[str, str]:
        return {
            "jax": jax.__version__,
            "diffrax": diffrax.__version__,
            "equinox": equinox.__version__,
            "optimistix": optimistix.__version__,
            "jax_device": str(self._device.device_kind),
            "eqx_on_error": os.environ["EQX_ON_ERROR"],
            **{name: sys.modules[name].__version__ for name in ("optax",) if name in sys.modules},
        }

    def _right_hand_side(self, t: Any, y: jax.Array, arguments: Arguments) -> jax.Array:
        self._traces += 1
        return self._source.rhs(t, y, *arguments)

    def _terms(self, values: Values) -> diffrax.AbstractTerm:
        """The equation as the method takes it: whole, its explicit and implicit parts, or its drift and its noise."""
        if solvers.is_stochastic(self._cell.method):
            return self._stochastic_terms(values)
        if not solvers.is_split(self._cell.method):
            return diffrax.ODETerm(self._right_hand_side)

        def explicit(t: Any, y: jax.Array, arguments: Arguments) -> jax.Array:
            self._traces += 1
            return self._source.explicit_terms(t, y, *arguments)

        def implicit(t: Any, y: jax.Array, arguments: Arguments) -> jax.Array:
            return self._source.implicit_terms(t, y, *arguments)

        return diffrax.MultiTerm(diffrax.ODETerm(explicit), diffrax.ODETerm(implicit))

    def _stochastic_terms(self, values: Values) -> diffrax.AbstractTerm:
        def drift(t: Any, y: jax.Array, arguments: Arguments) -> jax.Array:
            self._traces += 1
            return self._source.drift(t, y, *arguments)

        def diffusion(t: Any, y: jax.Array, arguments: Arguments) -> jax.Array:
            return self._source.diffusion(t, y, *arguments)

        (motion,) = values.controls
        return diffrax.MultiTerm(diffrax.ODETerm(drift), diffrax.ControlTerm(diffusion, motion))

    def _scaled_right_hand_side(self, t: Any, z: jax.Array, arguments: Arguments) -> jax.Array:
        q, *networks = arguments
        named = q * self._p_scale[: self._numbers.n_named]
        return self._right_hand_side(t, z * self._scale, (named, *networks)) / self._scale

    def _solve(self, inputs: jax.Array) -> jax.Array:
        # Without a gradient every adjoint is the same plain loop, except DirectAdjoint, whose loop costs more.
        values = self._values(inputs[:-2], inputs[-2:])
        solved = self._integrated(self._integrate, values, "checkpointed", solvers.MAX_STEPS)
        return jnp.concatenate([solved.ys.ravel(), solved.report.ravel()])

    def _gradient(self, inputs: jax.Array, most: int) -> jax.Array:
        """The gradient, the loss and the report, with at most ``most`` steps."""
        sensitivity = self._cell.sensitivity
        integrate = self._integrate_scaled if sensitivity == "backsolve" else self._integrate

        def loss(theta: jax.Array) -> tuple[jax.Array, jax.Array]:
            values = self._values(theta, inputs[-2:])
            solved = self._integrated(integrate, values, sensitivity, most)
            value = self._loss(solved.ys, values)
            return value, jnp.append(value, solved.report)

        differentiate = jax.jacfwd if sensitivity == "forward" else jax.grad
        return jnp.concatenate(differentiate(loss, has_aux=True)(inputs[:-2]))

    def _values(self, theta: jax.Array, tolerances: jax.Array) -> Values:
        parameters = self._numbers.wrt == "parameters"
        y0 = jnp.asarray(self._numbers.y0, self._dtype) if parameters else theta
        p = theta if parameters else jnp.asarray(self._numbers.p, self._dtype)
        penalty: jax.Array | float = 0.0
        if self._given is not None:
            y0, penalty = self._start(p, self._given)
        return Values(y0, p, tolerances[0], tolerances[1], penalty)

    def _start(self, p: jax.Array, given: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array | float]:
        """All initial states as theta and the data decide them, flat, and the penalty of the loss."""
        arguments = self._arguments(p)

        def start(*given: jax.Array) -> Any:
            return self._source.initial_state(*given, *arguments)

        found = start(*given) if self._numbers.batch == 1 else jax.vmap(start)(*given)
        y0, penalty = found if isinstance(found, tuple) else (found, 0.0)
        return y0.ravel(), jnp.sum(penalty)

    def _rhs_arguments(self, p: jax.Array) -> Arguments:
        """The arguments of the right-hand side after t and y: the named parameters, and the networks that it uses."""
        named, *networks = self._arguments(p)
        used = getattr(self._source, "RHS_NETWORKS", range(len(networks)))
        return (named, *(networks[i] for i in used))

    def _integrated(self, integrate: Integrate, values: Values, sensitivity: str, most: int) -> Solved:
        """One solve, or all solves of a batch in one loop, each with its own steps."""
        controls = getattr(self._source, "controls", None)
        given = self._given or ()
        if self._numbers.batch == 1:
            driven_by = () if controls is None else controls(*given)
            return integrate(values._replace(controls=driven_by), sensitivity, most)
        y0 = values.y0.reshape(self._numbers.batch, -1)
        if controls is not None:
            # Each trajectory has its own driving path.
            def driven(start: jax.Array, *given: jax.Array) -> Solved:
                return integrate(values._replace(y0=start, controls=controls(*given)), sensitivity, most)

            return jax.vmap(driven)(y0, *given)
        return jax.vmap(lambda start: integrate(values._replace(y0=start), sensitivity, most))(y0)

    def _loss(self, ys: jax.Array, values: Values) -> jax.Array:
        if self._given is not None:
            arguments = self._arguments(values.p)

            def loss(ys: jax.Array, *given: jax.Array) -> jax.Array:
                return self._source.loss(ys, *given, *arguments)

            each = loss(ys, *self._given) if self._numbers.batch == 1 else jax.vmap(loss)(ys, *self._given)
            return jnp.sum(each) + values.penalty
        return self._source.loss(ys) if self._numbers.batch == 1 else jnp.sum(jax.vmap(self._source.loss)(ys))

    def _integrate(self, values: Values, sensitivity: str, most: int) -> Solved:
        return self._run(self._terms(values), values, values.atol * self._scale, solvers.adjoint(sensitivity, most))

    def _integrate_scaled(self, values: Values, sensitivity: str, most: int) -> Solved:
        """Integrate z = y / atol_scale, with parameters in units of their nominal size.

        The state of the adjoint equation has y, its adjoint and the parameters' gradient as parts, and the controller
        takes only one tolerance for all of them. In scaled terms one is right: the problem's own for y, and for the
        adjoints the tolerance for the loss over a typical y, or a typical parameter.
        """
        scaled = values._replace(y0=values.y0 / self._scale, p=values.p / self._p_scale)
        terms = diffrax.ODETerm(self._scaled_right_hand_side)
        solved = self._run(terms, scaled, values.atol, solvers.adjoint(sensitivity, most))
        return solved._replace(ys=solved.ys * self._scale)

    def _run(
        self, terms: diffrax.AbstractTerm, values: Values, atol: jax.Array, taken: tuple[diffrax.AbstractAdjoint, int]
    ) -> Solved:
        numbers = self._numbers
        adjoint, max_steps = taken
        solution = diffrax.diffeqsolve(
            terms,
            self._solver,
            t0=numbers.t0,
            t1=numbers.t1,
            dt0=solvers.step(self._cell.method, numbers, values.rtol),
            y0=values.y0,
            args=(*self._rhs_arguments(values.p), *values.controls),
            saveat=diffrax.SaveAt(ts=jnp.asarray(numbers.save_times)),
            stepsize_controller=solvers.controller(self._cell.method, numbers, values.rtol, atol, self._cell.saving),
            adjoint=adjoint,
            max_steps=max_steps,
            throw=False,
        )
        assert solution.ys is not None
        counts = (jnp.asarray(solution.stats[name]) for name in ("num_steps", "num_accepted_steps"))
        report = jnp.stack([status(solution.result), *counts])
        return Solved(solution.ys, report.astype(self._dtype))


def _named(name: str, function: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """The function under the name by which JAX reports its compilation."""

    def call(inputs: jax.Array) -> jax.Array:
        return function(inputs)

    call.__name__ = call.__qualname__ = name
    return call


def _statistics(reports: FloatArray) -> dict[str, float]:
    """Counts of the trajectory, or for a batch of the one with the most steps, and the counts of the others."""
    n_steps, n_accepted = (int(number) for number in reports[int(np.argmax(reports[:, 1])), 1:])
    counts: dict[str, float] = {"n_steps": n_steps, "n_accepted": n_accepted, "n_rejected": n_steps - n_accepted}
    if len(reports) == 1:
        return counts
    return {**counts, "n_steps_least": float(reports[:, 1].min()), "n_steps_mean": float(reports[:, 1].mean())}


def _trajectories(reports: FloatArray) -> Trajectories | None:
    """The outcome of each trajectory of a batch."""
    if len(reports) == 1:
        return None
    failed = ((int(index), outcome(int(reports[index, 0]))) for index in np.flatnonzero(reports[:, 0]))
    return Trajectories.each(reports[:, 1].astype(int).tolist(), failed)
