"""Signatures of scalar expressions, equal if expressions differ only in their entries and coefficients.

``p*(x1 - 2*x2)`` and ``q*(x3 + 5*x4)`` have one signature, so that an array library computes both at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import sympy
from sympy import Symbol
from sympy.core.relational import Relational

from sciml_bench.spec.language.operators import Node

Key = tuple[int, ...]
_LONGEST_KEY = 16
MOST_SEPARATE = 4
"""Terms of one signature that are added one by one; more of them are rows of a table that is summed."""
_DEEPEST = 30


class Entry(NamedTuple):
    """An entry of a vector."""

    vector: Symbol
    place: int


class Term(NamedTuple):
    """One term of a sum: a number times a product of factors."""

    coefficient: Node
    factors: tuple[Node, ...]


class Signatures:
    """Signatures of expressions of ``entries``; the vectors have these ``sizes``.

    Unless ``exact``, sums of many terms have one signature however many they are: rows of a matrix with zeros.
    """

    def __init__(self, entries: Mapping[Symbol, Entry], sizes: Mapping[Symbol, int], exact: bool):
        self.entries, self.sizes, self._exact = dict(entries), dict(sizes), exact
        self.definitions: dict[Symbol, Node] = {}
        self._numbers: dict[tuple[object, ...], int] = {}
        self._of_sum: dict[Node, int] = {}
        self._terms: dict[Node, tuple[Term, ...]] = {}
        self._depth: dict[Symbol, int] = {}
        self._keys: dict[tuple[Node, int], Key] = {}

    def define(self, name: Symbol, expr: Node) -> None:
        """Define a symbol as an expression; one that is nested too deep is a quantity like the time."""
        depth = 1 + max((self._depth.get(other, 0) for other in expr.free_symbols), default=0)
        if depth <= _DEEPEST:
            self.definitions[name], self._depth[name] = expr, depth
            self.of(expr)

    def add_vector(self, vector: Symbol, names: Sequence[Symbol]) -> None:
        """Make symbols the entries of a new vector."""
        self.sizes[vector] = len(names)
        self.entries.update({name: Entry(vector, place) for place, name in enumerate(names)})

    def of(self, expr: Node) -> int:
        """The signature of an expression, seen as a sum of products."""
        if expr not in self._of_sum:
            counts = Counter(self.of_product(term.factors) for term in self.terms(expr))
            limit = max(counts.values()) if self._exact else MOST_SEPARATE + 1
            self._of_sum[expr] = self._number("sum", *sorted((of, min(n, limit)) for of, n in counts.items()))
        return self._of_sum[expr]

    def of_product(self, factors: Sequence[Node]) -> int:
        """The signature of a product."""
        return self._number("product", *sorted(map(self.of_factor, factors)))

    def terms(self, expr: Node) -> tuple[Term, ...]:
        """The terms of an expression."""
        if expr not in self._terms:
            self._terms[expr] = tuple(map(_term, sympy.Add.make_args(self.inside(expr))))
        return self._terms[expr]

    def inside(self, expr: Node) -> Node:
        """Put the expression of a definition in its place; return other expressions as they are."""
        while isinstance(expr, Symbol) and expr not in self.entries and expr in self.definitions:
            expr = self.definitions[expr]
        return expr

    def of_factor(self, factor: Node) -> int:
        """The signature of a factor that is not a product."""
        if isinstance(factor, Symbol):
            if factor in self.entries:
                return self._number("entry", self.entries[factor].vector)
            return self.of(factor) if factor in self.definitions else self._number("same", factor)
        if isinstance(factor, sympy.Add):
            return self.of(factor)
        return self._number(*_kind(factor), *self._of_arguments(factor))

    def _of_arguments(self, factor: Node) -> list[int]:
        found = [self.of_argument(argument) for argument in arguments(factor)]
        return sorted(found) if is_commutative(factor) else found

    def of_argument(self, argument: Node) -> int:
        """The signature of an argument of a function: an expression or a condition."""
        if is_condition(argument):
            return self._number(*_kind(argument), *self._of_arguments(argument))
        return self.of(argument)

    def key(self, expr: Node, place: int) -> Key:
        """Distances of an expression's entries from a place, around the vector's end; they order equal signatures."""
        known = self._keys.get((expr, place))
        if known is None:
            known = self._keys[expr, place] = self._key(expr, place)
        return known

    def key_of_product(self, factors: Sequence[Node], place: int) -> Key:
        """The key of a product."""
        parts = sorted((self.of_factor(factor), self.key(factor, place)) for factor in factors)
        # Entries that are used in several places would make keys of any length.
        return tuple(number for _, key in parts for number in key)[:_LONGEST_KEY]

    def _key(self, expr: Node, place: int) -> Key:
        if isinstance(expr, Symbol):
            if expr in self.entries:
                vector, own = self.entries[expr]
                return ((own - place) % self.sizes[vector],)
            return self.key(self.definitions[expr], place) if expr in self.definitions else ()
        parts = sorted((self.of_argument(part), self.key(part, place)) for part in expr.args if not part.is_number)
        return tuple(number for _, key in parts for number in key)[:_LONGEST_KEY]

    def _number(self, *parts: object) -> int:
        return self._numbers.setdefault(parts, len(self._numbers))


def arguments(factor: Node) -> tuple[Node, ...]:
    """The arguments of a factor that rows may differ in."""
    return factor.args[:1] if factor.is_Pow and factor.exp.is_number else factor.args


def is_condition(expr: Node) -> bool:
    """Return whether an expression is true or false."""
    return isinstance(expr, Relational | sympy.And | sympy.Or | sympy.Not)


def is_commutative(factor: Node) -> bool:
    """Return whether arguments may be in any order."""
    return isinstance(factor, sympy.Min | sympy.Max | sympy.And | sympy.Or)


def _term(expr: Node) -> Term:
    coefficient, rest = expr.as_coeff_Mul()
    return Term(coefficient, () if rest == 1 else sympy.Mul.make_args(rest))


def _kind(factor: Node) -> tuple[object, ...]:
    return (factor.func, factor.exp) if factor.is_Pow and factor.exp.is_number else (factor.func,)
