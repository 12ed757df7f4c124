"""Initial values that algebraic equations determine: exact, or by Newton's method to many digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sympy
from flint import arb_mat
from sympy import Symbol

from sciml_bench.spec.discontinuities.balls import bits, value
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import symbol
from sciml_bench.spec.quantities import Definition, State
from sciml_bench.spec.tables.elimination import NotFinite, solved
from sciml_bench.spec.tables.values import BITS, rational, value_at

_CLOSE = sympy.Rational(1, 10**60)
"""The largest last step, relative to a value, or to :data:`_SMALL`."""
_SMALL = sympy.Rational(1, 10**30)
_QUADRATIC = sympy.Rational(1, 10)
"""The last step must be smaller than the one before by at least this factor, as it is at simple roots alone."""
_ITERATIONS, _HALVINGS = 300, 30
_FARTHEST = 10**30
_LONGEST_STEP = 10
"""A step is at most this multiple of a value or of 1."""
_CORRECTIONS = 5
"""Newton steps that correct the values at other parameters than the ones of the file."""
_ZERO = sympy.Rational(1, 10**90)
"""A sum is zero that is this much smaller than its terms, of numbers with 120 digits."""


class NotConsistent(Exception):
    """There are no consistent initial values near the ones that the file gives."""


@dataclass(frozen=True)
class Start:
    """Values at t0 as numbers: ``point`` has one for every state and parameter.

    Where they depend on parameters, ``computed`` has them as expressions of parameters and of ``encoding``.
    """

    computed: Mapping[str, Node]
    encoding: tuple[Definition, ...]
    point: Mapping[Node, Node]


def consistent_values(
    residuals: Sequence[Node],
    names: Sequence[Symbol],
    near: Sequence[Node],
    states: Sequence[State],
    numbers: Mapping[Node, Node],
    t0: Node,
) -> Start:
    """The values of ``names`` at which all residuals are zero at t0; ``numbers`` are the ones of the parameters.

    Raises:
        NotConsistent: Newton's method finds none, or they are not finite real numbers.
        Singular: the equations do not determine them.
        NotFinite: at the parameters of the file, an equation has no value.
    """
    at_start: dict[Node, Node] = {symbol("t"): t0}
    at_start |= {symbol(state.name): state.initial[0] if state.start is None else state.start for state in states}
    equations = [residual.xreplace(at_start) for residual in residuals]
    for row, equation in enumerate(equations):
        if equation.has(sympy.nan, sympy.zoo, sympy.oo, sympy.I):
            raise NotFinite(row)
    point = {**numbers, **{name: value.xreplace(dict(numbers)) for name, value in at_start.items()}}
    known = dict(zip(names, near, strict=True))
    if all(_is_zero(equation.xreplace(known), numbers) for equation in equations):
        return Start({}, (), {**point, **known})
    matrix = sympy.Matrix([[sympy.diff(equation, name) for name in names] for equation in equations])
    depends = {name for equation in equations for name in equation.free_symbols} - set(names)
    if matrix.free_symbols & set(names):
        root = dict(zip(names, _newton([e.xreplace(dict(numbers)) for e in equations], names, near), strict=True))
        if not depends:
            return Start({}, (), {**point, **root})
        encoding, values = _corrected(equations, matrix, {**point, **root}, root, _CORRECTIONS)
    else:
        zero: dict[Node, Node] = dict.fromkeys(names, sympy.S.Zero)
        encoding, values = _corrected(equations, matrix, {**point, **zero}, zero, 1)
        root = _numbers_of(values, encoding, point)
    computed = {name.name: value for name, value in values.items()} if depends else {}
    return Start(computed, tuple(encoding) if depends else (), {**point, **root})


def _is_zero(equation: Node, numbers: Mapping[Node, Node]) -> bool:
    """True if an equation holds at the parameters and at others near them, to all digits that are computed."""
    terms = sympy.Add.make_args(equation)
    for k in range(4):
        shares = (1 + sympy.Rational(k * (i + 3), 97 + 10 * i) for i in range(len(numbers)))
        moved = {name: value * share for (name, value), share in zip(numbers.items(), shares, strict=True)}
        total, sizes = value_at(equation, moved), [value_at(term, moved) for term in terms]
        if total is None or abs(total) > _ZERO * sum(abs(size) for size in sizes if size is not None):
            return False
    return True


def _corrected(
    equations: Sequence[Node], matrix: sympy.Matrix, point: Mapping[Node, Node], root: Mapping[Symbol, Node], n: int
) -> tuple[list[Definition], dict[Symbol, Node]]:
    """The values after n steps of Newton's method in terms of the parameters, and the definitions that they read.

    The first starts from the root of the nominal parameters, so that values there are exact, and so are derivatives.
    Of linear equations one step is exact everywhere.
    """
    known, definitions = dict(point), list[Definition]()
    values: dict[Symbol, Node] = dict(root)
    for k in range(n):
        right = [-equation.xreplace(values) for equation in equations]
        added, step = solved(matrix.xreplace(values), right, known, f"start{k}")
        values = {name: values[name] + one for name, one in zip(root, step, strict=True)}
        if k + 1 < n:
            added += [Definition(f"{name.name}__start{k}", (), expr) for name, expr in values.items()]
            values = {name: symbol(f"{name.name}__start{k}") for name in root}
        for item in added:
            if (found := value_at(item.expr, known)) is None:
                raise NotFinite(0)
            known[symbol(item.name)] = found
        definitions += added
    return definitions, values


def _numbers_of(
    values: Mapping[Symbol, Node], encoding: Sequence[Definition], point: Mapping[Node, Node]
) -> dict[Symbol, Node]:
    """The values at the parameters: exact if they are rational, otherwise to many digits."""
    known = dict(point)

    def number(expr: Node, of: str) -> Node:
        exact = expr.xreplace(known)
        found = exact if exact.is_Rational else value_at(exact, {})
        if found is None:
            raise NotConsistent(f"the initial value of {of} is not a finite real number")
        return found

    for item in encoding:
        known[symbol(item.name)] = number(item.expr, ", ".join(map(str, values)))
    return {name: number(expr, f"'{name}'") for name, expr in values.items()}


def _newton(equations: Sequence[Node], names: Sequence[Symbol], near: Sequence[Node]) -> list[Node]:
    """The root as rational numbers, from ``near`` with steps that are halved while they do not help."""
    entries = [sympy.diff(equation, name) for equation in equations for name in names]
    values = [value_at(value, {}) or sympy.S.Zero for value in near]
    residuals, before = _all_at(equations, names, values), sympy.oo
    for _ in range(_ITERATIONS):
        matrix = _all_at(entries, names, values)
        if residuals is None or matrix is None:
            raise _not_found(names, "the equations have no finite real value where Newton's method goes")
        step = _step(matrix, residuals)
        if step is None:
            raise _not_found(names, "their Jacobian is singular where Newton's method goes")
        longest = max(abs(one) / (abs(value) + _SMALL) for value, one in zip(values, step, strict=True))
        if longest <= _CLOSE and longest <= _QUADRATIC * before:
            return [value + one for value, one in zip(values, step, strict=True)]
        limits = (_LONGEST_STEP * (1 + abs(value)) / abs(one) for value, one in zip(values, step, strict=True) if one)
        share, best = min([sympy.S.One, *limits]), max(map(abs, residuals))
        for _ in range(_HALVINGS):
            tried = _all_at([value + share * one for value, one in zip(values, step, strict=True)], (), ())
            reached = None if tried is None else _all_at(equations, names, tried)
            if tried is not None and reached is not None and max(map(abs, reached)) < best:
                values, residuals, before = tried, reached, longest
                break
            share /= 2
        else:
            break
        if any(abs(value) > _FARTHEST for value in values):
            raise _not_found(names, "Newton's method goes to infinity")
    raise _not_found(names, "Newton's method does not come near a simple root")


def _all_at(expressions: Sequence[Node], names: Sequence[Symbol], values: Sequence[Node]) -> list[Node] | None:
    """The values of all expressions, or ``None`` if one of them has none."""
    point = dict(zip(names, values, strict=True))
    found = [value for expr in expressions if (value := value_at(expr, point)) is not None]
    return found if len(found) == len(expressions) else None


def _step(matrix: Sequence[Node], residuals: Sequence[Node]) -> list[Node] | None:
    """Newton's step; ``None`` if the matrix is singular to all digits."""
    n = len(residuals)
    with bits(BITS):
        right = arb_mat(n, 1, [-value(residual) for residual in residuals])
        try:
            solution = arb_mat(n, n, [value(entry) for entry in matrix]).solve(right)
        except ZeroDivisionError:
            return None
        found = [step for entry in solution.entries() if (step := rational(entry)) is not None]
    return found if len(found) == n else None


def _not_found(names: Sequence[Symbol], why: str) -> NotConsistent:
    return NotConsistent(f"no consistent initial values of {', '.join(name.name for name in names)} were found: {why}")
