"""Scores of a solution and of a gradient against the reference, never better than the reference itself.

Significant correct digits (scd) and their mixed form (mescd) are those of the Test Set for IVP Solvers (Mazzia and
Magherini, release 2.4, 2008), with the component's scale in the place of the tolerance.
"""

from __future__ import annotations

import math

import numpy as np

from sciml_bench.adapters.base import FloatArray
from sciml_bench.measure.point import Scores, finite
from sciml_bench.task import Reference

_EPSILON = float(np.finfo(np.float64).eps)


def solve_scores(
    ys: FloatArray, reference: Reference, atol_scale: tuple[float, ...], bound: float
) -> tuple[Scores, str]:
    """Scores of states ``ys`` (n_times, n_states), and the reason why they miss the bound (empty when they do not).

    ``scd`` and ``mescd`` are taken at the last saved time and are ``None`` where the reference does not cover it;
    ``trajectory_error`` is the largest mixed error over the rows that the reference covers. A score that reaches the
    reference's own digits is capped there and ``below_reference`` is set. Components that the reference does not know
    do not count.
    """
    states = np.asarray(ys, dtype=np.float64)[list(reference.rows)]
    truth = np.asarray(reference.solution, dtype=np.float64)
    # What the reference does not know is neither right nor wrong.
    known = ~np.isnan(truth)
    error, truth = np.where(known, np.abs(states - truth), 0.0), np.where(known, truth, 0.0)
    uncertainty = np.abs(truth) * _floor(np.asarray(reference.solution_digits, dtype=np.float64))
    weight = np.where(known, np.asarray(atol_scale, dtype=np.float64) + np.abs(truth), 0.0)
    mixed = _ratio(error, weight)
    mixed_floor = _ratio(uncertainty, weight)
    scores: Scores = {"scd": None, "mescd": None, "trajectory_error": None, "below_reference": False}
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


def gradient_scores(
    gradient: FloatArray, theta: tuple[float, ...], reference: Reference, bound: float
) -> tuple[Scores | None, str]:
    """Scores of a gradient (n_theta,) against the reference's, and the reason why they miss the bound.

    ``log_relative_error`` is the relative error of d loss / d log theta, which weighs parameters of every size alike.
    """
    if reference.gradient is None:
        return None, ""
    truth = np.asarray(reference.gradient, dtype=np.float64)
    error = np.asarray(gradient, dtype=np.float64) - truth
    scale = np.asarray(theta, dtype=np.float64)
    floor = float(_floor(np.asarray(reference.gradient_digits)))
    relative = _norm_ratio(error, truth)
    scores: Scores = {
        "relative_error": _capped(relative, floor),
        "worst_component_error": _capped(_worst(np.abs(error), np.abs(truth)), floor),
        "log_relative_error": _capped(_norm_ratio(scale * error, scale * truth), floor),
        "below_reference": relative is not None and relative <= floor,
    }
    if relative is None or relative <= bound + floor:
        return scores, ""
    return scores, f"the relative gradient error is {relative:.1e}, its bound {bound:.1e}"


def _floor(digits: np.ndarray) -> np.ndarray:
    """Relative uncertainty of a truth with so many digits that travels in double precision."""
    return np.maximum(10.0**-digits, _EPSILON)


def _ratio(error: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """error / weight; components without a weight do not count."""
    return np.divide(error, weight, out=np.zeros_like(error), where=weight > 0)


def _digits(error: np.ndarray, floor: np.ndarray) -> float | None:
    worst = float(np.max(np.maximum(error, floor)))
    return finite(-math.log10(worst)) if worst > 0 else None


def _miss(name: str, error: np.ndarray, floor: np.ndarray, bound: float) -> str:
    """Why an error is past its bound although the reference's own uncertainty is granted."""
    if np.all(error <= bound + floor):
        return ""
    return f"the {name} is {np.max(error):.1e}, its bound {bound:.1e}"


def _worst(error: np.ndarray, truth: np.ndarray) -> float | None:
    counted = truth > 0
    return float(np.max(error[counted] / truth[counted])) if np.any(counted) else None


def _norm_ratio(error: np.ndarray, truth: np.ndarray) -> float | None:
    # Scaled before squaring: gradients of stiff problems reach 1e200 and more.
    largest = float(np.max(np.abs(truth), initial=0.0))
    if largest == 0.0:
        return None
    return float(np.linalg.norm(error / largest) / np.linalg.norm(truth / largest))


def _capped(error: float | None, floor: float) -> float | None:
    return None if error is None else finite(max(error, floor))
