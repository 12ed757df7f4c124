"""Sizes that the states of an imported model reach, by one solve in double precision."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.integrate import LSODA

from sciml_bench.references.probe import spans
from sciml_bench.spec.model import Problem

_MOST_EVALUATIONS = 20_000
_TRAJECTORIES, _MANY = 4, 100
_RTOL, _ATOL = 1e-6, 1e-12


def scales_of(problem: Problem) -> tuple[float, ...]:
    """The largest magnitude of each state until a solve ends or fails; 1 for a state that stays 0.

    Of a batch a few trajectories are solved. A scale is rounded to two digits: it says what an error is compared with,
    and need not be exact.
    """
    size = problem.batch.size
    most = _TRAJECTORIES if problem.n_states <= _MANY else 1
    places = range(0, size, -(-size // most))
    largest = np.max([_largest(trajectory) for trajectory in problem.trajectories(places)], axis=0)
    return tuple(float(f"{size:.1e}") if size > 0 else 1.0 for size in largest)


def _largest(problem: Problem) -> np.ndarray:
    """The largest magnitude of each state of one trajectory."""
    largest = np.zeros(problem.n_states)
    state, evaluations = None, 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for span in spans(problem):
            state = np.asarray(span.start_state, dtype=float) if state is None else state
            solver = LSODA(span.rhs, span.start, state, span.end, rtol=_RTOL, atol=_ATOL * np.max(np.abs(state) + 1e-3))
            while solver.status == "running" and evaluations + solver.nfev < _MOST_EVALUATIONS:
                solver.step()
                if np.all(np.isfinite(solver.y)):
                    largest = np.maximum(largest, np.abs(solver.y))
            largest = np.maximum(largest, np.abs(state))
            state, evaluations = solver.y, evaluations + solver.nfev
            if solver.status != "finished":
                break
    return largest
