"""Scalar expressions of one signature as one expression of vectors."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Symbol

from sciml_bench.emit.printer import Row, RowSum
from sciml_bench.emit.symbolic.signatures import (
    MOST_SEPARATE,
    Signatures,
    Term,
    arguments,
    is_commutative,
    is_condition,
)
from sciml_bench.spec.language.operators import MatrixProduct, Node, RealFunction, Total

Nodes = NDArray[Any]

MOST_GATHERED = 8
"""Terms that are added one by one if they make no matrix: a stencil of entries. A table of them takes longer in JAX."""


class Irregular(Exception):
    """Sums with different numbers of terms that make no matrix."""


class View(RealFunction):
    """``View(x, k)``: some entries of a vector; :class:`Vectors` has the list of these choices."""


@dataclass
class Vectors:
    """Writes expressions as vectors.

    ``named`` are the entries with a name for the number alone. ``choices`` are the entries that views pick, and
    ``constants`` the arrays of numbers. In a number, ``long_sum`` terms of one signature become the sum of a vector.
    """

    signatures: Signatures
    named: frozenset[Symbol]
    long_sum: int = 8
    choices: list[NDArray[np.intp]] = field(default_factory=list[NDArray[np.intp]])
    constants: dict[Symbol, NDArray[Any]] = field(default_factory=dict[Symbol, NDArray[Any]])
    shapes: dict[Symbol, tuple[int, ...]] = field(default_factory=dict[Symbol, tuple[int, ...]])
    _known: dict[tuple[tuple[Node, ...], tuple[int, ...]], Node] = field(
        default_factory=dict[tuple[tuple[Node, ...], tuple[int, ...]], Node]
    )

    def of(self, nodes: Nodes, places: NDArray[np.intp]) -> Node:
        """Expressions of one signature as one; ``places`` are their rows, by which terms are ordered."""
        key = (tuple(nodes.flat), nodes.shape)
        if key not in self._known:
            self._known[key] = self._of(nodes, places, self._of_sum)
        return self._known[key]

    def number(self, expr: Node) -> Node:
        """One expression, with its long sums as sums of vectors."""
        return self.of(as_nodes([expr]), np.zeros(1, dtype=np.intp))

    def _of(self, nodes: Nodes, places: NDArray[np.intp], vary: Any) -> Node:
        """Write equal rows or columns once; ``vary`` writes expressions that differ along both axes."""
        first = nodes.flat[0]
        if all(node is first or node == first for node in nodes.flat):
            return self._same(first)
        if nodes.ndim == 2:
            if (nodes == nodes[:1]).all():
                return self._of(nodes[0], places[0], vary)
            if (nodes == nodes[:, :1]).all():
                return Row(self._of(nodes[:, 0], places[:, 0], vary))
        return vary(nodes, places)

    def has_long_sum(self, expr: Node) -> bool:
        """Return whether a number is written with vectors."""
        signatures, waiting, seen = self.signatures, [expr], set[Node]()
        while waiting:
            inside = signatures.inside(waiting.pop())
            if inside in seen:
                continue
            seen.add(inside)
            waiting += inside.args
            if isinstance(inside, sympy.Add):
                counts = Counter(signatures.of_product(term.factors) for term in signatures.terms(inside))
                if max(counts.values()) >= self.long_sum:
                    return True
        return False

    def _same(self, expr: Node) -> Node:
        """An expression that is one number."""
        if isinstance(expr, Symbol) and expr not in self.signatures.entries:
            return expr
        if is_condition(expr) or not isinstance(expr, sympy.Add):
            return self._of_factor(as_nodes([expr]), np.zeros(1, dtype=np.intp)) if not expr.is_number else expr
        parts: list[Node] = []
        for terms in self._groups(expr, 0).values():
            if len(terms) < self.long_sum:
                parts += [term.coefficient * self._product_of(term) for term in terms]
                continue
            places = np.zeros(len(terms), dtype=np.intp)
            parts.append(Total(self._product(terms, places, (len(terms),))))
        return sympy.Add(*parts)

    def _product_of(self, term: Term) -> Node:
        return sympy.Mul(*(self._same(factor) for factor in term.factors))

    def _of_sum(self, nodes: Nodes, places: NDArray[np.intp]) -> Node:
        rows = [self._groups(node, place) for node, place in zip(nodes.flat, places.ravel().tolist(), strict=True)]
        parts: list[Node] = []
        for of, terms in sorted(rows[0].items()):
            of_rows = [row[of] for row in rows]
            is_even = len({*map(len, of_rows)}) == 1
            is_table = not is_even or (len(terms) > MOST_SEPARATE and nodes.ndim == 1 and bool(terms[0].factors))
            matrix = self._as_matrix(of_rows) if is_table else None
            if not is_even and (matrix is None or nodes.ndim > 1):
                raise Irregular
            if matrix is not None or (is_table and len(terms) > MOST_GATHERED):
                parts.append(self._table_sum(matrix or of_rows, places))
            else:
                parts += [self._product([row[k] for row in of_rows], places, nodes.shape) for k in range(len(terms))]
        return sympy.Add(*parts)

    def _groups(self, node: Node, place: int) -> dict[int, list[Term]]:
        """Terms by their signatures, in the order of the entries that they hold."""
        groups: dict[int, list[Term]] = {}
        for term in self.signatures.terms(node):
            groups.setdefault(self.signatures.of_product(term.factors), []).append(term)
        for terms in groups.values():
            terms.sort(key=lambda term: self.signatures.key_of_product(term.factors, place))
        return groups

    def _product(self, terms: Sequence[Term], places: NDArray[np.intp], shape: tuple[int, ...]) -> Node:
        coefficients = self._numbers([term.coefficient for term in terms], shape)
        return reduce(sympy.Mul, self._factors(terms, places, shape), coefficients)

    def _factors(self, terms: Sequence[Term], places: NDArray[np.intp], shape: tuple[int, ...]) -> list[Node]:
        signatures = self.signatures
        ordered = [
            sorted(term.factors, key=lambda factor: (signatures.of_factor(factor), signatures.key(factor, place)))
            for term, place in zip(terms, places.ravel().tolist(), strict=True)
        ]
        return [
            self._of(as_nodes([row[k] for row in ordered]).reshape(shape), places.reshape(shape), self._of_factor)
            for k in range(len(ordered[0]))
        ]

    def _as_matrix(self, rows: list[list[Term]]) -> list[list[Term]] | None:
        """The terms of each row in one order, if only parameters and numbers differ between rows; zeros are added."""
        columns = [{self._column(term): term for term in row} for row in rows]
        union = {column: term for row in columns for column, term in row.items()}
        longest = max(map(len, rows))
        if any(len(row) < len(terms) for row, terms in zip(columns, rows, strict=True)) or len(union) > 2 * longest:
            return None
        has_parameters = any(self.named & {*term.factors} for term in union.values())
        if has_parameters and any(len(row) < len(union) for row in columns):
            return None
        order = sorted(union, key=lambda factors: self.signatures.key_of_product(tuple(factors), 0))
        zeros = {column: term._replace(coefficient=sympy.S.Zero) for column, term in union.items()}
        return [[row.get(column, zeros[column]) for column in order] for row in columns]

    def _column(self, term: Term) -> frozenset[Node]:
        return frozenset(factor for factor in term.factors if factor not in self.named)

    def _table_sum(self, rows: Sequence[Sequence[Term]], places: NDArray[np.intp]) -> Node:
        """The sum of many terms of one signature: a product with a table if possible, otherwise a table's sum."""
        shape = (len(rows), len(rows[0]))
        spread = np.repeat(places, shape[1])
        terms = [term for row in rows for term in row]
        factors = [self._numbers([term.coefficient for term in terms], shape), *self._factors(terms, spread, shape)]
        of_rows: list[Node] = [factor.args[0] for factor in factors if isinstance(factor, Row)]
        others = [factor for factor in factors if not isinstance(factor, Row)]
        numbers, of_columns, tables = ([each for each in others if len(self.shape(each)) == n] for n in range(3))
        total: Node
        if not tables:
            total = Total(sympy.Mul(*of_columns)) if of_columns else sympy.Integer(shape[1])
        elif of_columns and all(isinstance(table, View) or table in self.constants for table in tables):
            total = MatrixProduct(sympy.Mul(*tables), sympy.Mul(*of_columns))
        else:
            number, product = _times(*tables, *of_columns).as_coeff_Mul()
            total = RowSum(product)
            numbers.append(number)
        return sympy.Mul(total, *numbers, *of_rows)

    def shape(self, expr: Node) -> tuple[int, ...]:
        """The shape of an expression of vectors; a vector is also a row of a table."""
        match expr:
            case Symbol():
                size = self.signatures.sizes.get(expr)
                return self.shapes.get(expr, ()) if size is None else (size,)
            case View():
                return self.choices[int(expr.args[1])].shape
            case Total():
                return ()
            case Row():
                return (*self.shape(expr.args[0]), 1)
            case RowSum() | MatrixProduct():
                return self.shape(expr.args[0])[:-1]
            case _:
                return np.broadcast_shapes(*map(self.shape, expr.args))

    def _of_factor(self, nodes: Nodes, places: NDArray[np.intp]) -> Node:
        signatures, first = self.signatures, nodes.flat[0]
        if isinstance(first, Symbol) and first in signatures.entries:
            if nodes.size == 1 and first in self.named:
                return first
            entries = [signatures.entries[node] for node in nodes.flat]
            return self._view(entries[0].vector, np.array([entry.place for entry in entries]).reshape(nodes.shape))
        if not is_condition(first) and isinstance(signatures.inside(first), sympy.Add | sympy.Mul | Symbol):
            inside = as_nodes([signatures.inside(node) for node in nodes.flat]).reshape(nodes.shape)
            return self.of(inside, places) if nodes.size > 1 else self._inside(inside.flat[0])
        if isinstance(first, Symbol):
            return self._of_factor(
                as_nodes([signatures.inside(node) for node in nodes.flat]).reshape(nodes.shape), places
            )
        rows = [self._arguments(node, place) for node, place in zip(nodes.flat, places.ravel().tolist(), strict=True)]
        made = [
            self._argument(as_nodes([row[k] for row in rows]).reshape(nodes.shape), places) for k in range(len(rows[0]))
        ]
        return first.func(*made, *first.args[len(made) :])

    def _inside(self, expr: Node) -> Node:
        if isinstance(expr, sympy.Mul):
            (term,) = self.signatures.terms(expr)
            return term.coefficient * self._product_of(term)
        return self._same(expr)

    def _arguments(self, node: Node, place: int) -> list[Node]:
        found = list(arguments(node))
        if is_commutative(node):
            signatures = self.signatures
            found.sort(key=lambda each: (signatures.of_argument(each), signatures.key(each, place)))
        return found

    def _argument(self, nodes: Nodes, places: NDArray[np.intp]) -> Node:
        if is_condition(nodes.flat[0]):
            return self._of(nodes, places, self._of_factor)
        return self.of(nodes, places)

    def _view(self, vector: Symbol, indices: NDArray[np.intp]) -> Node:
        if indices.size == 1:
            indices = indices.reshape(())
        elif indices.ndim == 1 and np.array_equal(indices, np.arange(self.signatures.sizes[vector])):
            return vector
        known = (k for k, choice in enumerate(self.choices) if np.array_equal(choice, indices))
        number = next(known, len(self.choices))
        if number == len(self.choices):
            self.choices.append(indices)
        return View(vector, number)

    def _numbers(self, values: Sequence[Node], shape: tuple[int, ...]) -> Node:
        first = values[0]
        if all(value == first for value in values):
            return first
        array = np.array([float(value) for value in values]).reshape(shape)
        if array.ndim == 2 and (array == array[:1]).all():
            array = array[0]
        elif array.ndim == 2 and (array == array[:, :1]).all():
            return Row(self._constant(array[:, 0]))
        return self._constant(array)

    def _constant(self, array: NDArray[Any]) -> Symbol:
        known = (name for name, other in self.constants.items() if np.array_equal(array, other))
        name = next(known, None) or Symbol(f"NUMBERS__{len(self.constants)}", real=True)
        self.constants[name] = array
        self.shapes[name] = array.shape
        return name


def as_nodes(values: Sequence[Node]) -> Nodes:
    """Expressions as an array of one axis."""
    made = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        made[place] = value
    return made


def _times(*factors: Node) -> Node:
    return reduce(operator.mul, factors)
