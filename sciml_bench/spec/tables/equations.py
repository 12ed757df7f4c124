"""Loads definitions, equations, invariants and exact solutions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import sympy

from sciml_bench.spec.language.expression import Call, ExpressionError, Scope, Typed
from sciml_bench.spec.language.matrix import Matrices
from sciml_bench.spec.language.operators import At, IndexedSum, Node
from sciml_bench.spec.quantities import Definition, State
from sciml_bench.spec.reader import Reader

_KEY = re.compile(r"([A-Za-z][A-Za-z0-9_]*)(?:\[([a-z])\])?")
_BESSEL = {
    "besseli0": (sympy.besseli, 0), "besseli1": (sympy.besseli, 1),
    "besselk0": (sympy.besselk, 0), "besselk1": (sympy.besselk, 1),
}  # fmt: skip


def load_definitions(reader: Reader, matrices: Matrices) -> tuple[Definition, ...]:
    """The intermediate quantities, each declared for the following ones; matrices are declared for products only."""
    definitions: list[Definition] = []
    for key, text in reader.document.table("definitions").items():
        if isinstance(text, list):
            _define_matrix(reader, matrices, key, text)
            continue
        name, index = _split(reader, key, "definitions")
        typed = _body(reader, text, "definitions", key, index)
        definitions.append(Definition(name, typed.shape, typed.expr))
        reader.declare(name, "definitions", None, typed.shape)
    return tuple(definitions)


def _define_matrix(reader: Reader, matrices: Matrices, name: str, rows: list[Any]) -> None:
    if not all(isinstance(row, list) for row in rows):
        cure = 'Write it row by row, as [[0, 1], ["-k", 0]].'
        raise reader.document.error(f"'{name}' is a list, but no matrix.", "definitions", name, cure)
    entries = [[reader.expression(entry, "definitions", name) for entry in row] for row in rows]
    try:
        matrices.define(name, entries)
    except ExpressionError as error:
        raise reader.document.error(f"in '{name}': {error}.", "definitions", name) from None
    reader.claim(name, "definitions")


def load_equations(reader: Reader, states: tuple[State, ...]) -> tuple[dict[str, Node], dict[str, str]]:
    """One equation for each state, and their texts as written."""
    shapes = {state.name: state.shape for state in states}
    equations: dict[str, Node] = {}
    texts: dict[str, str] = {}
    for key, text in reader.document.table("equations", True).items():
        name, index = _split(reader, key, "equations")
        if name not in shapes:
            raise reader.document.error(f"'{name}' is not a state.", "equations", key, f"States: {', '.join(shapes)}.")
        if name in equations:
            raise reader.document.error(f"'{name}' has two equations.", "equations", key)
        equations[name] = reader.fits(_body(reader, text, "equations", key, index), shapes[name], "equations", key)
        texts[key] = str(text)
    for name in shapes:
        if name not in equations:
            raise reader.document.error(f"the state '{name}' has no equation.", "equations", cure=f"Add `{name} = …`.")
    return {name: equations[name] for name in shapes}, texts


def load_implicit(reader: Reader, states: tuple[State, ...], equations: Mapping[str, Node]) -> dict[str, Node]:
    """The terms of each equation that implicit-explicit methods take implicitly; empty when no split is declared."""
    data = reader.document.table("implicit")
    if not data:
        return {}
    shapes = {state.name: state.shape for state in states}
    implicit: dict[str, Node] = dict.fromkeys(shapes, sympy.S.Zero)
    for key, text in data.items():
        name, index = _split(reader, key, "implicit")
        if name not in shapes:
            raise reader.document.error(f"'{name}' is not a state.", "implicit", key, f"States: {', '.join(shapes)}.")
        terms = reader.fits(_body(reader, text, "implicit", key, index), shapes[name], "implicit", key)
        if not set(sympy.Add.make_args(terms)) <= set(sympy.Add.make_args(equations[name])):
            cure = "Repeat terms of the sum in [equations] as they are written there."
            raise reader.document.error(f"'{text}' is not a part of the equation of '{name}'.", "implicit", key, cure)
        implicit[name] = terms
    if implicit == dict(equations):
        raise reader.document.error("every term is implicit, so nothing is split.", "implicit", cure="Leave it out.")
    return implicit


def load_invariants(reader: Reader) -> dict[str, Node]:
    """Scalar expressions that the exact solution keeps constant."""
    invariants: dict[str, Node] = {}
    for name, text in reader.document.table("invariants").items():
        typed = reader.expression(text, "invariants", name)
        if typed.shape:
            raise reader.document.error(f"the invariant '{name}' must be a scalar.", "invariants", name)
        invariants[name] = typed.expr
    return invariants


def load_exact(reader: Reader, states: tuple[State, ...]) -> dict[str, Node]:
    """Closed-form solutions: all states or none, as expressions of t, constants, parameters and coordinates."""
    data = reader.document.table("exact")
    if not data:
        return {}
    hidden = {state.name for state in states} | set(reader.document.table("definitions"))
    names = {name: meaning for name, meaning in reader.scope.names.items() if name not in hidden}
    scope = Scope(names, dict.fromkeys(_BESSEL, _bessel), reader.scope.used)
    exact: dict[str, Node] = {}
    for state in states:
        if state.name not in data:
            raise reader.document.error(
                f"[exact] is missing '{state.name}'.", "exact", cure="Give all states, or none."
            )
        typed = reader.expression(data[state.name], "exact", state.name, scope)
        exact[state.name] = reader.fits(typed, state.shape, "exact", state.name)
        scope.names[state.name] = typed
    for name in data:
        if name not in exact:
            raise reader.document.error(f"'{name}' is not a state.", "exact", name)
    return exact


def _bessel(call: Call) -> Typed:
    if len(call.arguments) != 1 or call.keywords:
        raise ExpressionError(f"{call.name} takes 1 argument")
    function, order = _BESSEL[call.name]
    argument = call.parser.visit(call.arguments[0])
    return Typed(function(order, argument.expr), argument.shape)


def _split(reader: Reader, key: str, table: str) -> tuple[str, str | None]:
    match = _KEY.fullmatch(key)
    if match is None:
        raise reader.document.error(f"'{key}' must be a name, or name[i].", table, key)
    return match[1], match[2]


def _body(reader: Reader, text: Any, table: str, key: str, index: str | None) -> Typed:
    if index is None:
        return reader.expression(text, table, key)
    if index in reader.scope.names:
        raise reader.document.error(f"the index '{index}' is already a name.", table, key)
    typed = reader.expression(text, table, key, indices=(index,))
    free = sympy.Symbol(index, integer=True)
    # An element at the free index of the whole equation is just the array, element by element.
    plain = {
        atom: atom.args[0]
        for atom in typed.expr.atoms(At)
        if atom.args[1] == free and not _inside_sum(typed.expr, atom)
    }
    return Typed(typed.expr.xreplace(plain), typed.shape)


def _inside_sum(expression: Node, atom: At) -> bool:
    return any(atom in total.atoms(At) for total in expression.atoms(IndexedSum))
