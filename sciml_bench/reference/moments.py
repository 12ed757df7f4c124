"""Moments of exp(s x), cos(s x) and sin(s x) over 0 ≤ s ≤ 1 on balls, disks, power series and arrays of numbers.

That of exp(s x) with n factors s is 1F1(n + 1; n + 2; x)/(n + 1) (DLMF 13.4.1); those of cosine and sine are its parts
at an imaginary argument.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import factorial
from typing import Any

import flint
import numpy as np
from flint import acb, arb, arb_series
from numpy.typing import NDArray

from sciml_bench.problem.balls import MOMENTS
from sciml_bench.problem.balls import moment_of_exp as _exp
from sciml_bench.problem.removable import CosMoment, ExpMoment, Moment, SinMoment

Array = NDArray[Any]
_NAMES: dict[str, type[Moment]] = {"exp_moment": ExpMoment, "cos_moment": CosMoment, "sin_moment": SinMoment}


def _cos(z: acb, n: int) -> acb:
    return (_exp(z * acb(0, 1), n) + _exp(z * acb(0, -1), n)) / 2


def _sin(z: acb, n: int) -> acb:
    return (_exp(z * acb(0, 1), n) - _exp(z * acb(0, -1), n)) / acb(0, 2)


DISKS: dict[str, Callable[[acb, int], acb]] = {"exp_moment": _exp, "cos_moment": _cos, "sin_moment": _sin}
BALLS: dict[str, Callable[[arb, int], arb]] = {name: MOMENTS[kind] for name, kind in _NAMES.items()}


def _of_series(name: str) -> Callable[[Any, int], Any]:
    """The Taylor series about the first coefficient, put into the rest."""

    def of(x: Any, n: int) -> Any:
        if not isinstance(x, arb_series):
            return BALLS[name](x, n)
        start = x[0]
        return arb_series(_taylor(name, start, n, max(flint.ctx.cap, 1)))(x - start)

    return of


def _taylor(name: str, start: arb, n: int, terms: int) -> list[arb]:
    """The coefficients about ``start``, each a derivative over a factorial."""
    if not start.is_finite():
        return [arb("nan")] * terms
    key = (*map(int, start.mid().man_exp()), *map(int, start.rad().man_exp()))
    return [_coefficient(name, key, n, k, flint.ctx.prec) for k in range(terms)]


@lru_cache(maxsize=4096)
def _coefficient(name: str, key: tuple[int, int, int, int], n: int, k: int, _bits: int) -> arb:
    """Kept, as a series that grows term by term asks for the same ones again and again."""
    middle, radius = (arb(key[i]) * arb(2) ** key[i + 1] for i in (0, 2))
    if name == "exp_moment":
        found = _exp(arb(middle, radius), n + k)
    else:
        # The k-th derivatives of cosine and sine, a quarter turn each.
        turned = _exp(acb(0, arb(middle, radius)), n + k) * acb(0, 1) ** (k % 4)
        found = turned.real if name == "cos_moment" else turned.imag
    return found / factorial(k)


def _of_arrays(name: str) -> Callable[[Any, int], Any]:
    kind = _NAMES[name]

    def of(x: Any, n: int) -> Array:
        x = np.asarray(x)
        near = np.abs(x) < 0.5
        away = np.where(near, 1.0, x)
        small = np.where(near, x, 0.0)
        powers = np.polynomial.polynomial.polyval(small, [float(kind.coefficient(k, n)) for k in range(14)])
        return np.where(near, powers, _far(name, away, n))

    return of


def _far(name: str, x: Array, n: int) -> Array:
    if name == "exp_moment":
        return (np.exp(x) - (n * _far(name, x, n - 1) if n else 1)) / x
    if name == "cos_moment":
        return (np.sin(x) - (n * _far("sin_moment", x, n - 1) if n else 0)) / x
    return ((n * _far("cos_moment", x, n - 1) if n else 1) - np.cos(x)) / x


SERIES = {name: _of_series(name) for name in _NAMES}
ARRAYS = {name: _of_arrays(name) for name in _NAMES}
