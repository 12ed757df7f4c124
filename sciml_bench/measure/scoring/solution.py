"""Scores of a solution against the reference, never better than the reference itself.

Significant correct digits (scd) and their mixed form (mescd) are defined as in the Test Set for IVP Solvers (Mazzia
and Magherini, release 2.4, 2008), with the component's scale in place of the tolerance.
"""

from __future__ import annotations

import math

import numpy as np

from sciml_bench.adapters.program import FloatArray
from sciml_bench.measure.scoring.parity import EPSILON
from sciml_bench.record.point import Scores, finite
from sciml_bench.record.task import Reference


def solve_scores(
    ys: FloatArray, reference: Reference, atol_scale: tuple[float, ...], bound: float
) -> tuple[Scores, str]:
    """Scores of states ``ys`` (n_times, n_states), and the reason why they miss the bound (empty when they do not).

    ``scd`` and ``mescd`` are taken at the last saved time and are ``None`` where the reference does not cover it;
    ``trajectory_error`` is the largest mixed error over the rows that the reference covers. A score that reaches the
    reference's own digits is capped there and ``below_reference`` is set. Components that the reference does not know
    do not count. ``scored_components`` counts the scored ones if these are the first trajectories of a batch.
    """
    truth = np.asarray(reference.solution, dtype=np.float64)
    states = np.asarray(ys, dtype=np.float64)[list(reference.rows)]
    is_part = reference.kind == "double" and 0 < truth.shape[-1] < states.shape[1]
    if is_part:
        # A large batch is scored by its first trajectories.
        states, atol_scale = states[:, : truth.shape[1]], atol_scale[: truth.shape[1]]
    # Values that the reference does not know are neither right nor wrong.
    known = ~np.isnan(truth)
    error, truth = np.where(known, np.abs(states - truth), 0.0), np.where(known, truth, 0.0)
    uncertainty = np.abs(truth) * _floor(np.asarray(reference.solution_digits, dtype=np.float64))
    weight = np.where(known, np.asarray(atol_scale, dtype=np.float64) + np.abs(truth), 0.0)
    mixed = _ratio(error, weight)
    mixed_floor = _ratio(uncertainty, weight)
    scores: Scores = {"scd": None, "mescd": None, "trajectory_error": None, "below_reference": False}
    if is_part:
        scores["scored_components"] = int(truth.shape[1])
    if not mixed.size:
        return scores, ""
    scores["trajectory_error"] = finite(np.max(np.maximum(mixed, mixed_floor)))
    reason = ""
    if reference.rows[-1] == len(ys) - 1:
        scores["scd"] = _digits(_ratio(error[-1], np.abs(truth[-1])), _ratio(uncertainty[-1], np.abs(truth[-1])))
        scores["mescd"] = _digits(mixed[-1], mixed_floor[-1])
        scores["below_reference"] = bool(np.max(mixed[-1]) <= np.max(mixed_floor[-1]))
        reason = _miss("mixed error at t1", mixed[-1], mixed_floor[-1], bound)
    else:
        scores["below_reference"] = bool(np.max(mixed) <= np.max(mixed_floor))
        reason = _miss("mixed error", mixed, mixed_floor, bound)
    return scores, reason


def _floor(digits: np.ndarray) -> np.ndarray:
    """Relative uncertainty of a truth with ``digits`` digits that is stored in double precision."""
    return np.maximum(10.0**-digits, EPSILON)


def _ratio(error: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """error / weight; components without a weight do not count."""
    return np.divide(error, weight, out=np.zeros_like(error), where=weight > 0)


def _digits(error: np.ndarray, floor: np.ndarray) -> float | None:
    worst = float(np.max(np.maximum(error, floor)))
    return finite(-math.log10(worst)) if worst > 0 else None


def _miss(name: str, error: np.ndarray, floor: np.ndarray, bound: float) -> str:
    """Return why an error is past its bound although the reference's own uncertainty is granted."""
    if np.all(error <= bound + floor):
        return ""
    return f"the {name} is {np.max(error):.1e}, its bound {bound:.1e}"
