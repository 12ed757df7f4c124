"""A second method for the solution, of another family than the engine's: Hermite–Obreshkov, an implicit Taylor method.

A step from t to t + h satisfies Σ_j (−h)^j a_j y_j(t + h) = Σ_j h^j b_j y_j(t), where y_j are Taylor coefficients of
the solution through either end, j = 0 … q on the left and 0 … p on the right, and a_j, b_j the coefficients of the
(p, q) Padé approximant of the exponential; its order is p + q (E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary
Differential Equations I, section II.13, and II, section IV.3). It shares the emitted equations with the engine, and no
stage, mesh, step rule or linear algebra.

The equations of a step have other solutions near the right one, closer the higher q is. So each step climbs a ladder
of pairs (p, q), from one solution to the next, and is taken only if the rungs converge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from flint import arb, arb_mat, fmpq
from sympy import Expr

from sciml_bench.references.confirmation.taylor import NoSeries, TaylorField
from sciml_bench.references.engine.dynamics import Dynamics, FloatArray
from sciml_bench.references.engine.numbers import exact, precision
from sciml_bench.references.engine.radau import growth_rate
from sciml_bench.references.engine.stops import stops
from sciml_bench.references.engine.trajectory import Start
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.spec.model import to_double

#: The rungs; the last two give the error estimate and the result.
LADDER = ((1, 2), (2, 3), (2, 4), (2, 5), (3, 6), (3, 8), (4, 10))
_TOP = LADDER[-1][1]
_ORDER = sum(LADDER[-2])
#: The difference of the last two rungs is the error of the lower one; that of the upper one is far below.
_ERROR_SHARE = 1e-2
_NEWTON, _RUNG = 1e-3, 1e-5
_MAX_ITERATIONS = 10
_TIME_BITS = 768
#: After a correction this small the matrix is kept: another would differ too little to matter.
_CLOSE = 1e-24
_HISTORY = 7
_SAFETY, _GROWTH, _SHRINK = 0.8, 4.0, 0.2
#: The largest h·Re λ of a step: what grows faster would be damped, since p < q.
_GROWTH_OF_STEP = 4.0
_SHORTEST = 1e-26
#: The stage of an unknown size: a component that starts from zero counts against its first Euler step.
_UNKNOWN_SIZE = 1e-8


@dataclass(frozen=True)
class Care:
    """How carefully a solution is followed: the ``tolerance`` of a step, relative to the size of each component; how
    much closer each rung must be to the next than the last one was; and the precision beyond what a step needs.
    """

    tolerance: float = 3e-19
    converging: float = 0.3
    bits: int = 192


@dataclass(frozen=True)
class Witness:
    """States at the saved times, and the steps that the method took."""

    saved: list[tuple[arb, ...]]
    n_steps: int
    n_rejected: int
    care: Care


def witness(
    dynamics: Dynamics,
    start: Start,
    t0: Expr,
    save_times: Sequence[Expr],
    care: Care,
    negligible: FloatArray,
    mesh: Sequence[float] = (),
    progress: Callable[[float, int], object] | None = None,
    bits: int = 0,
) -> Witness:
    """Integrate from t0 over every saved time.

    Args:
        dynamics: the right-hand side; its breakpoints are stepped on exactly.
        start: initial state and parameters.
        t0: start of the time span.
        save_times: increasing times after t0; the last ends the integration.
        care: how carefully.
        negligible: sizes below which a component is not followed relative to itself, (n,).
        bits: the precision of the method that it confirms, at least: with less, what deviates little is rounded away.
        mesh: times that another method stepped on. No step is longer than about two of its steps there: a step rule of
            its own would pass by what is narrow, too.
        progress: called with the time reached and the number of steps taken; what it raises ends the integration.

    Raises:
        ReferenceFailure: the method cannot follow the solution.
    """
    return _March(dynamics, start, t0, save_times, care, negligible, mesh, progress, bits).run()


class _NotTaken(Exception):
    """A step that did not work."""


class _March:
    def __init__(
        self,
        dynamics: Dynamics,
        start: Start,
        t0: Expr,
        save_times: Sequence[Expr],
        care: Care,
        negligible: FloatArray,
        mesh: Sequence[float],
        progress: Callable[[float, int], object] | None,
        bits: int,
    ):
        self.least_bits = bits
        self.fields = [TaylorField(source, end) for source, end in zip(dynamics.sources, dynamics.ends, strict=True)]
        self.segments = list(dynamics.segments())
        with precision(_TIME_BITS):
            self.stops = stops(dynamics.ends, save_times)
            self.t = exact(t0)
        self.p, self.y = start.p, [value.mid() for value in start.y0]
        self.p_d = np.array([float(value) for value in start.p])
        self.care, self.tolerance, self.negligible, self.progress = care, care.tolerance, negligible, progress
        self.goal = _NEWTON * care.tolerance
        self.mesh = np.array(mesh)
        self.span = to_double(save_times[-1]) - to_double(t0)
        self.first_step = 1e-3 * (to_double(save_times[0]) - to_double(t0))
        self.h = self.first_step
        self.history: list[tuple[float, FloatArray]] = []
        self.n_steps = self.n_rejected = 0

    def run(self) -> Witness:
        saved: list[tuple[arb, ...]] = []
        for target, index, ends_segment in self.stops:
            self._reach(target)
            if index is not None:
                saved.append(tuple(self.y))
            if ends_segment and len(self.fields) > 1:
                self.fields.pop(0)
                self.segments.pop(0)
                self.history = []
                self.h = min(self.h, self.first_step)
        return Witness(saved, self.n_steps, self.n_rejected, self.care)

    def _reach(self, target: arb) -> None:
        while self.t < target:
            left = float(target - self.t)
            self.h = min(self.h, self._most())
            proposed, final = self.h, self.h >= 0.999 * left
            length = left if final else min(self.h, left / 2 if self.h > left / 2 else self.h)
            if not final and not length > _SHORTEST * max(self.span * 1e-6, abs(float(self.t))):
                raise ReferenceFailure(
                    f"the witness stops at t = {float(self.t):.12g}: its step size fell to {length:.2g}"
                )
            with precision(self._bits(length)):
                h = (target - self.t).mid() if final else arb(length)
                try:
                    new, error = self._step(h)
                except (_NotTaken, NoSeries, ZeroDivisionError):
                    self.h, self.n_rejected = 0.5 * length, self.n_rejected + 1
                    continue
                factor = _SAFETY * (self.tolerance / max(error, 1e-300)) ** (1 / _ORDER)
                if not error <= 3 * self.tolerance:
                    self.h, self.n_rejected = length * max(0.15, min(factor, 0.9)), self.n_rejected + 1
                    continue
                self.history = [*self.history, (float(self.t), _doubles(self.y))][-_HISTORY:]
                self.t, self.y = (target if final else (self.t + h).mid()), new
            self.n_steps += 1
            grown = length * min(_GROWTH, max(_SHRINK, factor))
            self.h = max(grown, proposed) if final and factor > 1 else grown
            if self.progress is not None:
                self.progress(float(self.t), self.n_steps)

    def _most(self) -> float:
        here = float(self.t)
        ahead = self.mesh[np.searchsorted(self.mesh, here, side="right") :]
        most = float(ahead[min(1, len(ahead) - 1)] - here) if len(ahead) else math.inf
        rate = growth_rate(self.segments[0], here, _doubles(self.y), self.p_d)
        return min(most, _GROWTH_OF_STEP / rate) if rate > 0 else most

    def _bits(self, h: float) -> int:
        """Precision for a step: a coefficient of order q of a fast component is (h × its rate)^q times its error."""
        entries = self.segments[0].jacobian(np.array([float(self.t)]), _doubles(self.y)[:, None], self.p_d)
        rate = float(np.max(np.abs(entries), initial=0.0))
        if not np.isfinite(rate):
            raise ReferenceFailure(f"the witness stops at t = {float(self.t):.12g}: the Jacobian is not finite")
        return max(self.care.bits, self.least_bits) + 64 * math.ceil(_TOP * math.log2(1 + h * rate) / 64)

    def _step(self, h: arb) -> tuple[list[arb], float]:
        """The state after a step and the error estimate, relative to the size of each component."""
        field = self.fields[0]
        series = field.coefficients(self.t, self.y, self.p, max(LADDER[-1][0], 2))
        powers = [h**0]
        for _ in range(_TOP):
            powers.append((powers[-1] * h).mid())
        state = self._guess(series, h)
        slopes = np.array([abs(float(row[1] * h)) for row in series])
        floor = np.maximum(self.negligible, _UNKNOWN_SIZE * slopes)
        gap = lower = math.inf
        for p, q in LADDER:
            known = [_dot(_right(p, q), [c * w for c, w in zip(row, powers, strict=False)]) for row in series]
            before = state
            # The rest of a rung counts against its distance to the next.
            goal = self.goal if q == _TOP or not math.isfinite(gap) else max(self.goal, _RUNG * gap)
            state = self._solve(field, self.t + h, state, known, _left(p, q), powers, floor, goal)
            if q == LADDER[0][1]:
                continue
            size = np.maximum(np.maximum(np.abs(_doubles(state)), np.abs(_doubles(self.y))), floor)
            lower, gap = (
                gap,
                float(np.max(np.abs(_doubles([a - b for a, b in zip(state, before, strict=True)])) / size)),
            )
            if not (gap <= self.tolerance or gap <= self.care.converging * lower):
                raise _NotTaken
        return state, _ERROR_SHARE * gap

    def _solve(
        self,
        field: TaylorField,
        t: arb,
        guess: list[arb],
        known: list[arb],
        weights: Sequence[arb],
        powers: Sequence[arb],
        floor: FloatArray,
        goal: float,
    ) -> list[arb]:
        """The state whose weighed Taylor coefficients sum up to the known values: by Newton's method."""
        state, n, q = guess, len(guess), len(weights) - 1
        scaled = [(a * w).mid() for a, w in zip(weights, powers, strict=False)]
        previous, inverse = math.inf, arb_mat(n, n)
        for _ in range(_MAX_ITERATIONS):
            series = field.coefficients(t.mid(), state, self.p, q)
            residual = [(_dot(scaled, row) - value).mid() for row, value in zip(series, known, strict=True)]
            if previous > _CLOSE:
                matrix = arb_mat(n, n)
                for weight, part in zip(scaled, field.variation(t.mid(), series, self.p, q), strict=True):
                    matrix += weight * part
                inverse = matrix.mid().inv().mid()
            corrections = (inverse * arb_mat(n, 1, residual)).mid().entries()
            size = np.maximum(np.abs(_doubles(state)), floor)
            change = float(np.max(np.abs(_doubles(corrections)) / size))
            state = [(a - b).mid() for a, b in zip(state, corrections, strict=True)]
            if not np.isfinite(change) or change > 1e6:
                raise _NotTaken
            # Newton's method squares the rest; the next rung shows where one misses its own equations.
            if change <= goal or (previous < math.inf and change * (change / previous) ** 2 <= goal):
                return state
            previous = change
        raise _NotTaken

    def _guess(self, series: list[list[arb]], h: arb) -> list[arb]:
        """The state after the step, extrapolated from past ones, or along the first terms of its series."""
        here, ahead = float(self.t), float(h)
        times = np.array([t - here for t, _ in self.history] + [0.0])
        # Steps that are short against the time reached end at the same double.
        if len(self.history) > 3 and len(set(times.tolist())) == len(times):
            states = np.array([y for _, y in self.history] + [_doubles(self.y)])
            weights = np.array([
                np.prod([(ahead - other) / (own - other) for j, other in enumerate(times) if j != i])
                for i, own in enumerate(times)
            ])  # fmt: skip
            return [arb(float(value)) for value in weights @ states]
        return [(row[0] + h * row[1]).mid() for row in series]


@cache
def _fractions(p: int, q: int) -> tuple[fmpq, ...]:
    """Coefficients q! (p + q − j)! / ((p + q)! (q − j)!) of the (p, q) Padé approximant, for Taylor coefficients."""
    factorial = math.factorial
    return tuple(fmpq(factorial(q) * factorial(p + q - j), factorial(p + q) * factorial(q - j)) for j in range(q + 1))


def _left(p: int, q: int) -> list[arb]:
    return [arb(value) * (-1) ** j for j, value in enumerate(_fractions(p, q))]


def _right(p: int, q: int) -> list[arb]:
    return [arb(value) for value in _fractions(q, p)]


def _dot(a: Sequence[arb], b: Sequence[arb]) -> arb:
    n = min(len(a), len(b))
    return (arb_mat(1, n, list(a[:n])) * arb_mat(n, 1, list(b[:n])))[0, 0].mid()


def _doubles(values: Sequence[arb]) -> FloatArray:
    return np.array([float(value) for value in values])
