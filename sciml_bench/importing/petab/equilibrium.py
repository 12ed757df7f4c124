"""Equilibria before the measurements, as a long period in which every difference from the equilibrium vanishes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.integrate import LSODA

from sciml_bench.importing.python.refusals import Unsupported
from sciml_bench.references.probe import Span, spans
from sciml_bench.spec.model import Problem

#: Differences from the equilibrium shrink to exp(-40), which is below the precision of a double.
_DECAY = 40.0
#: A rate below this part of the fastest one belongs to a conserved quantity, which keeps its initial value.
_CONSERVED = 1e-12
#: At rest a state changes in all of the time before by less than this part.
_AT_REST = 1e-5
_RTOL, _ATOL, _MOST_STEPS, _LONGEST = 1e-8, 1e-14, 50_000, 1e12


def settling_time(problem: Problem, places: Sequence[int]) -> float:
    """The least duration of the first period in which the trajectories at these places reach equilibrium.

    Raises:
        Unsupported: one does not reach a stable equilibrium.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        longest = max(_settling_time(next(iter(spans(trajectory)))) for trajectory in problem.trajectories(places))
    return float(f"{longest:.1e}")


def _settling_time(span: Span) -> float:
    """The time of one trajectory. The right-hand side takes every time before the period's end for one inside."""
    state, t, end = np.asarray(span.start_state, dtype=float), 0.0, 1.0
    for _ in range(40):
        solver = LSODA(lambda _t, y: span.rhs(span.start, y), t, state, end, rtol=_RTOL, atol=_ATOL)
        steps = 0
        while solver.status == "running" and steps < _MOST_STEPS:
            solver.step()
            steps += 1
        if solver.status != "finished" or not np.all(np.isfinite(solver.y)):
            raise Unsupported("the equilibrium before the measurements is not reached")
        state, t, end = solver.y, end, 4 * end
        rates = _rates(span, state)
        fastest = max(np.max(np.abs(rates)), 1e-300)
        moving = rates[np.abs(rates) > _CONSERVED * fastest]
        slowest = float(np.min(-moving.real, initial=np.inf))
        drift = np.abs(span.rhs(span.start, state)) * t
        rests = bool(np.all(drift <= _AT_REST * (np.abs(state) + 1e-12 * np.max(np.abs(state)) + _ATOL)))
        if rests and slowest > 0 and t * slowest > _DECAY / 2:
            return t + _DECAY / slowest
        if t > _LONGEST:
            break
    raise Unsupported("the equilibrium before the measurements is not reached")


def _rates(span: Span, state: Any) -> Any:
    """The eigenvalues of the Jacobian, which is emitted or made from differences."""
    if span.jacobian is not None:
        matrix = span.jacobian(span.start, state)
        return np.linalg.eigvals(matrix.toarray() if hasattr(matrix, "toarray") else matrix)
    steps = np.diag(1e-6 * np.maximum(np.abs(state), 1e-6))
    rows = [(span.rhs(span.start, state + h) - span.rhs(span.start, state - h)) / (2 * np.sum(h)) for h in steps]
    return np.linalg.eigvals(np.stack(rows, axis=1))
