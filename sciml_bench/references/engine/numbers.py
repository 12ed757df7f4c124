"""Exact numbers as high-precision balls and decimal strings, and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import flint
import sympy
from flint import arb, fmpq
from sympy import Expr

BITS_PER_DIGIT = 3.3219280948873626


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Ball arithmetic at this many bits inside the block."""
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = before


def exact(value: Expr) -> arb:
    """An exact number at the current precision, as the middle of its ball."""
    if value.is_Rational:
        return arb(fmpq(int(value.p), int(value.q))).mid()  # pyright: ignore[reportAttributeAccessIssue]
    return arb(_digits(value, int(flint.ctx.prec / BITS_PER_DIGIT) + 10)).mid()


def ball(value: Expr) -> arb:
    """A ball at the current precision that holds an exact number."""
    if value.is_Rational:
        return arb(fmpq(int(value.p), int(value.q)))  # pyright: ignore[reportAttributeAccessIssue]
    digits = int(flint.ctx.prec / BITS_PER_DIGIT) + 10
    middle = arb(_digits(value, digits))
    return middle + arb(0, abs(middle).upper() * arb(10) ** (5 - digits))


@cache
def _digits(value: Expr, digits: int) -> str:
    return str(sympy.N(value, digits))


def decimal(value: arb, digits: int) -> str:
    """The middle of a ball, rounded to this many significant digits: ``"1.786592114209946e-2"``."""
    if value.mid() == 0:
        return "0"
    return value.mid().str(digits, radius=False)


def matching_digits(a: arb, b: arb, floor: float = 0.0) -> float:
    """−log10 of the difference of two numbers relative to the larger of them (or to ``floor``, if that is larger)."""
    size = max(abs(a).mid(), abs(b).mid(), arb(floor))
    difference = abs(a - b).mid()
    if difference == 0 or size == 0:
        return flint.ctx.prec / BITS_PER_DIGIT
    return float(-(difference / size).log() / arb(10).log())
