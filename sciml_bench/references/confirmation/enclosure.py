"""Proved enclosures of a solution: Taylor series with Lohner's method, every rounding and every remainder in balls.

A step starts from a set m + B r, an exact middle and a thin box r in moving coordinates B. Where the Taylor
coefficients of order K over a tube Y of states and times satisfy Σ_{j<K} [0, h]^j y_j + [0, h]^K y_K(Y) ⊂ Y, the
solution exists over the step and stays in the tube, and y(t + h) = Σ_{j<K} h^j y_j(m) + J B r + h^K y_K(Y), where J
encloses the derivative of the sum by the state (N. S. Nedialkov, K. R. Jackson, G. F. Corliss, Validated solutions of
initial value problems for ordinary differential equations, Applied Mathematics and Computation 105, 1999). The
coordinates are made orthogonal after each step, so that a turning set is not boxed in again each time (R. J. Lohner,
Computation of guaranteed enclosures for the solutions of ordinary initial and boundary value problems, 1992).

The result holds for the emitted equations as written, with the numbers of the problem as exact as the file gives them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat
from sympy import Expr

from sciml_bench.references.confirmation.taylor import NoSeries, TaylorField
from sciml_bench.references.engine.dynamics import Dynamics, FloatArray
from sciml_bench.references.engine.numbers import ball, precision
from sciml_bench.references.engine.stops import stops
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.spec.model import to_double

#: Beyond what a remainder is relative to, for what rounding grows by.
_GUARD_BITS = 128
_TIME_BITS = 768
#: Precision where only a bound is wanted, and where the thin box r is carried along.
_TUBE_BITS, _BOX_BITS = 64, 128
#: Steps are this share of what the Taylor coefficients alone would allow; it follows what could be proved.
_SHARE, _SHORTER, _LONGER, _MOST_SHARE = 0.6, 0.75, 1.05, 1.5
#: An attempt at a step after one that could not be proved, as its remainder says; and after the step before.
_LEAST_CUT, _MOST_CUT, _GROWTH = 0.9, 0.2, 2.0
_ATTEMPTS = 40
_SHORTEST = 1e-30
#: No component is followed below this share of the largest: doubles hold the coordinates.
_LEAST_SIZE = 1e-200
_MOST_LOGARITHM = 600.0


class NotEnclosed(ReferenceFailure):
    """No enclosure can be proved; the solution may be as good as any."""


@dataclass(frozen=True)
class Enclosure:
    """Balls that hold the solution at the saved times, and how they came about."""

    saved: list[tuple[arb, ...]]
    order: int
    tolerance: float
    n_steps: int


def enclose(
    dynamics: Dynamics,
    y0: Sequence[Expr],
    p: Sequence[Expr],
    t0: Expr,
    save_times: Sequence[Expr],
    floor: FloatArray,
    order: int,
    tolerance: float,
    max_steps: int,
    progress: Callable[[float, int], object] | None = None,
) -> Enclosure:
    """Enclose the solution at every saved time.

    Args:
        dynamics: the right-hand side; its breakpoints are stepped on exactly.
        y0: initial state, exact.
        p: parameters, exact.
        t0: start of the time span, exact.
        save_times: increasing times after t0; the last ends the integration.
        floor: sizes below which a component need not be known relative to itself, (n,).
        order: K, the order of the remainder.
        tolerance: remainder of one step, relative to the size of each component.
        max_steps: more steps are not attempted.
        progress: called with the time reached and the number of steps taken; what it raises ends the integration.

    Raises:
        NotEnclosed: a step cannot be proved, or there would be too many.
    """
    with precision(64 * math.ceil((_GUARD_BITS - math.log2(tolerance)) / 64)):
        march = _March(dynamics, y0, p, t0, save_times, floor, order, tolerance, max_steps, progress)
        return march.run()


class _March:
    def __init__(
        self,
        dynamics: Dynamics,
        y0: Sequence[Expr],
        p: Sequence[Expr],
        t0: Expr,
        save_times: Sequence[Expr],
        floor: FloatArray,
        order: int,
        tolerance: float,
        max_steps: int,
        progress: Callable[[float, int], object] | None,
    ):
        self.fields = [TaylorField(source, end) for source, end in zip(dynamics.sources, dynamics.ends, strict=True)]
        with precision(_TIME_BITS):
            self.stops = stops(dynamics.ends, save_times, ball)
            self.t = ball(t0)
        self.p = [ball(value) for value in p]
        start = [ball(value) for value in y0]
        self.n, self.middle = len(start), [value.mid() for value in start]
        self.basis = _diagonal([arb(1)] * self.n)
        self.r = [value - value.mid() for value in start]
        self.floor, self.order, self.tolerance = floor, order, tolerance
        self.max_steps, self.progress = max_steps, progress
        self.shortest = _SHORTEST * (to_double(save_times[-1]) - to_double(t0))
        self.length, self.share = math.inf, _SHARE
        #: Before the first step a component that starts from zero has the size of what it gains in a thousandth.
        self.unit = 1e-3 * (to_double(save_times[0]) - to_double(t0))
        self.n_steps = 0

    def run(self) -> Enclosure:
        saved: list[tuple[arb, ...]] = []
        for target, index, ends_segment in self.stops:
            while self.t < target:
                try:
                    self._step(target)
                except (NoSeries, ZeroDivisionError) as error:
                    raise self._failure(f"its Taylor series is not known ({error})") from error
            self.t = target
            if index is not None:
                saved.append(tuple(self._box()))
            if ends_segment and len(self.fields) > 1:
                self.fields.pop(0)
        return Enclosure(saved, self.order, self.tolerance, self.n_steps)

    def _box(self) -> list[arb]:
        moved = (self.basis * arb_mat(self.n, 1, self.r)).entries()
        return [a + b for a, b in zip(self.middle, moved, strict=True)]

    def _step(self, target: arb) -> None:
        """One step towards a time, as long as can be proved."""
        field, order = self.fields[0], self.order
        with precision(_BOX_BITS):
            series = field.coefficients(self.t, self._box(), self.p, order, middle=False)
        sizes = self._sizes(series)
        allowed = self.tolerance * sizes
        length = min(self.share * self._longest(series, allowed), _GROWTH * self.length)
        left = float((target - self.t).upper())
        for attempt in range(_ATTEMPTS):
            if not length > self.shortest:
                break
            final = length >= 0.999 * left
            h = target - self.t if final else arb(left / 2 if length > left / 2 else length)
            remainder, excess = self._remainder(field, series, h, allowed)
            if remainder is not None:
                if not final:
                    self.share = min(self.share * _LONGER, _MOST_SHARE)
                    self.length = float(h)
                self._advance(field, series, h, remainder, sizes)
                self.t, self.unit = self.t + h, float(h.upper())
                self._count()
                return
            cut = 0.9 * excess ** (-1 / order) if math.isfinite(excess) else 0.0
            self.share *= _SHORTER if attempt == 0 else 1.0
            length = min(length, float(h.upper())) * min(_LEAST_CUT, max(_MOST_CUT, cut))
        raise self._failure("no step can be proved")

    def _count(self) -> None:
        self.n_steps += 1
        if self.progress is not None:
            self.progress(float(self.t), self.n_steps)
        if self.n_steps > self.max_steps:
            raise self._failure(f"it would take more than {self.max_steps} steps")

    def _longest(self, series: list[list[arb]], allowed: FloatArray) -> float:
        """The step after which the last terms of the series are as large as is allowed."""
        logarithm = math.inf
        for k in (self.order - 1, self.order):
            for row, margin in zip(series, allowed, strict=True):
                term = abs(row[k].mid())
                if not term.is_finite():
                    raise self._failure("its Taylor series is not finite")
                if term > 0:
                    logarithm = min(logarithm, (math.log(margin) - float(term.log())) / k)
        return math.exp(min(logarithm, _MOST_LOGARITHM))

    def _sizes(self, series: list[list[arb]]) -> FloatArray:
        here = np.array([abs(float(row[0].mid())) for row in series])
        ahead = np.array([abs(float(row[1].mid()) * self.unit) for row in series])
        sizes = np.maximum(np.maximum(here, ahead), self.floor)
        return np.maximum(sizes, _LEAST_SIZE * sizes.max())

    def _remainder(
        self, field: TaylorField, series: list[list[arb]], h: arb, allowed: FloatArray
    ) -> tuple[list[arb] | None, float]:
        """h^K y_K over the tube, if that proves that the solution stays in it; its size relative to the allowed one."""
        order, end = self.order, h.upper()
        with precision(_TUBE_BITS):
            powers, ranges = [arb(1)], [arb(1)]
            for _ in range(order):
                powers.append((powers[-1] * end).upper())
                ranges.append(powers[-1] / 2 * arb(1, 1))
            times = self.t + end / 2 * arb(1, 1)
            tube = [
                _dot(ranges[:order], row[:order]) + arb(0, float(margin))
                for row, margin in zip(series, allowed, strict=True)
            ]
            try:
                over_tube = field.coefficients(times, tube, self.p, order, middle=False)
            except NoSeries:
                return None, math.inf
            if not all(value.is_finite() for row in over_tube for value in row):
                return None, math.inf
            last = [row[order] for row in over_tube]
            # The addition at a time s of the step lies in [0, h^K] y_K, and so within the margin of the tube.
            bounds = [abs(value * powers[order]).upper() for value in last]
            excess = max(float(bound / arb(float(margin))) for bound, margin in zip(bounds, allowed, strict=True))
            if all(bound < float(margin) for bound, margin in zip(bounds, allowed, strict=True)):
                return [h**order * value for value in last], excess
        return None, excess

    def _advance(
        self, field: TaylorField, over_box: list[list[arb]], h: arb, remainder: list[arb], sizes: FloatArray
    ) -> None:
        order, n = self.order, self.n
        series = field.coefficients(self.t, self.middle, self.p, order - 1, middle=False)
        powers = [arb(1)]
        for _ in range(order - 1):
            powers.append(powers[-1] * h)
        derivative = arb_mat(n, n)
        with precision(_BOX_BITS):
            for power, part in zip(
                powers, field.variation(self.t, over_box, self.p, order - 1, middle=False), strict=True
            ):
                derivative += part * power
        new = [_dot(powers, row) + rest for row, rest in zip(series, remainder, strict=True)]
        self.middle = [value.mid() for value in new]
        error = [value - middle for value, middle in zip(new, self.middle, strict=True)]
        moved = derivative * self.basis
        self.basis, inverse = self._coordinates(moved, sizes)
        turned = inverse * moved * arb_mat(n, 1, self.r)
        added = inverse * arb_mat(n, 1, error)
        self.r = (turned + added).entries()
        if not all(value.is_finite() for value in self.r):
            raise self._failure("its derivative by the state is not bounded")

    def _coordinates(self, moved: arb_mat, sizes: FloatArray) -> tuple[arb_mat, arb_mat]:
        """Coordinates for the set: orthogonal where components count by their size, the longest edge first."""
        n = self.n
        widths = np.array([float(abs(value).upper()) for value in self.r])
        edges = np.array([[float(moved[i, j]) for j in range(n)] for i in range(n)]) * widths / sizes[:, None]
        lengths = np.sqrt(np.sum(edges**2, axis=0))
        turned = np.eye(n)
        if np.all(np.isfinite(lengths)) and np.any(lengths > 0):
            chosen = np.argsort(-lengths)
            columns = [edges[:, j] / lengths[j] if lengths[j] > 0 else np.zeros(n) for j in chosen]
            turned = np.linalg.qr(np.array(columns).T)[0]
        basis = arb_mat([[arb(float(turned[i, j])) * arb(float(sizes[i])) for j in range(n)] for i in range(n)]).mid()
        return basis, basis.inv()

    def _failure(self, why: str) -> NotEnclosed:
        return NotEnclosed(f"no enclosure is proved beyond t = {float(self.t):.6g}: {why}")


def _diagonal(values: Sequence[arb]) -> arb_mat:
    n = len(values)
    return arb_mat([[values[i] if i == j else arb(0) for j in range(n)] for i in range(n)])


def _dot(a: Sequence[arb], b: Sequence[arb]) -> arb:
    return (arb_mat(1, len(a), list(a)) * arb_mat(len(b), 1, list(b)))[0, 0]
