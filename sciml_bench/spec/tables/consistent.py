"""Initial values that algebraic equations determine: exact, or by Newton's method to many digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sympy
from sympy import Symbol

from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import Definition, Parameter, State, symbol
from sciml_bench.spec.tables.elimination import eliminate

_DIGITS = 80
_CLOSE = sympy.Float(10) ** -70
_ITERATIONS, _HALVINGS = 100, 40
_CORRECTIONS = 3
"""Newton steps that correct the values at other parameters: at a distance d the error is about d to the power of 8."""


class NotConsistent(Exception):
    """There are no consistent initial values near the ones that the file gives."""

    def __init__(self, message: str, cure: str):
        super().__init__(message)
        self.cure = cure


@dataclass(frozen=True)
class Start:
    """Values at t0 as numbers: ``point`` has one for every state and parameter.

    Where they depend on parameters, ``computed`` has them as expressions of parameters and of ``encoding``.
    """

    computed: Mapping[str, Node]
    encoding: tuple[Definition, ...]
    point: Mapping[Symbol, Node]


def consistent_values(
    residuals: Sequence[Node],
    names: Sequence[Symbol],
    near: Sequence[Node],
    states: Sequence[State],
    parameters: Sequence[Parameter],
    t0: Node,
) -> Start:
    """The values of ``names`` at which all residuals are zero at t0.

    Raises:
        NotConsistent: Newton's method finds none.
        Singular: the equations do not determine them.
    """
    at_start: dict[Symbol, Node] = {symbol("t"): t0}
    at_start |= {symbol(state.name): state.initial[0] if state.start is None else state.start for state in states}
    equations = [residual.xreplace(at_start) for residual in residuals]
    nominal = {symbol(item.name): item.values[0] for item in parameters if not item.shape}
    point = nominal | {name: value.xreplace(nominal) for name, value in at_start.items()}
    known = dict(zip(names, near, strict=True))
    if all(sympy.simplify(equation.xreplace(known)) == 0 for equation in equations):
        return Start({}, (), {**point, **known})
    matrix = sympy.Matrix([[sympy.diff(equation, name) for name in names] for equation in equations])
    is_linear = not matrix.free_symbols & set(names)
    if is_linear:
        root = dict.fromkeys(names, sympy.S.Zero)
    else:
        root = dict(
            zip(names, _newton([equation.xreplace(nominal) for equation in equations], names, near), strict=True)
        )
    depends = {name for equation in equations for name in equation.free_symbols} - set(names)
    if not depends and not is_linear:
        return Start({}, (), {**point, **root})
    encoding, values = _corrected(equations, matrix, {**point, **root}, root, 1 if is_linear else _CORRECTIONS)
    if is_linear:
        numbers = dict(point)
        for item in encoding:
            numbers[symbol(item.name)] = item.expr.xreplace(numbers)
        root = {name: expr.xreplace(numbers) for name, expr in values.items()}
    if not depends:
        return Start({}, (), {**point, **root})
    computed = {name.name: value for name, value in values.items()}
    return Start(computed, tuple(encoding), {**point, **root})


def _corrected(
    equations: Sequence[Node], matrix: sympy.Matrix, point: Mapping[Symbol, Node], root: Mapping[Symbol, Node], n: int
) -> tuple[list[Definition], dict[Symbol, Node]]:
    """The values after n steps of Newton's method in terms of the parameters, and the definitions that they read.

    The first starts from the root of the nominal parameters, so that values there are exact, and so are derivatives.
    Of linear equations one step is exact everywhere.

    Raises:
        Singular: the Jacobian is, at the point.
    """
    known, definitions = dict(point), list[Definition]()
    values: dict[Symbol, Node] = dict(root)
    for k in range(n):
        right = [-equation.xreplace(values) for equation in equations]
        added, step = eliminate(matrix.xreplace(values), right, known, f"start{k}")
        values = {name: values[name] + one for name, one in zip(root, step, strict=True)}
        if k + 1 < n:
            added += [Definition(f"{name.name}__start{k}", (), expr) for name, expr in values.items()]
            values = {name: symbol(f"{name.name}__start{k}") for name in root}
        for item in added:
            known[symbol(item.name)] = item.expr.xreplace(known).evalf(_DIGITS)
        definitions += added
    return definitions, values


def _newton(equations: Sequence[Node], names: Sequence[Symbol], near: Sequence[Node]) -> list[Node]:
    """The root to 70 digits as rational numbers, from ``near`` with steps that are halved while they do not help."""
    jacobian = [[sympy.diff(equation, name) for name in names] for equation in equations]
    values = [sympy.Float(value, _DIGITS) for value in near]

    def size(at: Sequence[Node]) -> Node | None:
        found = [_number(equation, names, at) for equation in equations]
        return None if any(value is None for value in found) else max(abs(value) for value in found)

    best = size(values)
    for _ in range(_ITERATIONS):
        entries = [[_number(entry, names, values) for entry in row] for row in jacobian]
        right = [_number(equation, names, values) for equation in equations]
        if best is None or any(entry is None for row in entries for entry in row):
            raise _not_found(names, "the equations have no finite value where Newton's method goes")
        try:
            step = sympy.Matrix(entries).LUsolve(-sympy.Matrix(right))
        except (ValueError, ZeroDivisionError, sympy.matrices.exceptions.NonInvertibleMatrixError):
            raise _not_found(names, "their Jacobian is singular where Newton's method goes") from None
        share = sympy.S.One
        for _ in range(_HALVINGS):
            tried = [value + share * one for value, one in zip(values, step, strict=True)]
            reached = size(tried)
            if reached is not None and (reached < best or reached == 0):
                break
            share /= 2
        else:
            tried, reached = values, best
        change = max(abs(share * one) / (1 + abs(value)) for value, one in zip(tried, step, strict=True))
        stalled = tried is values
        values, best = tried, reached
        if change < _CLOSE or best == 0 or stalled:
            break
    if best is None or not best < sympy.Float(10) ** -40 * (1 + max(abs(value) for value in values)):
        raise _not_found(names, "Newton's method does not come near a root")
    return [sympy.Rational(value) for value in values]


def _not_found(names: Sequence[Symbol], why: str) -> NotConsistent:
    told = ", ".join(name.name for name in names)
    return NotConsistent(
        f"no consistent initial values of {told} were found: {why}",
        "Write `near = …`, a value near the one wanted, for each of them.",
    )


def _number(expr: Node, names: Sequence[Symbol], at: Sequence[Node]) -> Node | None:
    found = expr.xreplace(dict(zip(names, at, strict=True))).evalf(_DIGITS)
    return found if found.is_number and found.is_real and found.is_finite else None
