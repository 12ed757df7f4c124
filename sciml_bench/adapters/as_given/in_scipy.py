"""Worker side: a NumPy function in SciPy, without a Jacobian, and central differences of the loss."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sciml_bench.adapters.as_given.function import GivenFunction
from sciml_bench.adapters.scipy.program import Counts, Differentiated, Inputs, SciPyProgram, Vector
from sciml_bench.adapters.scipy.system import System
from sciml_bench.record.task import Numbers, Point, Task


class GivenProgram(SciPyProgram):
    """A solve for the solution, and two more for each component of the gradient."""

    def __init__(self, task: Task):
        # The user's function says nothing of breakpoints, which the importer found in it.
        super().__init__(replace(task, numbers=replace(task.numbers, breakpoints=())))
        self._function = GivenFunction(task)

    def _prepared(self, numbers: Numbers, values: Vector, given: tuple[Any, ...] | None, point: Point) -> Inputs:
        """``augmented`` has a system for each component of theta that is moved ahead, then for each moved back."""

        def moved() -> tuple[list[System], None]:
            moves = np.diag(_steps(values, point.rtol))
            return [self._system(numbers, theta, point) for theta in (*(values + moves), *(values - moves))], None

        return Inputs(values, given, self._system(numbers, values, point), moved)

    def _system(self, numbers: Numbers, theta: Vector, point: Point) -> System:
        by_parameters = numbers.wrt == "parameters"
        p, y0 = (theta, np.asarray(numbers.y0)) if by_parameters else (np.asarray(numbers.p), theta)
        atol = point.atol * np.asarray(numbers.atol_scale)
        return System(self._function.closed(p, np), y0, point.rtol, atol, {})

    def _differentiated(self, inputs: Inputs) -> Differentiated:
        solved = [self._integrate(system) for system in (inputs.state, *inputs.augmented)]
        loss, *moved = (float(self._source.loss(one.values)) for one in solved)
        ahead, behind = np.split(np.array(moved), 2)
        slopes = (ahead - behind) / (2 * _steps(np.asarray(inputs.p), inputs.state.rtol))
        return Differentiated(loss, slopes, Counts(*map(sum, zip(*(one.counts for one in solved), strict=True))))


def _steps(theta: Vector, rtol: float) -> Vector:
    """The step of each component, with which truncation and the noise of the solver are about equal."""
    return np.cbrt(rtol) * np.where(theta == 0, 1.0, np.abs(theta))
