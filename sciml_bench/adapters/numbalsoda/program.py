"""Worker side of the numbalsoda adapter.

The library takes one absolute tolerance for all components: the smallest component's, so that every component is at
least as accurate as required. It reports neither steps nor evaluations, and failures without a reason.
"""

from __future__ import annotations

import importlib
from functools import cached_property
from importlib.metadata import version
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import cfunc

from sciml_bench.adapters.base import FloatArray, Solution, Vector
from sciml_bench.adapters.emitted_source import load_source
from sciml_bench.adapters.numba import CompileTimes
from sciml_bench.adapters.numba.solves_only import SolvesOnly
from sciml_bench.adapters.segments import split
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Point, Task

# By name: types are checked also if it is not installed.
LIBRARY: Any = importlib.import_module("numbalsoda")
SOLVERS = {"lsoda": LIBRARY.lsoda, "dop853": LIBRARY.dop853}
MAX_STEPS = 1_000_000
"""Of LSODA between two saved times, of DOP853 in all; what stops making progress ends here."""

RUNAWAY = 1e150
"""LSODA's norm squares the components, which overflows beyond: it then stands still and reports success."""


class Inputs(NamedTuple):
    """The inputs of one call: the initial state, and for each segment what the right-hand side is given."""

    y0: Vector
    data: tuple[Vector, ...]
    rtol: float
    atol: float


class Solved(NamedTuple):
    """Values at the saved times; ``failed_at`` is where the segment started that failed."""

    ys: Vector
    failed_at: float | None


class NumbalsodaProgram(SolvesOnly):
    """``lsoda`` or ``dop853``; the right-hand side reaches them as the address of a C function."""

    library = "numbalsoda"

    def __init__(self, task: Task):
        self._numbers = numbers = task.numbers
        self._source = load_source(task)
        self._solver = SOLVERS[task.cell.method]
        self._segments = split(numbers)
        self._times = [np.asarray([segment.start, *segment.times]) for segment in self._segments]
        self._scale = min(numbers.atol_scale)
        self._clips = any(segment.clipped for segment in self._segments)
        self.compiled = CompileTimes([*vars(self._source).values(), self._solver])

    @cached_property
    def _address(self) -> int:
        """The C function, compiled when it is first needed; where the right-hand side jumps, ``p`` ends with the times
        between which it is smooth."""
        derivative, n = self._source.derivative, len(self._numbers.p)
        if self._clips:

            def function(t: float, y: Any, dy: Any, p: Any) -> None:
                derivative(min(max(t, p[n]), p[n + 1]), y, dy, p)

        else:

            def function(t: float, y: Any, dy: Any, p: Any) -> None:
                derivative(t, y, dy, p)

        self._function: Any = cfunc(LIBRARY.lsoda_sig)(function)
        return self._function.address

    def prepare(self, theta: FloatArray, point: Point) -> Inputs:
        numbers, values = self._numbers, np.array(theta, dtype=np.float64)
        parameters = numbers.wrt == "parameters"
        p = values if parameters else np.asarray(numbers.p, dtype=np.float64)
        y0 = np.asarray(numbers.y0, dtype=np.float64) if parameters else values
        # Never empty: the library takes its address.
        data = tuple(np.array([*p, segment.low, segment.high]) for segment in self._segments)
        return Inputs(y0, data, point.rtol, point.atol * self._scale)

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
        largest = float(np.max(np.abs(output.ys)))
        if not largest < RUNAWAY:
            raise SolverFailure(Outcome.NONFINITE, f"numbalsoda reports success with a state of {largest:g}")
        return Solution(output.ys, {})

    def versions(self) -> dict[str, str]:
        return {"numbalsoda": version("numbalsoda"), "numba": numba.__version__, "numpy": np.__version__}


def build(task: Task) -> NumbalsodaProgram:
    """The program of a numbalsoda cell."""
    return NumbalsodaProgram(task)
