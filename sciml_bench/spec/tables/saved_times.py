"""Saved times: the grid on which every adapter reports, and every reference is stored."""

from __future__ import annotations

from decimal import Decimal, localcontext

import sympy
from sympy import Rational

from sciml_bench.spec.language.operators import Node

LOG_DIGITS = 6

_DIGITS = 45


def linear(t0: Node, t1: Node, count: int) -> tuple[Node, ...]:
    """``count`` equal intervals; t0 itself is not saved."""
    return (*(t0 + (t1 - t0) * Rational(k, count) for k in range(1, count)), t1)


def logarithmic(t0: Node, t1: Node, first: Node, count: int) -> tuple[Node, ...]:
    """``count`` times from t0 + first to t1, evenly spaced in the logarithm of the time since t0.

    Inner times are rounded to six significant digits, so that they are decimal numbers and every adapter and
    reference means the same ones.
    """
    span = t1 - t0
    with localcontext(prec=_DIGITS):
        start, ratio = (Decimal(str(sympy.N(value, _DIGITS))) for value in (first, span / first))
        factors = ((ratio.ln() * k / (count - 1)).exp() for k in range(count - 1))
        inner = [_rounded(start * factor) for factor in factors]
    return (*(t0 + value for value in inner), t1)


def _rounded(value: Decimal) -> Node:
    return Rational(*Decimal(f"{value:.{LOG_DIGITS - 1}e}").as_integer_ratio())
