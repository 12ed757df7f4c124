"""Scores of a solution against the reference, never better than the reference itself.

Significant correct digits (scd) and their mixed form (mescd) are defined as in the Test Set for IVP Solvers (Mazzia
and Magherini, release 2.4, 2008), with the component's scale in place of the tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sciml_bench.adapters.base import FloatArray
from sciml_bench.models.weights import directions
from sciml_bench.record.model_task import ModelTruth
from sciml_bench.record.point import Drifts, Scores, finite
from sciml_bench.record.task import TF32, Reference, Task

_EPSILON = float(np.finfo(np.float64).eps)


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
    return np.maximum(10.0**-digits, _EPSILON)


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


# The drift of a solution from invariants of the exact one: energy, mass, momentum, as the problem declares them.


class Invariants:
    """Evaluates the invariants of a task at the parameters of its problem."""

    def __init__(self, task: Task):
        self._numbers = numbers = task.numbers
        self._namespace: dict[str, Any] = {}
        # The text is printed from a checked expression tree; no string of a problem file reaches it.
        exec(compile(task.invariants, "<emitted invariants>", "exec"), self._namespace)
        p = np.array(numbers.p)
        arguments = self._namespace["arguments"](p) if "arguments" in self._namespace else (numbers.p,)
        function: Callable[..., FloatArray] = self._namespace["invariants"]
        self._at: Callable[[float, FloatArray], FloatArray] = lambda t, y: function(t, y, *arguments)

    def drifts(self, ys: FloatArray) -> Drifts:
        """Of each invariant its value at t0 and its largest change over the saved times, ys (n_times, n_states).

        For a batch the value belongs to the first trajectory, and the change is the largest of all.
        """
        numbers = self._numbers
        start = np.asarray(numbers.y0).reshape(numbers.batch, -1)
        saved = np.asarray(ys, dtype=np.float64).reshape(len(numbers.save_times), numbers.batch, -1)
        with np.errstate(all="ignore"):
            first = np.array([self._at(numbers.t0, y) for y in start])
            later = np.array([
                [self._at(t, y) for y in row] for t, row in zip(numbers.save_times, saved, strict=True)
            ])  # fmt: skip
            change = np.max(np.abs(later - first), axis=(0, 1))
        names: tuple[str, ...] = self._namespace["INVARIANTS"]
        return {
            name: {"initial": finite(value), "drift": finite(drift)}
            for name, value, drift in zip(names, first[0], change, strict=True)
        }


# Parity of a model: its output, loss and gradient against the extended-precision reference, before any time counts.

BOUNDS = {"float64": 1e-10, "float32": 1e-5, TF32: 1e-2, "bfloat16": 5e-2}
"""The largest relative error of each precision. TF32 has eleven bits, bfloat16 eight: a few roundings."""


def output_scores(outputs: FloatArray, truth: ModelTruth, bound: float) -> tuple[Scores, str]:
    """The relative error of the outputs (batch, n_outputs) of the samples that the reference covers, and the reason why
    it misses the bound (empty when it does not)."""
    covered = min(len(outputs), len(truth.outputs))
    error = _relative(np.asarray(outputs)[:covered], np.asarray(truth.outputs)[:covered])
    return {"output_error": finite(error)}, _far_off("output", error, bound)


def slopes_of(gradient: FloatArray, truth: ModelTruth) -> FloatArray:
    """The products of a gradient (n_weights,) with the truth's directions: (n_directions,)."""
    return np.array([gradient @ direction for direction in directions(len(gradient), truth.direction_seed)])


def loss_error(loss: float, batch: int, truth: ModelTruth) -> float:
    """The relative error of the loss of a batch."""
    return _relative(np.array([loss]), np.array([np.mean(truth.losses[:batch])]))


def slope_error(slopes: FloatArray, batch: int, truth: ModelTruth) -> float:
    """The relative error of a batch's slopes (n_directions,) in the Euclidean norm."""
    return _relative(slopes, np.asarray(truth.slopes)[:, :batch].mean(axis=1))


def gradient_parity(
    loss: float, gradient: FloatArray, batch: int, truth: ModelTruth, bound: float
) -> tuple[Scores, str]:
    """The relative errors of the loss of a batch and of its slopes by the gradient (n_weights,), with its norm."""
    of_loss, of_slopes = loss_error(loss, batch, truth), slope_error(slopes_of(gradient, truth), batch, truth)
    scores: Scores = {
        "loss_error": finite(of_loss),
        "slope_error": finite(of_slopes),
        "gradient_norm": finite(float(np.linalg.norm(gradient))),
    }
    # The reference's own uncertainty is granted.
    floor = 10.0**-truth.slope_digits
    return scores, _far_off("loss", of_loss, bound) or _far_off("gradient", of_slopes, bound + floor)


def _relative(found: np.ndarray, truth: np.ndarray) -> float:
    error, size = float(np.linalg.norm(found - truth)), float(np.linalg.norm(truth))
    return max(error / size, _EPSILON) if size else error


def _far_off(name: str, error: float, bound: float) -> str:
    return "" if error <= bound else f"the relative error of the {name} is {error:.1e}, its bound {bound:.1e}"
