"""Saved times: the grid on which every adapter reports, and every reference is stored."""

from __future__ import annotations

from decimal import Decimal

import sympy
from sympy import Expr, Rational

LOG_DIGITS = 6


def linear(t0: Expr, t1: Expr, count: int) -> tuple[Expr, ...]:
    """``count`` equal intervals; t0 itself is not saved."""
    return tuple(t0 + (t1 - t0) * Rational(k, count) for k in range(1, count)) + (t1,)


def logarithmic(t0: Expr, t1: Expr, first: Expr, count: int) -> tuple[Expr, ...]:
    """``count`` times from t0 + first to t1, evenly spaced in the logarithm of the time since t0.

    Inner times are rounded to six significant digits, so that they are decimal numbers and every adapter and
    reference means the same ones.
    """
    span = t1 - t0
    inner = [_rounded(first * (span / first) ** Rational(k, count - 1)) for k in range(count - 1)]
    return tuple(t0 + value for value in inner) + (t1,)


def _rounded(value: Expr) -> Expr:
    return Rational(*Decimal(f"{Decimal(str(sympy.N(value, 30))):.{LOG_DIGITS - 1}e}").as_integer_ratio())
