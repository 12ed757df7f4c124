"""Worker side of the CyRK adapter. For a Jacobian the library takes differences of the right-hand side."""

from __future__ import annotations

import importlib
from functools import cached_property
from importlib.metadata import version
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import cfunc, njit

from sciml_bench.adapters.base import FloatArray, Solution, Vector
from sciml_bench.adapters.cyrk import METHODS
from sciml_bench.adapters.emitted_source import load_source
from sciml_bench.adapters.numba import CompileTimes
from sciml_bench.adapters.numba.solves_only import SolvesOnly
from sciml_bench.adapters.segments import split
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Point, Task

# By name: types are checked also if it is not installed.
LIBRARY: Any = importlib.import_module("CyRK")
SIGNATURE: Any = importlib.import_module("CyRK.nb.numba_solver").cyjit_sig
MAX_STEPS = 1_000_000
"""Between two breakpoints; what stops making progress ends here."""

_solve_ivp = LIBRARY.nbsolve2_ivp
_CODES = LIBRARY.CyrkErrorCodes
_TOO_MANY = frozenset(map(int, (_CODES.MAX_STEPS_USER_EXCEEDED, _CODES.MAX_STEPS_SYSARCH_EXCEEDED)))


@njit
def _solved(
    address: int, start: float, end: float, y0: Vector, times: Vector, data: Vector, rtol: float, atols: Vector,
    method: str, most: int,
) -> Any:  # fmt: skip
    """Values at the times, one row each, accepted steps, whether it succeeded and its status; results are freed."""
    result = _solve_ivp(
        address, (start, end), y0, method=method, t_eval=times, args=data, rtol=rtol, atols=atols, max_num_steps=most,
        force_retain_solver=False,
    )  # fmt: skip
    ys, steps, success, status = result.y.T.copy(), result.steps_taken, result.success, result.status
    result.free()
    return ys, steps, success, status


class Inputs(NamedTuple):
    """The inputs of one call: the initial state, and for each segment what the right-hand side is given."""

    y0: Vector
    data: tuple[Vector, ...]
    rtol: float
    atols: Vector


class Solved(NamedTuple):
    """Values at the saved times and accepted steps; ``failed`` is the status and the start of a segment that failed."""

    ys: Vector
    steps: int
    failed: tuple[int, float] | None


class CyrkProgram(SolvesOnly):
    """One method of ``nbsolve2_ivp``; the right-hand side reaches it as the address of a C function."""

    library = "CyRK"

    def __init__(self, task: Task):
        self._numbers = numbers = task.numbers
        self._source = load_source(task)
        self._method = METHODS[task.cell.method]
        self._segments = split(numbers)
        self._times = [np.asarray(segment.times) for segment in self._segments]
        self._scale = np.asarray(numbers.atol_scale)
        self._clips = any(segment.clipped for segment in self._segments)
        self.compiled = CompileTimes([*vars(self._source).values(), _solved])

    @cached_property
    def _address(self) -> int:
        """The C function, compiled when it is first needed; where the right-hand side jumps, ``p`` ends with the times
        between which it is smooth."""
        derivative, n = self._source.derivative, len(self._numbers.p)
        if self._clips:

            def function(dy: Any, t: float, y: Any, p: Any) -> None:
                derivative(min(max(t, p[n]), p[n + 1]), y, dy, p)

        else:

            def function(dy: Any, t: float, y: Any, p: Any) -> None:
                derivative(t, y, dy, p)

        self._function: Any = cfunc(SIGNATURE)(function)
        return self._function.address

    def prepare(self, theta: FloatArray, point: Point) -> Inputs:
        numbers, values = self._numbers, np.array(theta, dtype=np.float64)
        parameters = numbers.wrt == "parameters"
        p = values if parameters else np.asarray(numbers.p, dtype=np.float64)
        y0 = np.asarray(numbers.y0, dtype=np.float64) if parameters else values
        data = tuple(np.array([*p, segment.low, segment.high]) for segment in self._segments)
        return Inputs(y0, data, point.rtol, point.atol * self._scale)

    def solve(self, inputs: Inputs) -> Solved:
        y, saved, steps = inputs.y0, [], 0
        for segment, times, data in zip(self._segments, self._times, inputs.data, strict=True):
            ys, taken, success, status = _solved(
                self._address, segment.start, segment.end, y, times, data, inputs.rtol, inputs.atols, self._method,
                MAX_STEPS,
            )  # fmt: skip
            steps += taken
            if not success:
                return Solved(ys, steps, (status, segment.start))
            saved.append(ys[: segment.n_saved])
            y = ys[-1].copy()
        return Solved(saved[0] if len(saved) == 1 else np.concatenate(saved), steps, None)

    def read_solution(self, output: Solved) -> Solution:
        if output.failed is not None:
            status, start = output.failed
            outcome = Outcome.MAX_STEPS if status in _TOO_MANY else Outcome.STEP_UNDERFLOW
            message = LIBRARY.get_error_message(status)
            raise SolverFailure(outcome, f"CyRK failed in the segment from t = {start:g}: {message}")
        if not np.all(np.isfinite(output.ys)):
            raise SolverFailure(Outcome.NONFINITE, "CyRK reports success with a state that is not finite")
        return Solution(output.ys, {"n_accepted": output.steps})

    def versions(self) -> dict[str, str]:
        return {"CyRK": version("CyRK"), "numba": numba.__version__, "numpy": np.__version__}


def build(task: Task) -> CyrkProgram:
    """The program of a CyRK cell."""
    return CyrkProgram(task)
