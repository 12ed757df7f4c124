"""Worker side of the numbalsoda adapter.

The library takes one absolute tolerance for all components: the smallest component's, so that every component is at
least as accurate as required. It reports neither steps nor evaluations, and failures without a reason.
"""

from __future__ import annotations

import importlib
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sciml_bench.adapters.numba.solves_only import Inputs, SolvesOnly
from sciml_bench.adapters.program import FloatArray, Solution, Vector
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Point, Task

# By name: types are checked also if it is not installed.
LIBRARY: Any = importlib.import_module("numbalsoda")
SOLVERS = {"lsoda": LIBRARY.lsoda, "dop853": LIBRARY.dop853}
MAX_STEPS = 1_000_000
"""Of LSODA between two saved times, of DOP853 in all; what stops making progress ends here."""

RUNAWAY = 1e150
"""LSODA's norm squares the components, which overflows beyond: it then stands still and reports success."""


class Solved(NamedTuple):
    """Values at the saved times; ``failed_at`` is where the segment started that failed."""

    ys: Vector
    failed_at: float | None


class NumbalsodaProgram(SolvesOnly):
    """``lsoda`` or ``dop853``; the right-hand side reaches them as the address of a C function."""

    library = package = "numbalsoda"

    def __init__(self, task: Task):
        self._solver = SOLVERS[task.cell.method]
        super().__init__(task, self._solver)
        self._times = [np.asarray([segment.start, *segment.times]) for segment in self._segments]

    @cached_property
    def _address(self) -> int:
        """The C function, compiled when it is first needed."""
        derivative = self.derivative

        def function(t: float, y: Any, dy: Any, p: Any) -> None:
            derivative(t, y, dy, p)

        return self.address(LIBRARY.lsoda_sig, function)

    def prepare(self, theta: FloatArray, point: Point) -> Inputs:
        inputs = super().prepare(theta, point)
        return inputs._replace(atol=float(np.min(inputs.atol)))

    def solve(self, inputs: Inputs) -> Solved:
        y, saved = inputs.y0, []
        for segment, times, data in zip(self._segments, self._times, inputs.data, strict=True):
            ys, success = self._solver(self._address, y, times, data, inputs.rtol, inputs.atol, MAX_STEPS)
            if not success:
                return Solved(ys, segment.start)
            saved.append(ys[1 : 1 + segment.n_saved])
            y = ys[-1]
        return Solved(saved[0] if len(saved) == 1 else np.concatenate(saved), None)

    def read_solution(self, output: Solved) -> Solution:
        if output.failed_at is not None:
            message = (
                f"numbalsoda failed in the segment from t = {output.failed_at:g}: steps that no longer advance, or "
                f"more than {MAX_STEPS} of them"
            )
            raise SolverFailure(Outcome.STEP_UNDERFLOW, message)
        return self.solution(output.ys, {}, RUNAWAY)
