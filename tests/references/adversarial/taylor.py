"""An integrator by Taylor series in balls, for truths that have no formula.

The series is found order by order from y' = f(t, y): coefficient k + 1 of y is coefficient k of f over k + 1. The step
is a fixed share of the radius of convergence that the last coefficients show, so that with enough orders what is left
out is below the precision; every truth is computed with two orders and two shares, and must agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flint
import mpmath
from flint import arb, arb_series
from mpmath import mp, mpf
from references.adversarial.attack import Real

#: The right-hand side on series: time, states and theta to the derivatives.
Field = Callable[[Any, Sequence[Any], Sequence[Any]], Sequence[Any]]

_DIGITS = 90
_AGREE = 40


def solve(field: Field, y0: Sequence[Real], t0: Real, theta: Sequence[Real], times: Sequence[Real]) -> list[list[Real]]:
    """States at increasing times, to at least 40 digits.

    Raises:
        ArithmeticError: two computations with other orders do not agree.
    """
    rows = [_march(field, y0, t0, theta, times, order, share) for order, share in ((70, 0.17), (80, 0.19))]
    for a, b in zip(*rows, strict=True):
        for x, y in zip(a, b, strict=True):
            if abs(x - y) > mpf(10) ** -_AGREE * abs(y):
                raise ArithmeticError(f"{mpmath.nstr(x, 30)} and {mpmath.nstr(y, 30)}")
    return rows[1]


def followed(field: Field, y0: Sequence[str], saved: Sequence[str]) -> Callable[[Real, Sequence[Real]], list[Real]]:
    """The solution as a function of a saved time and theta; all saved times are computed at once and kept."""
    kept: dict[str, list[list[Real]]] = {}

    def solution(t: Real, theta: Sequence[Real]) -> list[Real]:
        key = repr(theta)
        times = [mpf(value) for value in saved]
        if key not in kept:
            kept[key] = solve(field, [mpf(value) for value in y0], mpf(0), theta, times)
        return kept[key][times.index(t)]

    return solution


def _march(
    field: Field, y0: Sequence[Real], t0: Real, theta: Sequence[Real], times: Sequence[Real], order: int, share: float
) -> list[list[Real]]:
    before = flint.ctx.prec
    flint.ctx.prec = int(_DIGITS * 3.33)
    try:
        t, y, p = _ball(t0), [_ball(value) for value in y0], [_ball(value) for value in theta]
        rows: list[list[Real]] = []
        for target in (_ball(value) for value in times):
            while t < target:
                series = _expand(field, t, y, p, order)
                h = arb(share) * arb(_radius(series, order))
                final = t + h >= target
                h = (target - t if final else h).mid()
                y = [_evaluate(one, h) for one in series]
                t = target if final else (t + h).mid()
            rows.append([_number(value) for value in y])
        return rows
    finally:
        flint.ctx.prec = before


def _expand(field: Field, t: arb, y: Sequence[arb], p: Sequence[arb], order: int) -> list[list[arb]]:
    coefficients = [[value] for value in y]
    for k in range(order):
        flint.ctx.cap = k + 1
        series = [arb_series(c, prec=k + 1) for c in coefficients]
        slopes = field(arb_series([t, arb(1)], prec=k + 1), series, p)
        for c, slope in zip(coefficients, slopes, strict=True):
            c.append(((slope[k] if isinstance(slope, arb_series) else arb(slope if k == 0 else 0)) / (k + 1)).mid())
    return coefficients


def _radius(series: Sequence[Sequence[arb]], order: int) -> float:
    """What the last coefficients show of the radius of convergence; components of other sizes are taken alone."""
    smallest = 1e9
    for c in series:
        size = max((abs(x) for x in c[:2]), key=float)
        for k in (order - 2, order - 1, order):
            if c[k] != 0 and size != 0:
                smallest = min(smallest, float(((size / abs(c[k])).log() / k).exp()))
    return smallest


def _evaluate(c: Sequence[arb], h: arb) -> arb:
    total = arb(0)
    for x in reversed(c):
        total = (total * h + x).mid()
    return total


def _ball(value: Real) -> arb:
    return arb(mpmath.nstr(value, _DIGITS + 5)).mid()


def _number(value: arb) -> Real:
    with mp.workdps(_DIGITS):
        return mpf(value.mid().str(_DIGITS, radius=False))
