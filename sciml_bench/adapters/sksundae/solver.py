"""A CVODE object of scikit-SUNDAE for one smooth part of the time span. Scripts quote these functions as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from sksundae.cvode import CVODE

from sciml_bench.adapters.program import Vector


def part_solver(
    derivative: Any, jacobian: Any, n_states: int, low: float, high: float, p: Vector, options: dict[str, Any]
) -> CVODE:
    """The solver where ``t`` is seen between two bounds; ``p`` may be overwritten between solves."""
    # Its documentation: LAPACK has noticeable overhead for systems of less than 100 equations.
    linear = "dense" if n_states < 100 else "lapackdense"
    clips = low > -np.inf or high < np.inf

    def rhs(t, y, yp):
        derivative(t, y, yp, p)

    def rhs_between(t, y, yp):
        derivative(min(max(t, low), high), y, yp, p)

    def jac(t, y, _yp, out):
        jacobian(t, y, out.reshape(-1), p)

    def jac_between(t, y, _yp, out):
        jacobian(min(max(t, low), high), y, out.reshape(-1), p)

    if clips:
        return CVODE(rhs_between, jacfn=jac_between, linsolver=linear, **options)
    return CVODE(rhs, jacfn=jac, linsolver=linear, **options)


def solve_part(solver: CVODE, start: float, times: Vector, y: Vector) -> Any:
    """The solver's result, whose ``y`` has a row for the start and each time, or one for a single time."""
    if len(times) > 1:
        return solver.solve(np.concatenate([[start], times]), y)
    # With a start and an end only, ``solve`` keeps every step.
    solver.init_step(start, y)
    return solver.step(times[0], tstop=times[0])
