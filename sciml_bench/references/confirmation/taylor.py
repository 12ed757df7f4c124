"""Taylor coefficients of a solution, and of its derivative by the initial state, in ball arithmetic.

The emitted equations are evaluated on power series (python-flint's ``arb_series``), order by order: the coefficient
k + 1 of the solution is the coefficient k of the right-hand side, divided by k + 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import flint
from flint import arb, arb_mat, arb_series, fmpq
from sympy import Expr

from sciml_bench.emit.flint import FlintSource
from sciml_bench.references.confirmation import moments
from sciml_bench.references.engine.dynamics import compiled
from sciml_bench.references.engine.numbers import ball, precision

#: Constants are held at more precision than any computation uses.
_CONSTANT_BITS = 2048
_NOT_A_NUMBER = arb("nan")


class NoSeries(ArithmeticError):
    """The right-hand side has no power series at a state, or a ball of states does not determine it."""


class TaylorField:
    """The right-hand side of one segment, as a map from a state to the Taylor coefficients of the solution there."""

    def __init__(self, source: FlintSource, end: Expr):
        self.end, self.pattern, self.operations = end, source.pattern, source.operations
        with precision(_CONSTANT_BITS):
            constants = {name: ball(value) for name, value in source.constants.items()}
        functions = compiled(source, _SERIES | constants)
        self._rhs: Callable[..., list[Any]] = functions["rhs"]
        self._jacobian: Callable[..., list[Any]] = functions["jacobian"]

    def coefficients(
        self, t: arb, y: Sequence[arb], p: Sequence[arb], order: int, middle: bool = True
    ) -> list[list[arb]]:
        """For each component the coefficients 0 … ``order`` of the solution through (t, y).

        Args:
            t: the time; a ball of times where the result is to hold for all of them.
            y: the state, (n,).
            p: the parameters.
            order: the highest coefficient.
            middle: drop the rounding of each coefficient; without, every coefficient encloses the true one.

        Raises:
            NoSeries: there is none.
        """
        solution = [[value] for value in y]
        with _length(1):
            for k in range(order):
                flint.ctx.cap = k + 1
                slopes = self._rhs(arb_series([t, 1]), [arb_series(row) for row in solution], p)
                for row, slope in zip(solution, slopes, strict=True):
                    value = _coefficient(slope, k) / (k + 1)
                    row.append(value.mid() if middle else value)
        return solution

    def variation(
        self, t: arb, solution: Sequence[Sequence[arb]], p: Sequence[arb], order: int, middle: bool = True
    ) -> list[arb_mat]:
        """Coefficients 0 … ``order`` of d solution / d initial state, n × n each.

        ``solution`` holds at least the coefficients 0 … order − 1.

        Raises:
            NoSeries: there is none.
        """
        n = len(solution)
        with _length(max(order, 1)):
            entries = self._jacobian(arb_series([t, 1]), [arb_series(list(row[:order])) for row in solution], p)
        columns = [_coefficients(entry, order) for entry in entries]
        jacobians: list[arb_mat] = []
        for k in range(order):
            flat = [arb(0)] * (n * n)
            for (i, j), column in zip(self.pattern, columns, strict=True):
                flat[i * n + j] = column[k]
            part = arb_mat(n, n, flat)
            jacobians.append(part.mid() if middle else part)
        found = [arb_mat([[arb(int(i == j)) for j in range(n)] for i in range(n)])]
        for k in range(order):
            total = jacobians[0] * found[k]
            for i in range(1, k + 1):
                total += jacobians[i] * found[k - i]
            scaled = total * arb(fmpq(1, k + 1))
            found.append(scaled.mid() if middle else scaled)
        return found


@contextmanager
def _length(terms: int) -> Iterator[None]:
    before = flint.ctx.cap
    flint.ctx.cap = terms
    try:
        yield
    except (ValueError, ZeroDivisionError) as error:
        raise NoSeries(str(error)) from error
    finally:
        flint.ctx.cap = before


def _coefficient(value: Any, k: int) -> arb:
    """The coefficient k of a result; a result that does not depend on time or state is a plain number.

    Where the value itself is unknown, all of its series is: products of it may be shorter than the series.
    """
    if not isinstance(value, arb_series):
        return arb(value) if k == 0 or not value.is_finite() else arb(0)
    first = value[0]
    return value[k] if first.is_finite() else first


def _coefficients(value: Any, order: int) -> list[arb]:
    """The coefficients 0 … ``order`` − 1 of a result."""
    known = value.coeffs()[:order] if isinstance(value, arb_series) else [arb(value)]
    if not all(coefficient.is_finite() for coefficient in known):
        return [_NOT_A_NUMBER] * order
    return known + [arb(0)] * (order - len(known))


def _leading(x: Any) -> arb:
    return x[0] if isinstance(x, arb_series) else x


def _named(name: str) -> Callable[[Any], Any]:
    return lambda x: getattr(x, name)()


def _power(x: Any, exponent: arb) -> Any:
    if isinstance(x, arb_series):
        return x**exponent if len(x) else arb(0)
    return arb(0) if x == 0 else x**exponent


def _signed(x: Any) -> arb:
    """The sign of a series just after its start; a ball around zero has none."""
    for value in x.coeffs() if isinstance(x, arb_series) else [x]:
        if value > 0:
            return arb(1)
        if value < 0:
            return arb(-1)
        # A ball about zero is neither equal to it nor different from it.
        if not value == 0:  # noqa: SIM201
            return _NOT_A_NUMBER
    return arb(0)


def _above(x: Any, or_at: bool) -> arb:
    sign = _signed(x)
    return arb(int(sign >= 0 if or_at else sign > 0)) if sign.is_finite() else sign


def _choice(test: Any, a: Any, b: Any) -> Any:
    test = _leading(test)
    return a if test > 0 else b if test <= 0 else _NOT_A_NUMBER


def _greater(a: Any, b: Any) -> Any:
    sign = _signed(a - b)
    return a if sign >= 0 else b if sign < 0 else _NOT_A_NUMBER


def _smaller(a: Any, b: Any) -> Any:
    return -_greater(-a, -b)


def _chosen(a: Any, b: Any) -> arb:
    sign = _signed(a - b)
    return arb(int(sign >= 0)) if sign.is_finite() else sign


def _hyperbolic(x: Any, sign: int) -> Any:
    grown = x.exp()
    return (grown + sign / grown) / 2


def _tanh(x: Any) -> Any:
    # Written so that the exponential of a large argument does not overflow on either side.
    if _leading(x) < 0:
        return -_tanh(-x)
    fallen = (-2 * x).exp()
    return (1 - fallen) / (1 + fallen)


_ELEMENTARY = ("sin", "cos", "tan", "asin", "atan", "exp", "log", "sqrt")
_SERIES: dict[str, Any] = {name: _named(name) for name in _ELEMENTARY} | {
    "acos": lambda x: arb.pi() / 2 - x.asin(),
    "sinh": lambda x: _hyperbolic(x, -1),
    "cosh": lambda x: _hyperbolic(x, 1),
    "tanh": _tanh,
    "expm1": lambda x: x.exp() - 1,
    "log1p": lambda x: (1 + x).log(),
    **moments.SERIES,
    "absolute": lambda x: x * _signed(x),
    "signum": _signed,
    "sign": lambda x, _: _signed(x),
    "above": lambda x, _: _above(x, or_at=False),
    "above_or_at": lambda x, _: _above(x, or_at=True),
    "choose": _choice,
    "power": _power,
    "max": _greater,
    "min": _smaller,
    "chosen_max": _chosen,
    "chosen_min": lambda a, b: _chosen(-a, -b),
}
