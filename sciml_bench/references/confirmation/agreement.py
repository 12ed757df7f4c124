"""The digits that two computations of a problem have in common: of solutions, gradients, directional derivatives."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from flint import arb

from sciml_bench.references.confirmation.differences import Direction
from sciml_bench.references.engine.adjoint import Derivatives
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.dynamics import FloatArray
from sciml_bench.references.engine.numbers import matching_digits

COMPARE_BITS = 256
#: Digits of two values that are both negligible, or both exactly zero.
FULLY = 32.0
#: Derivatives that cancel are this small against the loss, and have no digits in common at any settings.
ROUNDING = 1e-18
#: What of a solution is not certified, relative to the size of a component.
_LAST_DIGITS = 1e-28


def compare(a: Sequence[Sequence[arb]], b: Sequence[Sequence[arb]], negligible: FloatArray) -> FloatArray:
    """Matching digits of two solutions, shape (n_times, n_states); what both hold to be negligible matches fully."""
    digits = np.empty((len(b), len(negligible)))
    for k, (row_a, row_b) in enumerate(zip(a, b, strict=True)):
        for i, (x, y) in enumerate(zip(row_a, row_b, strict=True)):
            none = abs(float(x)) <= negligible[i] and abs(float(y)) <= negligible[i]
            digits[k, i] = FULLY if none else matching_digits(x, y)
    return digits


def theta_part(case: Case, derivatives: Derivatives) -> tuple[arb, ...]:
    """The derivatives with respect to theta."""
    return derivatives.p if case.problem.wrt == "parameters" else derivatives.y0


def gradient_digits(a: Sequence[arb], b: Sequence[arb]) -> FloatArray:
    """Matching digits of two gradients, shape (n_theta,): each component relative to itself, whatever its size."""
    return np.array([min(matching_digits(x, y), FULLY) for x, y in zip(a, b, strict=True)])


def directional_digits(case: Case, direction: Direction, value: arb, gradient: Sequence[arb], loss: arb) -> float:
    """Matching digits of a directional derivative and a gradient, relative to the magnitudes of its terms.

    Where all is as small against the loss as rounding, nothing is there to match.
    """
    parts = direction.p if case.problem.wrt == "parameters" else direction.y0
    terms = [a * b for a, b in zip(parts, gradient, strict=True)]
    magnitude = sum((abs(term) for term in terms), arb(0))
    if max(float(magnitude), abs(float(value))) <= ROUNDING * abs(float(loss)):
        return FULLY
    return min(matching_digits(sum(terms, arb(0)), value, float(magnitude)), FULLY)


def slope_digits(case: Case, rows: Sequence[Sequence[arb]], largest: Sequence[float] | FloatArray) -> float:
    """Digits of the loss's own derivatives that stay where the solution (n_times, n_states) moves in its last digits.

    At the minimum of a loss all residuals are rounding, and so is the gradient, whose two computations may round in
    the same way: their agreement then says nothing. ``largest`` are the magnitudes of the components along the
    solution.
    """
    start, last = case.start, len(rows) - 1
    if case.objective.direct(rows, start.p) is not None:
        return FULLY
    total = moved = arb(0)
    for k, row in enumerate(rows):
        sizes = [max(abs(float(y)), float(size)) for y, size in zip(row, largest, strict=True)]
        near = [y + _LAST_DIGITS * size for y, size in zip(row, sizes, strict=True)]
        here, there = (case.objective.slope(state, k, last, start.p) for state in (row, near))
        if here is None or there is None:
            continue
        for a, b, size in zip(here, there, sizes, strict=True):
            total += abs(a) * size
            moved += abs(b - a) * size
    if not moved > 0:
        return FULLY
    return max(0.0, min(FULLY, math.log10(float(total / moved)))) if total > 0 else 0.0
