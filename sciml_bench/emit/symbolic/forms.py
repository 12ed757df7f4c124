"""Scalar expressions as sums of products of affine forms, which array libraries compute for many rows at once.

A *form* is affine in the entries of a vector z. The entries are the states, what depends on the time alone, and
*units*: what is neither a sum nor a product, such as a sine or a reciprocal, of a sum of products of earlier entries.
Coefficients hold parameters and numbers alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import sympy
from sympy import Symbol
from sympy.codegen.cfunctions import expm1, log1p

from sciml_bench.spec.language.operators import Node

MOST_TERMS = 400
"""Of one polynomial: products of sums are multiplied out term by term, and chains of them grow without bound."""
MOST_FACTORS = 6
"""Of one product; higher powers are units."""

FUNCTIONS = (
    sympy.sin, sympy.cos, sympy.tan, sympy.asin, sympy.acos, sympy.atan, sympy.sinh, sympy.cosh, sympy.tanh,
    sympy.exp, sympy.log, sympy.Abs, sympy.sign, expm1, log1p,
)  # fmt: skip

VALUE = "value"
"""The kind of a unit that is its argument itself: a sum that others are multiplied by."""


class NotArrays(Exception):
    """An expression that cannot be written as array operations: a condition, or a power of two quantities."""


@dataclass(frozen=True)
class Affine:
    """``constant + sum(weight * z[entry])`` over pairs of entry and weight, in the order of the entries."""

    weights: tuple[tuple[int, Node], ...]
    constant: Node = sympy.S.Zero

    @property
    def entry(self) -> int | None:
        """Index of the single entry that this form equals, or ``None``."""
        if self.constant == 0 and len(self.weights) == 1 and self.weights[0][1] == 1:
            return self.weights[0][0]
        return None


ONE = Affine((), sympy.S.One)

Factors: TypeAlias = tuple[Affine, ...]
Polynomial: TypeAlias = Mapping[Factors, Node]
"""The coefficient of each product; the empty product's is the constant. A product of one factor is an entry."""


@dataclass(frozen=True)
class Unit:
    """``kind`` is the name of a function, :data:`VALUE`, or the exponent of a power; ``level`` counts the units inside
    each other."""

    kind: str | Node
    argument: Polynomial
    level: int


class Forms:
    """Rewrites expressions. ``units`` are the units met so far, by entry; ``of_time`` the entries of the time alone."""

    def __init__(self, states: Iterable[Symbol], parameters: Iterable[Symbol], time: Symbol):
        self.states = list(states)
        self.units: dict[int, Unit] = {}
        self.of_time: dict[int, Node] = {}
        self.names: set[Symbol] = set()
        self._time = time
        self._constant = set(parameters)
        self._with_time = self._constant | {time}
        self._size = len(self.states)
        self._known: dict[Node, Polynomial] = {state: _entry(i) for i, state in enumerate(self.states)}
        self._entries: dict[tuple[str | Node, frozenset[tuple[Factors, Node]]], int] = {}

    def define(self, name: Symbol, expr: Node) -> None:
        """Define a symbol as an expression for the following ones."""
        self._known[name] = self.of(expr)
        self.names.add(name)

    def of(self, expr: Node) -> Polynomial:
        """The expression as a polynomial.

        Raises:
            NotArrays: it cannot be written so.
        """
        if expr not in self._known:
            self._known[expr] = self._checked(self._build(expr))
        return self._known[expr]

    def level(self, polynomial: Polynomial) -> int:
        """Return how many units are inside each other in it."""
        entries = (entry for factors in polynomial for factor in factors for entry, _ in factor.weights)
        return max((self.units[entry].level for entry in entries if entry in self.units), default=0)

    def _checked(self, polynomial: Polynomial) -> Polynomial:
        if len(polynomial) > MOST_TERMS:
            raise NotArrays(f"more than {MOST_TERMS} terms")
        return polynomial

    def _build(self, expr: Node) -> Polynomial:
        free = expr.free_symbols
        if free <= self._constant:
            return _number(expr)
        if free <= self._with_time:
            return self._of_time(expr)
        if isinstance(expr, sympy.Add):
            return total(self.of(argument) for argument in expr.args)
        if isinstance(expr, sympy.Mul):
            return reduce(self._product, (self.of(argument) for argument in expr.args))
        if isinstance(expr, sympy.Pow):
            return self._power(*expr.args)
        if isinstance(expr, FUNCTIONS):
            return self._unit(type(expr).__name__.lower(), self.of(expr.args[0]))
        raise NotArrays(f"{type(expr).__name__} of states")

    def _of_time(self, expr: Node) -> Polynomial:
        """Expressions of the time and parameters alone are computed as a number; sums and products by their parts."""
        if isinstance(expr, sympy.Add):
            return total(self.of(argument) for argument in expr.args)
        if isinstance(expr, sympy.Mul):
            fixed, changing = expr.as_independent(self._time, as_Add=False)
            if fixed != 1:
                return _scaled(self.of(changing), fixed)
        if not (expr.is_Symbol or isinstance(expr, (sympy.Mul, sympy.Pow, *FUNCTIONS))):
            raise NotArrays(f"{type(expr).__name__} of the time")
        self.of_time[self._size] = expr
        self._size += 1
        return _entry(self._size - 1)

    def _product(self, a: Polynomial, b: Polynomial) -> Polynomial:
        if len(a) > len(b):
            a, b = b, a
        if all(not factors for factors in a):
            return _scaled(b, a.get((), sympy.S.Zero))
        if all(not factors for factors in b):
            return _scaled(a, b.get((), sympy.S.Zero))
        if len(a) > 1 and is_affine(a):
            a = {(as_form(a),): sympy.S.One}
        if len(b) > 1 and is_affine(b):
            a, b = {(as_form(b),): sympy.S.One}, a
        if len(a) > 1 and len(b) > 1:
            a = self._unit(VALUE, a)
        ((factors, coefficient),) = a.items()
        product: dict[Factors, Node] = {}
        for others, weight in b.items():
            key = _ordered((*factors, *others))
            product[key] = product.get(key, sympy.S.Zero) + coefficient * weight
        if any(len(key) > MOST_FACTORS for key in product):
            return self._product(self._unit(VALUE, a), self._unit(VALUE, b))
        return product

    def _power(self, base: Node, exponent: Node) -> Polynomial:
        if not exponent.free_symbols <= self._constant:
            if base.free_symbols <= self._constant:
                # SymPy has exp(x) as its own class; other numbers to the power of x are exp(x log).
                return self._unit("exp", _scaled(self.of(exponent), sympy.log(base)))
            raise NotArrays("a power of two quantities that change")
        argument = self.of(base)
        degree = max(map(len, argument))
        if exponent.is_Integer and 1 <= exponent and degree * int(exponent) <= MOST_FACTORS:
            if len(argument) > 1 and not is_affine(argument):
                argument = self._unit(VALUE, argument)
            return reduce(self._product, [argument] * int(exponent))
        kind = {-1: "reciprocal", sympy.S.Half: "sqrt"}.get(exponent, exponent)
        return self._unit(kind, argument)

    def _unit(self, kind: str | Node, argument: Polynomial) -> Polynomial:
        key = (kind, frozenset(argument.items()))
        if key not in self._entries:
            self._entries[key] = self._size
            self.units[self._size] = Unit(kind, argument, self.level(argument) + 1)
            self._size += 1
        return _entry(self._entries[key])


def total(polynomials: Iterable[Polynomial]) -> Polynomial:
    """Their sum."""
    found: dict[Factors, Node] = {}
    for polynomial in polynomials:
        for factors, coefficient in polynomial.items():
            found[factors] = found.get(factors, sympy.S.Zero) + coefficient
    return {factors: coefficient for factors, coefficient in found.items() if coefficient != 0} or _number(sympy.S.Zero)


def is_affine(polynomial: Polynomial) -> bool:
    """Return whether no entries are multiplied."""
    return all(len(factors) <= 1 for factors in polynomial)


def as_form(polynomial: Polynomial) -> Affine:
    """An affine polynomial as one form."""
    weights = {factors[0].entry: coefficient for factors, coefficient in polynomial.items() if factors}
    return Affine(
        tuple((entry, weights[entry]) for entry in sorted(entry for entry in weights if entry is not None)),
        polynomial.get((), sympy.S.Zero),
    )


def flat(polynomial: Polynomial) -> Polynomial:
    """Return the form with products of one factor as entries."""
    found: dict[Factors, Node] = {}

    def add(factors: Factors, coefficient: Node) -> None:
        found[factors] = found.get(factors, sympy.S.Zero) + coefficient

    for factors, coefficient in polynomial.items():
        if len(factors) != 1:
            add(factors, coefficient)
            continue
        for entry, weight in factors[0].weights:
            add((Affine(((entry, sympy.S.One),)),), coefficient * weight)
        if factors[0].constant != 0:
            add((), coefficient * factors[0].constant)
    return {factors: coefficient for factors, coefficient in found.items() if coefficient != 0} or _number(sympy.S.Zero)


def without(factors: Factors, factor: Affine) -> Factors:
    """The product divided by one of its factors."""
    place = factors.index(factor)
    return (*factors[:place], *factors[place + 1 :])


def _entry(index: int) -> Polynomial:
    return {(Affine(((index, sympy.S.One),)),): sympy.S.One}


def _number(value: Node) -> Polynomial:
    return {(): value}


def _scaled(polynomial: Polynomial, by: Node) -> Polynomial:
    if by == 0:
        return _number(sympy.S.Zero)
    return {factors: coefficient * by for factors, coefficient in polynomial.items()}


def _ordered(factors: Factors) -> Factors:
    return tuple(sorted(factors, key=lambda factor: ([entry for entry, _ in factor.weights], str(factor))))
