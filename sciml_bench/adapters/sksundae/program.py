"""Worker side of the scikit-SUNDAE adapter."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sciml_bench.adapters.numba.solves_only import SolvesOnly
from sciml_bench.adapters.program import FloatArray, Solution, Vector
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

    library, package = "scikit-SUNDAE", "scikit-sundae"

    def __init__(self, task: Task):
        super().__init__(task)
        self._method = METHODS[task.cell.method]
        self._times = [np.asarray(segment.times) for segment in self._segments]
        self._p = np.array(task.numbers.p, dtype=np.float64)
        self._solvers: dict[Point, list[Any]] = {}

    def prepare(self, theta: FloatArray, point: Point) -> Inputs:
        return Inputs(*self.split_theta(theta), point)

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
        return self.solution(
            output.ys, {"n_rhs_evaluations": output.n_rhs, "n_jacobian_evaluations": output.n_jacobian}
        )
