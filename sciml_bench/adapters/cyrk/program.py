"""Worker side of the CyRK adapter. For a Jacobian the library takes differences of the right-hand side."""

from __future__ import annotations

import importlib
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from sciml_bench.adapters.cyrk import METHODS
from sciml_bench.adapters.numba.solves_only import Inputs, SolvesOnly
from sciml_bench.adapters.program import Solution, Vector
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Task

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


class Solved(NamedTuple):
    """Values at the saved times and accepted steps; ``failed`` is the status and the start of a segment that failed."""

    ys: Vector
    steps: int
    failed: tuple[int, float] | None


class CyrkProgram(SolvesOnly):
    """One method of ``nbsolve2_ivp``; the right-hand side reaches it as the address of a C function."""

    library = package = "CyRK"

    def __init__(self, task: Task):
        super().__init__(task, _solved)
        self._method = METHODS[task.cell.method]
        self._times = [np.asarray(segment.times) for segment in self._segments]

    @cached_property
    def _address(self) -> int:
        """The C function, compiled when it is first needed."""
        derivative = self.derivative

        def function(dy: Any, t: float, y: Any, p: Any) -> None:
            derivative(t, y, dy, p)

        return self.address(SIGNATURE, function)

    def solve(self, inputs: Inputs) -> Solved:
        y, saved, steps = inputs.y0, [], 0
        for segment, times, data in zip(self._segments, self._times, inputs.data, strict=True):
            ys, taken, success, status = _solved(
                self._address, segment.start, segment.end, y, times, data, inputs.rtol, inputs.atol, self._method,
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
        return self.solution(output.ys, {"n_accepted": output.steps})
