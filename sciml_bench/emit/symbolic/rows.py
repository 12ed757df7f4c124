"""Several polynomials at once: the way with the fewest array operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import sympy
from sympy import Symbol

from sciml_bench.emit.symbolic.forms import ONE, Affine, Factors, Polynomial, as_form, flat, is_affine, without
from sciml_bench.spec.language.operators import Node

ENTRIES_PER_OPERATION = 4000
"""A product with a dense matrix of this many entries takes as long as starting an operation, about a microsecond."""


@dataclass(frozen=True)
class Linear:
    """A vector of affine forms."""

    rows: tuple[Affine, ...]


@dataclass(frozen=True)
class Common:
    """``factors * rest``: in every row all products share a factor."""

    factors: Linear
    rest: Way


@dataclass(frozen=True)
class Products:
    """``constants + matrix @ (coefficients * positions[0] * positions[1] * …)``.

    ``coefficients`` hold parameters alone, one for each product; the matrix is of numbers.
    """

    constants: tuple[Node, ...]
    matrix: tuple[tuple[Node, ...], ...]
    coefficients: tuple[Node, ...]
    positions: tuple[Linear, ...]


Way: TypeAlias = Linear | Common | Products


def best(rows: Sequence[Polynomial], entries: Sequence[int], order: Sequence[Symbol]) -> Way:
    """The cheapest way for these rows, of a vector that has these entries in this order.

    ``order`` are the parameters, in whose order products stand if there is one for each.
    """
    rows = [flat(row) for row in rows]
    if all(map(is_affine, rows)):
        return Linear(tuple(map(as_form, rows)))
    ways: list[Way] = [_products(rows, order)]
    shared = [_shared(row, entries[i] if i < len(entries) else None) for i, row in enumerate(rows)]
    if all(factor is not None for factor in shared):
        factors = [factor for factor in shared if factor is not None]
        rest = [
            {without(product, factor): coefficient for product, coefficient in row.items()} if factor != ONE else row
            for row, factor in zip(rows, factors, strict=True)
        ]
        ways.append(Common(Linear(tuple(factors)), best(rest, entries, order)))
    return min(ways, key=lambda way: cost(way, entries))


def cost(way: Way, entries: Sequence[int]) -> float:
    """Return how many operations it takes, large matrices counted as more."""
    match way:
        case Linear(rows):
            return 0.0 if is_all(way, entries) else 1.0 + len(rows) * len(entries) / ENTRIES_PER_OPERATION
        case Common(factors, rest):
            return cost(factors, entries) + 1.0 + cost(rest, entries)
        case Products():
            inner = sum(cost(position, entries) for position in way.positions) + len(way.positions) - 1
            return inner + 1.0 + len(way.matrix) * len(way.coefficients) / ENTRIES_PER_OPERATION


def is_all(rows: Linear, entries: Sequence[int]) -> bool:
    """Return whether the forms are the entries themselves, all and in their order."""
    return [row.entry for row in rows.rows] == list(entries)


def _shared(row: Polynomial, entry: int | None) -> Affine | None:
    """A factor of all products of a row, if it can be the entry itself."""
    if any(coefficient == 0 for coefficient in row.values()):
        return ONE if len(row) == 1 else None
    products = list(row)
    common = [factor for factor in products[0] if all(factor in other for other in products[1:])]
    return next((factor for factor in common if factor.entry == entry), common[0] if common else None)


@dataclass
class _Columns:
    """The products of some rows, each once with each coefficient."""

    places: dict[tuple[Node, Factors], int] = field(default_factory=dict[tuple[Node, Factors], int])

    def of(self, row: Polynomial) -> dict[int, Node]:
        """The numbers of a row by column."""
        found: dict[int, Node] = {}
        for factors, coefficient in row.items():
            for part in sympy.Add.make_args(coefficient) if factors else ():
                number, symbols = part.as_coeff_Mul()
                place = self.places.setdefault((symbols, factors), len(self.places))
                found[place] = found.get(place, sympy.S.Zero) + number
        return found


def _products(rows: Sequence[Polynomial], order: Sequence[Symbol]) -> Products:
    columns = _Columns()
    numbers = [columns.of(row) for row in rows]
    rank = {parameter: i for i, parameter in enumerate(order)}
    products = sorted(columns.places, key=lambda product: rank.get(product[0], len(rank)))
    places = [columns.places[product] for product in products]
    matrix = tuple(tuple(row.get(place, sympy.S.Zero) for place in places) for row in numbers)
    constants = tuple(row.get((), sympy.S.Zero) for row in rows)
    degree = max(len(factors) for _, factors in products)
    filled = [(*factors, *[ONE] * (degree - len(factors))) for _, factors in products]
    positions = tuple(Linear(tuple(factors[k] for factors in filled)) for k in range(degree))
    return Products(constants, matrix, tuple(coefficient for coefficient, _ in products), positions)
