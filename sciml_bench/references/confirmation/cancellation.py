"""Looks for equations that double precision cannot evaluate: solvers that agree on them agree on nothing.

The right-hand side is evaluated at states of a solution in double precision and in 128 bits. The effect of rounding
states and parameters is not the formula's fault: the first derivatives bound it. A formula such as 1 - cos(e*x) with a
tiny e loses more, and all solvers in double precision then solve the same other equation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb
from numpy.typing import NDArray

from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.numbers import precision
from sciml_bench.references.failures import ReferenceFailure, StepFailure
from sciml_bench.spec.model import Problem, to_double

MOST_STATES = 200
"""Larger systems are not looked at: each suspicious component costs one pullback."""
_BITS, _SAMPLES = 128, 8
_HALF = 1e-8
# An error of the right-hand side counts if it moves a component by this much over the whole span, relative to its size.
_MATTERS = 1e-9


@dataclass(frozen=True)
class Cancellation:
    """The component of a right-hand side that loses the most digits: its state, the time, and the digits left."""

    state: str
    t: float
    digits: float

    def __str__(self) -> str:
        return (
            f"the equation of {self.state} has {self.digits:.0f} correct digits in double precision at "
            f"t = {self.t:.4g}, since its formula subtracts numbers that are nearly equal"
        )


class Unresolved(ReferenceFailure):
    """Double precision cannot evaluate a problem's equations, so that nothing computed in it can be judged by it."""


def cancellation(problem: Problem, rows: NDArray[np.float64]) -> Cancellation | None:
    """Look at a solution (n_times, n_states) at the saved times; ``None`` if every equation keeps half of its digits.

    ``problem`` is one trajectory. Large systems, and what the engine cannot evaluate, are not looked at.
    """
    if problem.n_states > MOST_STATES or problem.controls:
        return None
    try:
        return _worst(problem, rows)
    except (ReferenceFailure, StepFailure, ArithmeticError, ValueError):
        return None


def _worst(problem: Problem, rows: NDArray[np.float64]) -> Cancellation | None:
    case, numbers = Case(problem), problem.numbers()
    in_doubles = case.dynamics.in_doubles()
    size = np.maximum(np.max(np.abs(rows), axis=0), case.scale)
    ends = np.array([to_double(end) for end in case.dynamics.ends])
    p = np.array(numbers.p)
    found: list[Cancellation] = []
    with precision(_BITS):
        segments = case.dynamics.segments()
        for k in np.unique(np.linspace(0, len(rows) - 1, _SAMPLES).astype(int)):
            t, y = numbers.save_times[k], rows[k]
            place = min(int(np.searchsorted(ends, t)), len(segments) - 1)
            balls = arb(t), [arb(float(value)) for value in y], [arb(float(value)) for value in p]
            with np.errstate(all="ignore"):
                mine = in_doubles[place](t, y, p)
            truth = segments[place].rhs(*balls)
            for i, (value, exact) in enumerate(zip(mine, truth, strict=True)):
                error = abs(float(value) - float(exact.mid()))
                matters = error * (numbers.t1 - numbers.t0) > _MATTERS * size[i]
                if not matters or error <= _HALF * abs(float(exact.mid())):
                    continue
                direction = [arb(int(j == i)) for j in range(len(y))]
                by_y, by_p = segments[place].pullback(*balls, direction)
                explained = abs(float(exact.mid())) + _size(by_y, y) + _size(by_p, p)
                if error > _HALF * explained:
                    digits = max(0.0, -math.log10(error / explained)) if explained else 0.0
                    found.append(Cancellation(problem.state_labels[i], t, digits))
    return min(found, key=lambda item: item.digits, default=None)


def _size(slopes: Sequence[arb], values: NDArray[np.float64]) -> float:
    """The sum of the magnitudes of first-order terms."""
    return sum(abs(float(slope.mid()) * float(value)) for slope, value in zip(slopes, values, strict=True))
