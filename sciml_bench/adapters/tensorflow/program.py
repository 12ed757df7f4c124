"""Worker side of the TensorFlow adapter: each of solve and gradient is one ``tf.function`` of all its inputs."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

from sciml_bench.adapters.base import FloatArray, Gradient, Program, Solution, load_source
from sciml_bench.adapters.segments import Segment, split
from sciml_bench.adapters.tensorflow import failure, solvers
from sciml_bench.outcome import Outcome, SolverFailure
from sciml_bench.task import Point, Task

# The library calls functions of TensorFlow that TensorFlow warns of at every trace.
tf.get_logger().setLevel(logging.ERROR)

RightHandSide = Callable[..., tf.Tensor]


class Inputs(NamedTuple):
    """Everything that may change between calls; changing it traces nothing."""

    y0: tf.Tensor
    p: tf.Tensor
    rtol: tf.Tensor
    atol: tf.Tensor


class Report(NamedTuple):
    """The solver's own counts, summed over segments, and its worst status."""

    n_rhs_evaluations: tf.Tensor
    n_jacobian_evaluations: tf.Tensor
    n_factorisations: tf.Tensor
    status: tf.Tensor


class Solved(NamedTuple):
    """States at the saved times, (n_times, n_states)."""

    ys: tf.Tensor
    report: Report


class Differentiated(NamedTuple):
    """The loss and its gradient; the report is that of the forward solve."""

    loss: tf.Tensor
    gradient: tf.Tensor
    report: Report


class TensorFlowProgram(Program):
    """``solve``, the loss and the adjoint gradient inside one ``tf.function``.

    The solvers' adjoint takes one absolute tolerance for every component. Where a problem's differ, the state is
    scaled: z = y / atol_scale obeys z' = f(t, z * atol_scale, p) / atol_scale, and one tolerance for z is the
    problem's own for y.
    """

    def __init__(self, task: Task):
        tf.config.threading.set_intra_op_parallelism_threads(task.threads)
        tf.config.threading.set_inter_op_parallelism_threads(task.threads)
        self._numbers = numbers = task.numbers
        self._method = task.cell.method
        self._xla = task.cell.mode == "xla"
        self._source = load_source(task)
        self._segments = split(numbers)
        self._traces = 0
        scale = np.asarray(numbers.atol_scale)
        uniform = bool(np.all(scale == scale[0]))
        self._atol_factor = float(scale[0]) if uniform else 1.0
        self._scale = None if uniform else tf.constant(scale)
        self._compiled_solve = tf.function(self._integrate, autograph=False, jit_compile=self._xla)
        self._compiled_gradient = tf.function(self._differentiate, autograph=False, jit_compile=self._xla)

    def prepare(self, theta: FloatArray, point: Point) -> Inputs:
        parameters = self._numbers.wrt == "parameters"
        y0 = self._numbers.y0 if parameters else theta
        p = theta if parameters else self._numbers.p
        return Inputs(*(tf.constant(x, tf.float64) for x in (y0, p, point.rtol, point.atol * self._atol_factor)))

    def solve(self, inputs: Inputs) -> Solved:
        with failure.typed(self._xla):
            return self._compiled_solve(inputs)

    def gradient(self, inputs: Inputs) -> Differentiated:
        with failure.typed(self._xla):
            return self._compiled_gradient(inputs)

    def synchronise(self, output: Any) -> None:
        # All outputs of a function are computed when one of them can be read.
        output.report.status.numpy()

    def read_solution(self, output: Solved) -> Solution:
        statistics = _statistics(output.report)
        ys = output.ys.numpy()
        if not np.all(np.isfinite(ys)):
            raise SolverFailure(Outcome.NONFINITE, "TensorFlow Probability reports success, but the solution is not")
        return Solution(ys, statistics)

    def read_gradient(self, output: Differentiated) -> Gradient:
        statistics = _statistics(output.report)
        loss, gradient = float(output.loss.numpy()), output.gradient.numpy()
        if not (np.isfinite(loss) and np.all(np.isfinite(gradient))):
            message = "the gradient is not finite: TensorFlow Probability's adjoint solve backwards in time failed"
            raise SolverFailure(Outcome.NONFINITE, message)
        return Gradient(loss, gradient, statistics)

    def trace_count(self) -> int:
        return self._traces

    def versions(self) -> dict[str, str]:
        return {
            "tensorflow": tf.__version__,
            "tensorflow-probability": tfp.__version__,
            "threads_intra_op": str(tf.config.threading.get_intra_op_parallelism_threads()),
            "threads_inter_op": str(tf.config.threading.get_inter_op_parallelism_threads()),
        }

    def _differentiate(self, inputs: Inputs) -> Differentiated:
        theta = inputs.p if self._numbers.wrt == "parameters" else inputs.y0
        with tf.GradientTape() as tape:
            tape.watch(theta)
            solved = self._integrate(inputs)
            loss = self._source.loss(solved.ys)
        return Differentiated(loss, tape.gradient(loss, theta), solved.report)

    def _integrate(self, inputs: Inputs) -> Solved:
        state = inputs.y0 if self._scale is None else inputs.y0 / self._scale
        saved, diagnostics = [], []
        for segment in self._segments:
            results = self._one_segment(segment, state, inputs)
            state = results.states[-1]
            saved.append(results.states[: segment.n_saved])
            diagnostics.append(results.diagnostics)
        ys = saved[0] if len(saved) == 1 else tf.concat(saved, axis=0)
        return Solved(ys if self._scale is None else ys * self._scale, _report(diagnostics))

    def _one_segment(self, segment: Segment, state: tf.Tensor, inputs: Inputs) -> solvers.Results:
        solver = solvers.solver(self._method, self._xla, inputs.rtol, inputs.atol)
        right_hand_side, jacobian = self._equation(segment)
        # Values that are not differentiated stay out of the adjoint equation.
        parameters = self._numbers.wrt == "parameters"
        return solver.solve(
            right_hand_side if parameters else lambda t, z: right_hand_side(t, z, inputs.p),
            initial_time=segment.start,
            initial_state=state,
            solution_times=np.asarray(segment.times),
            jacobian_fn=jacobian and (lambda t, z: jacobian(t, z, inputs.p)),
            constants={"p": inputs.p} if parameters else None,
        )

    def _equation(self, segment: Segment) -> tuple[RightHandSide, RightHandSide | None]:
        """z' and its Jacobian as functions of t, z and p."""
        source, scale = self._source, self._scale

        def inside(t: tf.Tensor) -> tf.Tensor:
            return tf.clip_by_value(t, segment.low, segment.high) if segment.clipped else t

        def right_hand_side(t: tf.Tensor, z: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
            self._traces += 1
            return source.rhs(inside(t), z, p) if scale is None else source.rhs(inside(t), z * scale, p) / scale

        def jacobian(t: tf.Tensor, z: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
            if scale is None:
                return source.jacobian(inside(t), z, p)
            return source.jacobian(inside(t), z * scale, p) * (scale / scale[:, None])

        return right_hand_side, jacobian if hasattr(source, "jacobian") else None


def build(task: Task) -> TensorFlowProgram:
    """The program of a TensorFlow cell."""
    return TensorFlowProgram(task)


def _report(diagnostics: list[Any]) -> Report:
    return Report(
        tf.add_n([tf.convert_to_tensor(d.num_ode_fn_evaluations) for d in diagnostics]),
        tf.add_n([tf.convert_to_tensor(d.num_jacobian_evaluations) for d in diagnostics]),
        tf.add_n([tf.convert_to_tensor(d.num_matrix_factorizations) for d in diagnostics]),
        tf.reduce_min([tf.convert_to_tensor(d.status) for d in diagnostics]),
    )


def _statistics(report: Report) -> dict[str, float]:
    failure.check(int(report.status.numpy()))
    counts = report._asdict()
    del counts["status"]
    return {name: int(value.numpy()) for name, value in counts.items()}
