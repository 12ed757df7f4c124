"""Proofs of solutions by an enclosure: for which ones, at what cost, and to how many digits.

What an enclosure would cost is counted, so that the kind of a proof never hangs on how busy a machine is: its steps are
bounded by the fastest rate along the solution, which only small problems that are hardly stiff can afford.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb

from sciml_bench.references.confirmation.agreement import COMPARE_BITS, FULLY
from sciml_bench.references.confirmation.enclosure import Enclosure, NotEnclosed, enclose
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.dynamics import FloatArray
from sciml_bench.references.engine.numbers import precision
from sciml_bench.references.engine.trajectory import Trajectory
from sciml_bench.references.progress import Watch
from sciml_bench.spec.model import to_double

#: Larger systems have Jacobians of Taylor coefficients that cost too much.
LARGEST_SYSTEM = 10
#: Seconds of processor time, as counted, that a proof may take, and its share of a limit.
MOST_S, LIMIT_SHARE = 60.0, 1 / 6
#: Digits that a proof must show for the values that it proves.
PROVED_DIGITS = 20.0
_ORDER, _TOLERANCE = 31, 1e-26
#: Orders for each further digit, and the digits that a further attempt goes beyond those that were missing.
_ORDERS_PER_DIGIT, _BEYOND = 0.75, 2.0
_ATTEMPTS = 3
#: Seconds of one operation of the right-hand side in one step at the order above; it grows with the order squared.
_OPERATION_S = 2.5e-4
#: Steps for each step of the engine, and how many times the fastest time constant one step can be.
_PER_STEP, _RATE_STEP = 5.0, 3.0
_ALLOWANCE = 2.0


@dataclass(frozen=True)
class Proof:
    """An enclosure, and the digits to which it proves states at the saved times, (n_times, n_states)."""

    enclosure: Enclosure
    digits: FloatArray


def prove(case: Case, trajectory: Trajectory, negligible: FloatArray, most_s: float, watch: Watch) -> Proof | None:
    """Prove the engine's states at the saved times; ``None`` if that is impossible, or too expensive.

    Args:
        case: the problem.
        trajectory: what the engine computed.
        negligible: magnitudes that count as zero, (n_states,).
        most_s: seconds that it may take, by a count of its operations.
        watch: progress and limit.
    """
    problem = case.problem
    if problem.n_states > LARGEST_SYSTEM or case.around is not None:
        return None
    order, tolerance = _ORDER, _TOLERANCE
    steps = predicted_steps(case, trajectory)
    for _ in range(_ATTEMPTS):
        step_s = case.dynamics.operations * _OPERATION_S * (order / _ORDER) ** 2
        if steps * step_s > most_s:
            return None
        try:
            found = enclose(
                case.dynamics, problem.y0, problem.p, problem.t0, problem.save_times, negligible / 10, order, tolerance,
                int(_ALLOWANCE * most_s / step_s) + 1, watch.during("enclosure, t"),
            )  # fmt: skip
        except NotEnclosed:
            return None
        proof = Proof(found, proved_digits(found.saved, trajectory.saved, negligible))
        widths = proved_digits(found.saved, [[value.mid() for value in row] for row in found.saved], negligible)
        # Values that are known this well and yet differ are left to the caller.
        if proof.digits.min() >= PROVED_DIGITS or widths.min() >= PROVED_DIGITS + _BEYOND:
            return proof
        missing = PROVED_DIGITS - float(widths.min()) + _BEYOND
        tolerance, order = tolerance * 10**-missing, order + math.ceil(_ORDERS_PER_DIGIT * missing)
        steps = max(steps, found.n_steps)
    return None


def predicted_steps(case: Case, trajectory: Trajectory) -> float:
    """Return the number of steps of an enclosure, to a factor of about three; infinite if that is unknown."""
    dynamics, p = case.dynamics, np.array([float(value) for value in case.start.p])
    times = np.array([to_double(case.problem.t0), *trajectory.mesh])
    lengths, total = np.diff(times), _PER_STEP * len(trajectory.mesh)
    ends = np.array([to_double(end) for end in dynamics.ends])
    # The state at the end of a step represents the step; the segment is the one at its middle.
    number = np.minimum(np.searchsorted(ends, times[:-1] + lengths / 2), len(ends) - 1)
    for index, segment in enumerate(dynamics.segments()):
        inside = number == index
        if not np.any(inside):
            continue
        states = np.array(trajectory.path)[inside]
        entries = segment.jacobian(times[1:][inside], states.T, p)
        jacobians = np.zeros((len(states), case.problem.n_states, case.problem.n_states))
        jacobians[:, segment.rows, segment.columns] = entries.T
        if not np.all(np.isfinite(jacobians)):
            return math.inf
        rates = np.max(np.abs(np.linalg.eigvals(jacobians)), axis=1)
        total += float(np.sum(lengths[inside] * rates)) / _RATE_STEP
    return total


def proved_digits(
    enclosed: Sequence[Sequence[arb]], rows: Sequence[Sequence[arb]], negligible: FloatArray
) -> FloatArray:
    """Digits to which each value is sure, (n_times, n_states); values proved to be negligible are fully known."""
    digits = np.empty((len(rows), len(negligible)))
    with precision(COMPARE_BITS):
        for k, (balls, row) in enumerate(zip(enclosed, rows, strict=True)):
            for i, (ball, value) in enumerate(zip(balls, row, strict=True)):
                none = arb(float(negligible[i]))
                if abs(ball).upper() <= none and abs(value).upper() <= none:
                    digits[k, i] = FULLY
                    continue
                digits[k, i] = _digits(abs(ball - value).upper(), abs(value).lower())
    return digits


def _digits(error: arb, size: arb) -> float:
    if error == 0:
        return FULLY
    if not (size > 0 and error.is_finite()):
        return 0.0
    return min(max(-float((error / size).log() / arb(10).log()), 0.0), FULLY)
