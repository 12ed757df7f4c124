"""The equations of a scalar problem as expressions of vectors, one for all equations of one form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sympy import Symbol

from sciml_bench.emit.context import Context, parameter_symbols
from sciml_bench.emit.symbolic.signatures import Entry, Signatures
from sciml_bench.emit.symbolic.statements import Program, straight_line
from sciml_bench.emit.symbolic.vectors import Irregular, Vectors, as_nodes
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import symbol

FEWEST_DEFINITIONS = 8
"""Definitions of one form that become a vector; fewer are put into the equations that use them."""

STATES, PARAMETERS = Symbol("y__", real=True), Symbol("p__", real=True)
VECTOR = "vector__"


@dataclass(frozen=True)
class Rows:
    """Equations that one expression computes, by their indices."""

    indices: tuple[int, ...]
    expr: Node

    @property
    def place(self) -> str:
        """The indices as Python writes them between brackets, or nothing if they are no range."""
        return str(self.indices[0]) if len(self.indices) == 1 else as_range(np.array(self.indices))


@dataclass
class VectorEquations:
    """The equations of one right-hand side, as vectors if possible."""

    vectors: Vectors
    rows: tuple[Rows, ...]
    program: Program

    @classmethod
    def of(cls, context: Context, equations: Mapping[str, Node], fewest_rows: int, long_sum: int) -> VectorEquations:
        """The equations of a scalar problem, with its definitions.

        Fewer equations of one form than ``fewest_rows`` are numbers, in which ``long_sum`` terms of one form are the
        sum of a vector.
        """
        try:
            return cls._of(context, equations, fewest_rows, long_sum, exact=False)
        except Irregular:
            return cls._of(context, equations, fewest_rows, long_sum, exact=True)

    @classmethod
    def _of(
        cls, context: Context, equations: Mapping[str, Node], fewest_rows: int, long_sum: int, *, exact: bool
    ) -> VectorEquations:
        problem = context.problem
        states, parameters = [symbol(state.name) for state in problem.states], parameter_symbols(problem)
        entries = {name: Entry(STATES, i) for i, name in enumerate(states)}
        entries |= {name: Entry(PARAMETERS, i) for i, name in enumerate(parameters)}
        signatures = Signatures(entries, {STATES: len(states), PARAMETERS: len(parameters)}, exact)
        vectors = Vectors(signatures, frozenset(parameters), long_sum)
        needed = [(symbol(each.name), context.resolve(each.expr)) for each in problem.definitions]
        named = _definitions(vectors, needed)
        exprs = [context.resolve(expr) for expr in equations.values()]
        groups: dict[int, list[int]] = {}
        for row, expr in enumerate(exprs):
            groups.setdefault(signatures.of(expr), []).append(row)
        rows: list[Rows] = []
        for indices in groups.values():
            few = 2 if vectors.has_long_sum(exprs[indices[0]]) else fewest_rows
            if len(indices) < few:
                rows += [Rows((row,), vectors.number(exprs[row])) for row in indices]
            else:
                rows.append(Rows(tuple(indices), vectors.of(as_nodes([exprs[i] for i in indices]), np.array(indices))))
        rows.sort(key=lambda each: each.indices)
        program = straight_line(named, [each.expr for each in rows]).needed()
        for statement in program.statements:
            vectors.shapes[statement.symbol] = vectors.shape(statement.expr)
        return cls(vectors, tuple(rows), program)


def _definitions(vectors: Vectors, named: Sequence[tuple[Symbol, Node]]) -> list[tuple[Symbol, Node]]:
    """Definitions of one form as vectors, level by level; the others are numbers, and vary as expressions."""
    signatures, found = vectors.signatures, list[tuple[Symbol, Node]]()
    level_of = dict[Symbol, int]()
    levels = list[dict[Symbol, Node]]()
    for name, expr in named:
        level_of[name] = 1 + max((level_of[other] for other in expr.free_symbols if other in level_of), default=-1)
        if level_of[name] == len(levels):
            levels.append({})
        levels[level_of[name]][name] = expr
    for level in levels:
        groups: dict[int, list[Symbol]] = {}
        for name, expr in level.items():
            groups.setdefault(signatures.of(expr), []).append(name)
        for names in groups.values():
            # Their order in the file is the order of use, often the reverse of the entries'.
            names.sort(key=lambda name: signatures.key(level[name], 0))
            expr = _as_vector(vectors, [level[name] for name in names])
            if expr is None:
                for name in names:
                    found.append((name, vectors.number(level[name])))
                    signatures.define(name, level[name])
                continue
            vector = Symbol(f"{VECTOR}{len(found)}", real=True)
            found.append((vector, expr))
            vectors.shapes[vector] = (len(names),)
            signatures.add_vector(vector, names)
    return found


def _as_vector(vectors: Vectors, exprs: Sequence[Node]) -> Node | None:
    """Expressions of one signature as a vector, if they are enough of them and differ."""
    if len(exprs) < FEWEST_DEFINITIONS:
        return None
    expr = vectors.of(as_nodes(exprs), np.array([_place(each, vectors.signatures) for each in exprs]))
    return expr if vectors.shape(expr) else None


def _place(expr: Node, signatures: Signatures) -> int:
    """The first state in an expression: its other entries are counted from there."""
    entries = (signatures.entries[name] for name in expr.free_symbols if name in signatures.entries)
    return min((entry.place for entry in entries if entry.vector == STATES), default=0)


def as_range(indices: NDArray[np.intp]) -> str:
    """Indices as Python writes a range between brackets, or nothing if they are none."""
    indices = indices.ravel()
    if len(indices) < 2:
        return ""
    first, last, step = int(indices[0]), int(indices[-1]), int(indices[1] - indices[0])
    if step < 1 or not np.array_equal(indices, np.arange(first, last + 1, step)):
        return ""
    return f"{first}:{last + 1}" + (f":{step}" if step > 1 else "")
