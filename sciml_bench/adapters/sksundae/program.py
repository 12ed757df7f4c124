"""Worker side of the scikit-SUNDAE adapter."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, NamedTuple

import numba
import numpy as np

from sciml_bench.adapters.base import FloatArray, Solution, Vector
from sciml_bench.adapters.emitted_source import load_source
from sciml_bench.adapters.numba import CompileTimes
from sciml_bench.adapters.numba.solves_only import SolvesOnly
from sciml_bench.adapters.segments import split
from sciml_bench.adapters.sksundae import METHODS
from sciml_bench.adapters.sksundae.solver import part_solver, solve_part
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Point, Task

MAX_STEPS = 1_000_000
"""Between two saved times; what stops making progress ends here."""

TOO_MANY = -1
"""CVODE's status if it took that many."""


class Inputs(NamedTuple):
    """The inputs of one call: the initial state, the parameters, and the tolerances."""

    y0: Vector
    p: Vector
    point: Point


class Solved(NamedTuple):
    """Values at the saved times, evaluations of equations and Jacobian; ``failed`` is the status, the library's message
    and the start of a segment that failed."""

    ys: Vector
    n_rhs: int
    n_jacobian: int
    failed: tuple[int, str, float] | None = None


class SundaeProgram(SolvesOnly):
    """``CVODE`` on each smooth part of the time span; a tolerance has its own objects, which are used again."""

    library = "scikit-SUNDAE"

    def __init__(self, task: Task):
        self._numbers = numbers = task.numbers
        self._source = load_source(task)
        self._method = METHODS[task.cell.method]
        self._segments = split(numbers)
        self._times = [np.asarray(segment.times) for segment in self._segments]
        self._scale = np.asarray(numbers.atol_scale)
        self._p = np.array(numbers.p, dtype=np.float64)
        self._solvers: dict[Point, list[Any]] = {}
        self.compiled = CompileTimes(vars(self._source).values())

    def prepare(self, theta: FloatArray, point: Point) -> Inputs:
        numbers, values = self._numbers, np.array(theta, dtype=np.float64)
        y0, p = (np.asarray(given, dtype=np.float64) for given in (numbers.y0, numbers.p))
        return Inputs(y0, values, point) if numbers.wrt == "parameters" else Inputs(values, p, point)

    def solve(self, inputs: Inputs) -> Solved:
        self._p[:] = inputs.p
        y, saved, n_rhs, n_jacobian = inputs.y0, [], 0, 0
        for segment, times, solver in zip(self._segments, self._times, self._at(inputs.point), strict=True):
            result = solve_part(solver, segment.start, times, y)
            n_rhs, n_jacobian = n_rhs + result.nfev, n_jacobian + result.njev
            if not result.success:
                return Solved(result.y, n_rhs, n_jacobian, (result.status, result.message, segment.start))
            ys = result.y[1:] if len(times) > 1 else result.y[None]
            saved.append(ys[: segment.n_saved])
            y = ys[-1]
        return Solved(saved[0] if len(saved) == 1 else np.concatenate(saved), n_rhs, n_jacobian)

    def _at(self, point: Point) -> list[Any]:
        """The solvers of a tolerance, made when they are first needed."""
        if point not in self._solvers:
            options = {
                "method": self._method, "rtol": point.rtol, "atol": point.atol * self._scale,
                "max_num_steps": MAX_STEPS,
            }  # fmt: skip
            functions = (self._source.derivative, self._source.jacobian)
            self._solvers[point] = [
                part_solver(*functions, len(self._scale), segment.low, segment.high, self._p, options)
                for segment in self._segments
            ]
        return self._solvers[point]

    def read_solution(self, output: Solved) -> Solution:
        if output.failed is not None:
            status, message, start = output.failed
            outcome = Outcome.MAX_STEPS if status == TOO_MANY else Outcome.STEP_UNDERFLOW
            raise SolverFailure(outcome, f"CVODE failed in the segment from t = {start:g}: {message}")
        if not np.all(np.isfinite(output.ys)):
            raise SolverFailure(Outcome.NONFINITE, "CVODE reports success with a state that is not finite")
        return Solution(output.ys, {"n_rhs_evaluations": output.n_rhs, "n_jacobian_evaluations": output.n_jacobian})

    def versions(self) -> dict[str, str]:
        return {"scikit-sundae": version("scikit-sundae"), "numba": numba.__version__, "numpy": np.__version__}


def build(task: Task) -> SundaeProgram:
    """The program of a scikit-SUNDAE cell."""
    return SundaeProgram(task)
