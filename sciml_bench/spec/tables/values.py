"""Values of expressions at numbers, as rationals of 400 bits: ball arithmetic says which are real and finite."""

from __future__ import annotations

from collections.abc import Mapping

import sympy
from flint import arb

from sciml_bench.spec.discontinuities.balls import NoBall, bits, value
from sciml_bench.spec.language.operators import Node

BITS = 400
_LARGEST = 4000
"""The exponent of two beyond which a number counts as infinite, or as zero."""


def value_at(expr: Node, at: Mapping[Node, Node]) -> Node | None:
    """The value of an expression at rational numbers; ``None`` unless it is real and finite."""
    try:
        with bits(BITS):
            return rational(value(expr.xreplace(dict(at))))
    except (NoBall, ArithmeticError, ValueError):
        return None


def rational(ball: arb) -> Node | None:
    """The middle of a ball; ``None`` if it is not finite, or far beyond all doubles."""
    if not ball.is_finite():
        return None
    mantissa, exponent = map(int, ball.mid().man_exp())
    magnitude = exponent + mantissa.bit_length()
    if magnitude > _LARGEST:
        return None
    return sympy.Integer(mantissa) * sympy.Integer(2) ** exponent if magnitude > -_LARGEST else sympy.S.Zero
