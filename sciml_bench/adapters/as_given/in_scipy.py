"""Worker side: a NumPy function in ``solve_ivp``, without a Jacobian, and central differences of the loss."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.integrate import odeint, solve_ivp

from sciml_bench.adapters.as_given.function import GivenFunction
from sciml_bench.adapters.base import FloatArray, Gradient, Program, Solution
from sciml_bench.adapters.emitted_source import load_source
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Point, Task

Vector = NDArray[np.float64]
METHODS = {"rk45": "RK45", "dop853": "DOP853", "radau": "Radau", "bdf": "BDF", "lsoda": "LSODA"}
MOST_STEPS = 100_000


class Inputs(NamedTuple):
    """Theta and the tolerances of one call."""

    theta: Vector
    rtol: float
    atol: Vector


class GivenInSciPy(Program):
    """A solve for the solution, and two for each component of the gradient."""

    def __init__(self, task: Task):
        self._numbers, self._method = task.numbers, task.cell.method
        self._function = GivenFunction(task)
        self._loss = load_source(task).loss
        self._times = np.asarray(task.numbers.save_times)

    def prepare(self, theta: FloatArray, point: Point) -> Inputs:
        return Inputs(np.array(theta, dtype=np.float64), point.rtol, point.atol * np.asarray(self._numbers.atol_scale))

    def solve(self, inputs: Inputs) -> Vector:
        return self._solved(inputs.theta, inputs)

    def gradient(self, inputs: Inputs) -> tuple[float, Vector]:
        theta = inputs.theta
        steps = np.cbrt(inputs.rtol) * np.where(theta == 0, 1.0, np.abs(theta))
        slopes = np.empty(len(theta))
        for i, step in enumerate(steps):
            ahead, behind = theta.copy(), theta.copy()
            ahead[i], behind[i] = theta[i] + step, theta[i] - step
            difference = self._loss(self._solved(ahead, inputs)) - self._loss(self._solved(behind, inputs))
            slopes[i] = difference / (ahead[i] - behind[i])
        return float(self._loss(self._solved(theta, inputs))), slopes

    def _solved(self, theta: Vector, inputs: Inputs) -> Vector:
        numbers = self._numbers
        by_parameters = numbers.wrt == "parameters"
        p, y0 = (theta, np.asarray(numbers.y0)) if by_parameters else (np.asarray(numbers.p), theta)
        function = self._function.closed(p, np.asarray)
        if self._method == "odeint":
            return self._by_odeint(function, y0, inputs)
        found: Any = solve_ivp(
            function, (numbers.t0, numbers.t1), y0, method=METHODS[self._method], t_eval=self._times,
            rtol=inputs.rtol, atol=inputs.atol,
        )  # fmt: skip
        if not found.success:
            raise SolverFailure(Outcome.STEP_UNDERFLOW, str(found.message))
        return found.y.T

    def _by_odeint(self, function: Any, y0: Vector, inputs: Inputs) -> Vector:
        times = [self._numbers.t0, *self._times]
        ys, info = odeint(
            function, y0, times, tfirst=True, rtol=inputs.rtol, atol=inputs.atol, mxstep=MOST_STEPS, full_output=True
        )
        if info["message"] != "Integration successful.":
            raise SolverFailure(Outcome.STEP_UNDERFLOW, str(info["message"]))
        return ys[1:]

    def synchronise(self, output: Any) -> None:
        """Nothing to wait for: NumPy computes before it returns."""

    def read_solution(self, output: Vector) -> Solution:
        if not np.all(np.isfinite(output)):
            raise SolverFailure(Outcome.NONFINITE, "SciPy reports success, but the solution is not finite")
        return Solution(output, {})

    def read_gradient(self, output: tuple[float, Vector]) -> Gradient:
        loss, slopes = output
        if not (np.isfinite(loss) and np.all(np.isfinite(slopes))):
            raise SolverFailure(Outcome.NONFINITE, "SciPy reports success, but the gradient is not finite")
        return Gradient(loss, slopes, {})

    def versions(self) -> dict[str, str]:
        return {"scipy": scipy.__version__, "numpy": np.__version__}


def build(task: Task) -> GivenInSciPy:
    """The program of a cell of a NumPy function."""
    return GivenInSciPy(task)
