"""Worker side of the diffsol adapter.

The library takes one absolute tolerance for all components: the smallest component's, so that every component is at
least as accurate as required. It reports neither steps nor evaluations.
"""

from __future__ import annotations

import importlib
import time
from typing import Any, NamedTuple

import numpy as np

from sciml_bench.adapters.diffsol import CONTROLLED, MATRICES, SMALLEST_STEP, SOLVERS
from sciml_bench.adapters.diffsol.model import model_text
from sciml_bench.adapters.emitted_source import load_source
from sciml_bench.adapters.program import FloatArray, Gradient, Program, Solution, Vector
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Point, Task

# By name: types are checked also if it is not installed.
LIBRARY: Any = importlib.import_module("pydiffsol")


class Inputs(NamedTuple):
    """The inputs of one call: parameters or initial state, and the tolerances."""

    theta: Vector
    rtol: float
    atol: float


class Solved(NamedTuple):
    """States at the saved times, (n_states, n_times), or the library's message."""

    ys: Vector
    message: str = ""


class Differentiated(NamedTuple):
    """The loss and its gradient, or the library's message."""

    loss: float
    gradient: Vector
    message: str = ""


class DiffsolProgram(Program):
    """One method of ``pydiffsol.Ode``, whose model is compiled when it is made."""

    def __init__(self, task: Task):
        numbers, cell = task.numbers, task.cell
        self._source = load_source(task)
        self._sensitivity = cell.sensitivity
        self._times = np.asarray(numbers.save_times, dtype=np.float64)
        # The last time ends the solve.
        self._ends = self._times if self._times[-1] == numbers.t1 else np.append(self._times, numbers.t1)
        self._scale = min(numbers.atol_scale)
        start = time.perf_counter_ns()
        self._ode = LIBRARY.Ode(
            model_text(self._source, numbers.p, numbers.y0, numbers.wrt),
            matrix_type=getattr(LIBRARY, MATRICES[cell.framework_mode]),
            ode_solver=getattr(LIBRARY, SOLVERS[cell.method]),
        )
        self._compile_ns = time.perf_counter_ns() - start
        self._ode.t0 = numbers.t0
        self._tolerances: tuple[float, ...] = ()
        self._ode.options.min_timestep = SMALLEST_STEP * (numbers.t1 - numbers.t0)

    def prepare(self, theta: FloatArray, point: Point) -> Inputs:
        return Inputs(np.array(theta, dtype=np.float64), point.rtol, point.atol * self._scale)

    def _ready(self, inputs: Inputs) -> Any:
        ode, tolerances = self._ode, inputs[1:]
        # Setting them costs a tenth of a short solve.
        if tolerances != self._tolerances:
            ode.rtol, ode.atol = self._tolerances = tolerances
            if self._sensitivity == CONTROLLED:
                ode.sens_rtol, ode.sens_atol = tolerances
        return ode

    def solve(self, inputs: Inputs) -> Solved:
        try:
            return Solved(self._ready(inputs).solve_dense(inputs.theta, self._ends).ys)
        except RuntimeError as error:
            return Solved(np.empty(0), str(error))

    def gradient(self, inputs: Inputs) -> Differentiated:
        call = self._adjoint if self._sensitivity == "adjoint" else self._forward
        try:
            return call(self._ready(inputs), inputs.theta)
        except RuntimeError as error:
            return Differentiated(np.nan, np.empty(0), str(error))

    def _forward(self, ode: Any, theta: Vector) -> Differentiated:
        solution = ode.solve_fwd_sens(theta, self._ends)
        loss, by_state = self._loss(solution.ys)
        return Differentiated(loss, np.tensordot(np.asarray(solution.sens, dtype=np.float64), by_state, 2))

    def _adjoint(self, ode: Any, theta: Vector) -> Differentiated:
        solution, checkpoint = ode.solve_adjoint_fwd(theta, self._ends)
        loss, by_state = self._loss(solution.ys)
        return Differentiated(loss, ode.solve_adjoint_bkwd(solution, checkpoint, by_state).ravel())

    def _loss(self, ys: Vector) -> tuple[float, Vector]:
        """The loss and its slopes, (n_states, n_ends), zero at times that are not saved."""
        saved = ys[:, : len(self._times)].T
        loss, slopes = self._source.loss(saved), self._source.loss_gradient(saved).T
        missing = len(self._ends) - len(self._times)
        return loss, np.ascontiguousarray(np.pad(slopes, ((0, 0), (0, missing))) if missing else slopes)

    def synchronise(self, output: Any) -> None:
        """Nothing to wait for: the solvers return when they are done."""

    def read_solution(self, output: Solved) -> Solution:
        _raise(output.message)
        if not np.all(np.isfinite(output.ys)):
            raise SolverFailure(Outcome.NONFINITE, "diffsol reports success with a state that is not finite")
        return Solution(np.ascontiguousarray(output.ys[:, : len(self._times)].T), {})

    def read_gradient(self, output: Differentiated) -> Gradient:
        _raise(output.message)
        if not (np.isfinite(output.loss) and np.all(np.isfinite(output.gradient))):
            raise SolverFailure(Outcome.NONFINITE, "diffsol reports success with a gradient that is not finite")
        return Gradient(float(output.loss), output.gradient, {})

    def phases_ns(self) -> dict[str, int]:
        return {"compile": self._compile_ns}

    def versions(self) -> dict[str, str]:
        return {"pydiffsol": LIBRARY.version(), "diffsol": LIBRARY.diffsol_version(), "numpy": np.__version__}


def _raise(message: str) -> None:
    if message:
        raise SolverFailure(Outcome.STEP_UNDERFLOW, f"diffsol: {message}")
