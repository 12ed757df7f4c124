"""Worker side of the TensorFlow adapter: each of solve and gradient is one ``tf.function`` of all its inputs."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

from sciml_bench.adapters.emitted_source import load_source
from sciml_bench.adapters.program import FloatArray, Gradient, Program, Solution, Trainer
from sciml_bench.adapters.segments import Segment, split
from sciml_bench.adapters.tensorflow import BDF, FORWARD, RK4, UNROLLED, failures, forward, shares, solvers
from sciml_bench.adapters.tensorflow.compiling import TraceTimes
from sciml_bench.adapters.tensorflow.device import GPU, device_of, peak_bytes, synchronise
from sciml_bench.adapters.tensorflow.runge_kutta4 import RungeKutta4
from sciml_bench.adapters.time_grid import fixed_steps
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Point, Task, Training
from sciml_bench.record.trajectories import Trajectories

# The library calls functions of TensorFlow that TensorFlow warns of at every trace.
tf.get_logger().setLevel(logging.ERROR)

RightHandSide = Callable[..., tf.Tensor]
Arguments = tuple[Any, ...]
"""The arguments of the right-hand side after t and y: the named parameters, then the weights of each network."""
Equation = tuple[Callable[..., tf.Tensor], Callable[..., tf.Tensor] | None]
"""A solver's input: the right-hand side and, if known, its Jacobian."""
MakeSolver = Callable[..., Any]
"""From rtol and atol, and how much of it BDF takes, to the solver."""


N_REPORT = 4
"""The solver's report of a solve, see :func:`_report_of`."""


class Calls(NamedTuple):
    """The compiled functions of the inputs' values, and what makes the solver in them."""

    solve: Callable[[tf.Tensor], tf.Tensor]
    gradient: Callable[[tf.Tensor], tf.Tensor]
    make: MakeSolver


class Inputs(NamedTuple):
    """theta followed by rtol and atol, and the functions that take them."""

    values: tf.Tensor
    calls: Calls


class Solved(NamedTuple):
    """States at the saved times, (n_times, n_states), and the solver's report, (N_REPORT,)."""

    ys: tf.Tensor
    report: tf.Tensor


class Start(NamedTuple):
    """The start of a solve: y0, the further arguments of the right-hand side, and the further inputs of the loss."""

    y0: tf.Tensor
    arguments: Arguments
    of_loss: Arguments = ()
    penalty: tf.Tensor | float = 0.0


class TensorFlowProgram(Program):
    """``solve``, the loss and the adjoint gradient inside one ``tf.function``.

    The solvers' adjoint takes one absolute tolerance for every component of its state. If a problem's differ, the
    state is scaled: z = y / atol_scale obeys z' = f(t, z * atol_scale, p) / atol_scale, and one tolerance for z is the
    problem's own for y, and the tolerance of the loss over a typical y for the adjoint of y. Parameters that are
    differentiated are scaled likewise, by their nominal size.

    The functions take one tensor, theta followed by rtol and atol, and give one, the result followed by the report:
    each argument and each result costs time in every call. A change of the input traces nothing; another number of
    fixed steps does, as a loop is compiled for its number.
    """

    def __init__(self, task: Task):
        tf.config.threading.set_intra_op_parallelism_threads(task.threads)
        tf.config.threading.set_inter_op_parallelism_threads(task.threads)
        self._device = device_of(task.cell)
        self._numbers = numbers = task.numbers
        self._method = task.cell.method
        self._mode = task.cell.framework_mode
        self._xla = self._mode == "xla"
        self._source = load_source(task)
        self._segments = split(numbers)
        self._traces = 0
        self._trace_times = TraceTimes()
        scale = np.asarray(numbers.atol_scale[: numbers.n_states])
        self._fixed = self._method == RK4.name
        uniform = bool(np.all(scale == scale[0])) or self._fixed
        self._atol_factor = float(scale[0]) if uniform else 1.0
        self._scale = None if uniform else tf.constant(scale)
        self._p_scale = tf.constant(numbers.p_scale[: numbers.n_named], tf.float64)
        self._arguments = getattr(self._source, "arguments", lambda p: (p,))
        self._calls: dict[int, Calls] = {}
        self._shape = (numbers.n_states,) if numbers.batch == 1 else (numbers.batch, numbers.n_states)
        self._is_forward = task.cell.sensitivity == FORWARD
        self._differentiated = self._forward_gradient if self._is_forward else self._gradient
        self._shares = [list(range(len(numbers.theta)))]
        if self._is_forward and self._method == BDF.name:
            self._shares = shares.shares(len(numbers.y0), len(numbers.theta))

    def prepare(self, theta: FloatArray, point: Point) -> Inputs:
        n_steps = fixed_steps(RK4.order, point.rtol) if self._fixed else 0
        if n_steps not in self._calls:
            self._calls[n_steps] = self._compiled(n_steps)
        values = tf.constant([*theta, point.rtol, point.atol * self._atol_factor], tf.float64)
        return Inputs(values, self._calls[n_steps])

    def _compiled(self, n_steps: int) -> Calls:
        def make(rtol: tf.Tensor, atol: tf.Tensor, bdf_atol: float = solvers.BDF_ATOL) -> Any:
            if self._fixed:
                return RungeKutta4(n_steps / (self._numbers.t1 - self._numbers.t0), self._mode == UNROLLED)
            return solvers.solver(self._method, self._xla, rtol, atol, bdf_atol)

        timed, options = self._trace_times.timed, {"autograph": False, "jit_compile": self._xla}
        return Calls(
            tf.function(timed("solve", partial(self._solve, make)), **options),
            tf.function(timed("gradient", partial(self._differentiated, make)), **options),
            make,
        )

    def solve(self, inputs: Inputs) -> tf.Tensor:
        with failures.typed(self._xla):
            return inputs.calls.solve(inputs.values)

    def gradient(self, inputs: Inputs) -> tf.Tensor:
        with failures.typed(self._xla):
            return inputs.calls.gradient(inputs.values)

    def await_inputs(self, inputs: Inputs) -> None:
        synchronise(self._device)

    def synchronise(self, output: tf.Tensor) -> None:
        # Reading on a GPU would copy the solution to the host.
        _ = synchronise(self._device) if self._device == GPU else output.numpy()

    def read_solution(self, output: tf.Tensor) -> Solution:
        values = output.numpy()
        statistics = _statistics(values[-N_REPORT:])
        ys = values[:-N_REPORT].reshape(-1, len(self._numbers.y0))
        if not np.all(np.isfinite(ys)):
            by = "the steps ended" if self._fixed else "TensorFlow Probability reports success"
            raise SolverFailure(Outcome.NONFINITE, f"{by}, but the solution is not finite")
        return Solution(ys, statistics, Trajectories.as_one_system(self._numbers.batch, statistics.get("n_steps")))

    def read_gradient(self, output: tf.Tensor) -> Gradient:
        values = output.numpy()
        statistics = _statistics(values[-N_REPORT:])
        *gradient, loss = values[:-N_REPORT]
        if not np.all(np.isfinite(values)):
            raise SolverFailure(Outcome.NONFINITE, f"the gradient is not finite{self._why}")
        return Gradient(float(loss), np.array(gradient), statistics)

    def trainer(self, training: Training) -> Trainer:
        # Keras is only imported by cells that train.
        from sciml_bench.adapters.tensorflow.training import TensorFlowTrainer

        inputs = self.prepare(np.asarray(self._numbers.theta), training.point)
        gradient = partial(self._differentiated, inputs.calls.make)
        return TensorFlowTrainer(training, inputs.values, gradient, self.read_gradient, self._xla, self._device)

    @property
    def _why(self) -> str:
        """The reason why a gradient is not finite, if known."""
        if self._fixed:
            return ""
        if self._is_forward:
            return ": a sensitivity left double precision, and TensorFlow Probability reports success"
        return ": TensorFlow Probability's adjoint solve backwards in time failed"

    def peak_device_bytes(self) -> int | None:
        return peak_bytes(self._device)

    def trace_count(self) -> int:
        return self._traces

    def phases_ns(self) -> dict[str, int]:
        return self._trace_times.ns

    def versions(self) -> dict[str, str]:
        return {
            "tensorflow": tf.__version__,
            "tensorflow-probability": tfp.__version__,
            "tensorflow_device": self._device,
            "threads_intra_op": str(tf.config.threading.get_intra_op_parallelism_threads()),
            "threads_inter_op": str(tf.config.threading.get_inter_op_parallelism_threads()),
            **{name: sys.modules[name].__version__ for name in ("keras",) if name in sys.modules},
        }

    def _solve(self, make: MakeSolver, inputs: tf.Tensor) -> tf.Tensor:
        start = self._start(inputs[:-2])
        solved = self._solved(make(*tf.unstack(inputs[-2:])), start, None)
        return tf.concat([tf.reshape(solved.ys, (-1,)), solved.report], axis=0)

    def _gradient(self, make: MakeSolver, inputs: tf.Tensor) -> tf.Tensor:
        theta = inputs[:-2]
        # The adjoint equation gets the names of differentiated values; a loop of fixed steps is differentiated itself.
        told = self._numbers.wrt == "parameters" and not self._fixed
        with tf.GradientTape() as tape:
            tape.watch(theta)
            start = self._start(theta)
            constants = self._scaled(start.arguments) if told else None
            solved = self._solved(make(*tf.unstack(inputs[-2:])), start, constants)
            loss = self._loss(solved.ys, start)
        gradient = tf.convert_to_tensor(tape.gradient(loss, theta))
        return tf.concat([gradient, loss[None], solved.report], axis=0)

    def _forward_gradient(self, make: MakeSolver, inputs: tf.Tensor) -> tf.Tensor:
        """The gradient by the forward sensitivity equations, see :mod:`.forward`."""
        theta, solver = inputs[:-2], make(*tf.unstack(inputs[-2:]), bdf_atol=1.0)
        sizes = shares.sizes(self._numbers)
        directions = tf.constant(np.diag(sizes)[self._shares])
        solved, slopes = self._with_sensitivities(solver, theta, directions)
        with tf.GradientTape() as tape:
            tape.watch([theta, solved.ys])
            loss = self._loss(solved.ys, self._start(theta))
        directly, by_state = tape.gradient(loss, [theta, solved.ys], unconnected_gradients=tf.UnconnectedGradients.ZERO)
        count = len(sizes)
        weights = tf.reshape(tf.convert_to_tensor(by_state), (len(self._numbers.save_times), -1))
        gradient = directly + tf.einsum("ti,tji->j", weights, slopes)[:count] / sizes
        return tf.concat([gradient, loss[None], solved.report], axis=0)

    def _with_sensitivities(self, solver: Any, theta: tf.Tensor, directions: tf.Tensor) -> tuple[Solved, tf.Tensor]:
        """The states, and their changes along all directions, (n_times, of all shares, size of the state)."""
        n_times, n = len(self._numbers.save_times), len(self._numbers.y0)

        def share(chosen: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            values, report = self._integrate(
                solver,
                forward.start(lambda theta: self._inner(self._start(theta).y0), theta, chosen),
                partial(self._augmented, theta, chosen),
            )
            return tf.reshape(values, (n_times, 1 + len(self._shares[0]), n)), report

        if len(self._shares) == 1:
            values, report = share(directions[0])
            ys, slopes = values[:, 0], values[:, 1:]
        else:
            # One after the other in a loop, which is compiled once for all.
            several, reports = tf.map_fn(share, directions, fn_output_signature=(tf.float64, tf.float64))
            ys, slopes = several[0, :, 0], tf.reshape(tf.transpose(several[:, :, 1:], (1, 0, 2, 3)), (n_times, -1, n))
            report = _together(reports)
        shape = (n_times, *self._shape)
        if self._scale is not None:
            by = tf.tile(self._scale, (self._numbers.batch,))
            ys, slopes = ys * by, slopes * by
        return Solved(tf.reshape(ys, shape), report), slopes

    def _augmented(self, theta: tf.Tensor, directions: tf.Tensor, segment: Segment) -> Equation:
        rhs, jacobian = self._equation(segment)
        equation = forward.Equation(
            lambda t, z, theta: rhs(t, z, self._start(theta).arguments),
            jacobian and (lambda t, z, theta: jacobian(t, z, self._start(theta).arguments)),
        )
        return forward.augmented(equation, theta, directions, self._shape, len(self._shares) == 1)

    def _loss(self, ys: tf.Tensor, start: Start) -> tf.Tensor:
        return self._source.loss(ys, *start.of_loss) + start.penalty

    def _start(self, theta: tf.Tensor) -> Start:
        source = self._source
        if not hasattr(source, "GIVEN"):
            return Start(*self._values(theta))
        # Something is computed around the solve, of theta and of the data of the trajectories.
        named, *networks = self._arguments(theta)
        of_loss = (*source.GIVEN, named, *networks)
        found = source.initial_state(*of_loss)
        y0, penalty = found if isinstance(found, tuple) else (found, 0.0)
        used = getattr(source, "RHS_NETWORKS", ())
        return Start(y0, (named, *(networks[i] for i in used)), of_loss, penalty)

    def _values(self, theta: tf.Tensor) -> tuple[tf.Tensor, Arguments]:
        """Initial state, and what the right-hand side takes after it."""
        if self._numbers.wrt == "parameters":
            return tf.constant(self._numbers.y0, tf.float64, self._shape), self._arguments(theta)
        return theta, (tf.constant(self._numbers.p, tf.float64),)

    def _scaled(self, arguments: Arguments) -> dict[str, Any]:
        """The differentiated values by name: the named parameters over their sizes, and the weights of networks."""
        p, *networks = arguments
        named = {"q": p / self._p_scale} if self._numbers.n_named else {}
        return {**named, **{f"network{i}": weights for i, weights in enumerate(networks)}}

    def _unscaled(self, constants: dict[str, Any]) -> Arguments:
        networks = dict(constants)
        q = networks.pop("q", None)
        return (tf.zeros(0, tf.float64) if q is None else q * self._p_scale, *networks.values())

    def _solved(self, solver: Any, start: Start, constants: dict[str, Any] | None) -> Solved:
        """Solve the problem. ``constants`` are the scaled parameters, given when the adjoint equation needs them."""
        ys, report = self._integrate(
            solver, self._inner(start.y0), partial(self._of_arguments, start.arguments, constants), constants
        )
        return Solved(ys if self._scale is None else ys * self._scale, report)

    def _inner(self, y: tf.Tensor) -> tf.Tensor:
        """The state as the solver has it."""
        return y if self._scale is None else y / self._scale

    def _of_arguments(self, arguments: Arguments, constants: dict[str, Any] | None, segment: Segment) -> Equation:
        right_hand_side, jacobian = self._equation(segment)
        # Only values that are passed as constants are differentiated, and only those enter the adjoint equation.
        return (
            (lambda t, z: right_hand_side(t, z, arguments))
            if constants is None
            else (lambda t, z, **constants: right_hand_side(t, z, self._unscaled(constants))),
            jacobian and (lambda t, z: jacobian(t, z, arguments)),
        )

    def _integrate(
        self,
        solver: Any,
        state: tf.Tensor,
        equation: Callable[[Segment], Equation],
        constants: dict[str, Any] | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Solve all segments: the values at the saved times, (n_times, *shape of the state), and the report."""
        saved, reports = [], []
        for segment in self._segments:
            rhs, jacobian = equation(segment)
            results = solver.solve(
                rhs,
                initial_time=segment.start,
                initial_state=state,
                solution_times=np.asarray(segment.times),
                jacobian_fn=jacobian,
                constants=constants,
            )
            state = results.states[-1]
            saved.append(results.states[: segment.n_saved])
            reports.append(_report_of(results.diagnostics))
        if len(saved) == 1:
            return saved[0], reports[0]
        return tf.concat(saved, axis=0), _together(tf.stack(reports))

    def _equation(self, segment: Segment) -> tuple[RightHandSide, RightHandSide | None]:
        """z' and its Jacobian as functions of t, z and p."""
        source, scale = self._source, self._scale

        def inside(t: tf.Tensor) -> tf.Tensor:
            return tf.clip_by_value(t, segment.low, segment.high) if segment.clipped else t

        def right_hand_side(t: tf.Tensor, z: tf.Tensor, arguments: Arguments) -> tf.Tensor:
            self._traces += 1
            if scale is None:
                return source.rhs(inside(t), z, *arguments)
            return source.rhs(inside(t), z * scale, *arguments) / scale

        def jacobian(t: tf.Tensor, z: tf.Tensor, arguments: Arguments) -> tf.Tensor:
            if scale is None:
                return source.jacobian(inside(t), z, *arguments)
            return source.jacobian(inside(t), z * scale, *arguments) * (scale / scale[:, None])

        return right_hand_side, jacobian if hasattr(source, "jacobian") else None


def _report_of(diagnostics: Any) -> tf.Tensor:
    """Status, evaluations of the right-hand side and of the Jacobian, and factorisations, (N_REPORT,)."""
    counts = (
        diagnostics.status,
        diagnostics.num_ode_fn_evaluations,
        diagnostics.num_jacobian_evaluations,
        diagnostics.num_matrix_factorizations,
    )
    return tf.stack([tf.cast(count, tf.float64) for count in counts])


def _together(reports: tf.Tensor) -> tf.Tensor:
    """The report of several solves, of theirs as rows: the worst status, and the sums of the counts."""
    return tf.concat([tf.reduce_min(reports, axis=0)[:1], tf.reduce_sum(reports, axis=0)[1:]], axis=0)


def _statistics(report: FloatArray) -> dict[str, float]:
    status, n_rhs, n_jacobian, n_factorisations = (float(number) for number in report)
    failures.check(int(status))
    return {
        "n_rhs_evaluations": n_rhs,
        "n_jacobian_evaluations": n_jacobian,
        "n_factorisations": n_factorisations,
    }
