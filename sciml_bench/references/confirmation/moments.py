"""Moments of exp(s x), cos(s x) and sin(s x) over 0 ≤ s ≤ 1 on balls, disks, power series and arrays of numbers.

The moment of exp(s x) with n factors s is 1F1(n + 1; n + 2; x)/(n + 1) (DLMF 13.4.1); cosine's and sine's are its
parts at an imaginary argument.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from math import factorial
from typing import Any

import flint
import numpy as np
import sympy
from flint import acb, arb, arb_series
from numpy.typing import NDArray

from sciml_bench.spec.discontinuities.balls import MOMENTS
from sciml_bench.spec.discontinuities.balls import moment_of_exp as _exp
from sciml_bench.spec.language.removable import DERIVATIVES, NEAR, TERMS, CosMoment, ExpMoment, Moment, SinMoment

Array = NDArray[Any]
_CHUNK = 16
_MOST_RECURSIVE = 60
"""Farther from zero, each moment of exp is computed separately."""
_KINDS: dict[str, type[Moment]] = {kind.label: kind for kind in DERIVATIVES}


def _cos(z: acb, n: int) -> acb:
    return (_exp(z * acb(0, 1), n) + _exp(z * acb(0, -1), n)) / 2


def _sin(z: acb, n: int) -> acb:
    return (_exp(z * acb(0, 1), n) - _exp(z * acb(0, -1), n)) / acb(0, 2)


DISKS: dict[str, Callable[[acb, int], acb]] = {
    ExpMoment.label: _exp,
    CosMoment.label: _cos,
    SinMoment.label: _sin,
}
BALLS: dict[str, Callable[[arb, int], arb]] = {name: MOMENTS[kind] for name, kind in _KINDS.items()}


def _of_series(name: str) -> Callable[[Any, int], Any]:
    """The Taylor series about the first coefficient, put into the rest."""

    def of(x: Any, n: int) -> Any:
        if not isinstance(x, arb_series):
            return BALLS[name](x, n)
        # The difference x - x[0] would have the radius of its first coefficient.
        rest = arb_series([0, *(x[k] for k in range(1, len(x)))])
        outer = _taylor(name, x[0], n, max(flint.ctx.cap, 1))
        # FLINT's composition refuses a series that is zero.
        return arb_series(outer)(rest) if len(rest) > 1 else arb_series(outer[:1])

    return of


def _taylor(name: str, start: arb, n: int, terms: int) -> list[arb]:
    """The coefficients about ``start``, each a derivative over a factorial."""
    if not start.is_finite():
        return [arb("nan")] * terms
    key = (*map(int, start.mid().man_exp()), *map(int, start.rad().man_exp()))
    if name == ExpMoment.label and abs(start.mid()) < _MOST_RECURSIVE:
        # A series that grows term by term asks for the same ones again and again.
        return list(_of_exp(key, n, -(-terms // _CHUNK) * _CHUNK, flint.ctx.prec)[:terms])
    return [_coefficient(name, key, n, k, flint.ctx.prec) for k in range(terms)]


@lru_cache(maxsize=4096)
def _of_exp(key: tuple[int, int, int, int], n: int, terms: int, bits: int) -> tuple[arb, ...]:
    """The coefficients of exp's moment, from the highest moment down: E_n = (exp(x) - x E_(n+1))/(n + 1).

    That loses at most exp(|x|), which the precision makes up for. The moments are positive and grow, by exp(r) at most
    over a distance r, which bounds their change over the ball about its middle.
    """
    x, radius = (arb(key[i]) * arb(2) ** key[i + 1] for i in (0, 2))
    with flint.ctx.workprec(bits + 32 + int(3 * abs(float(x)))):
        power, moments = x.exp(), [_exp(x, n + terms)]
        for m in range(n + terms - 1, n - 1, -1):
            moments.append((power - x * moments[-1]) / (m + 1))
        moments.reverse()
    spread = radius * radius.exp()
    return tuple((moments[k] + spread * arb(0, moments[k + 1].abs_upper())) / factorial(k) for k in range(terms))


@lru_cache(maxsize=4096)
def _coefficient(name: str, key: tuple[int, int, int, int], n: int, k: int, _bits: int) -> arb:
    """Kept, as a series that grows term by term asks for the same ones again and again."""
    middle, radius = (arb(key[i]) * arb(2) ** key[i + 1] for i in (0, 2))
    if name == ExpMoment.label:
        found = _exp(arb(middle, radius), n + k)
    else:
        # The k-th derivatives of cosine and sine, a quarter turn each.
        turned = _exp(acb(0, arb(middle, radius)), n + k) * acb(0, 1) ** (k % 4)
        found = turned.real if name == CosMoment.label else turned.imag
    return found / factorial(k)


def _of_arrays(name: str) -> Callable[[Any, int], Any]:
    def of(x: Any, n: int) -> Array:
        coefficients, formula = _in_doubles(_KINDS[name], n)
        x = np.asarray(x)
        near = np.abs(x) < float(NEAR)
        powers = np.polynomial.polynomial.polyval(np.where(near, x, 0.0), coefficients)
        return np.where(near, powers, formula(np.where(near, 1.0, x)))

    return of


@cache
def _in_doubles(kind: type[Moment], n: int) -> tuple[list[float], Callable[[Array], Array]]:
    """The coefficients of the polynomial near zero, and the formula elsewhere."""
    x = sympy.Symbol("x", real=True)
    coefficients = [float(kind.coefficient(k, n)) for k in range(TERMS)]
    return coefficients, sympy.lambdify(x, kind.away(x, n), "numpy")


SERIES = {name: _of_series(name) for name in _KINDS}
ARRAYS = {name: _of_arrays(name) for name in _KINDS}
