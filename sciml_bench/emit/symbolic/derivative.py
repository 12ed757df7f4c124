"""Derivatives of expressions as printed: where a function jumps, its derivative is the one-sided one."""

from __future__ import annotations

from functools import lru_cache, reduce
from operator import mul

import sympy
from sympy.core.relational import Relational
from sympy.logic.boolalg import BooleanFunction

from sciml_bench.spec.language.operators import Node


def derivative(expr: Node, variable: Node) -> Node:
    """The derivative, without the impulses that SymPy gives for signs."""
    found = _of_sums(expr, variable)
    if not found.has(sympy.DiracDelta):
        return found
    return found.replace(sympy.DiracDelta, lambda *_: sympy.S.Zero)


def _of_sums(expr: Node, variable: Node) -> Node:
    """The derivative as SymPy gives it, without a look at the terms of sums and products that do not have the variable.

    A reaction network of sixty species has sums of hundreds of terms, and each is differentiated sixty times.
    """
    if variable not in free_symbols_of(expr) or isinstance(expr, Relational | BooleanFunction):
        # A condition that several choices share is a separate value.
        return sympy.S.Zero
    if expr == variable:
        return sympy.S.One
    if isinstance(expr, sympy.Add):
        return sympy.Add(*(_of_sums(term, variable) for term in expr.args if variable in free_symbols_of(term)))
    if isinstance(expr, sympy.Mul):
        factors = expr.args
        terms = [
            reduce(mul, (*factors[:k], _of_sums(factor, variable), *factors[k + 1 :]), sympy.S.One)
            for k, factor in enumerate(factors)
            if variable in free_symbols_of(factor)
        ]
        return sympy.Add(*terms)
    if isinstance(expr, sympy.Abs):
        return sympy.sign(expr.args[0]) * _of_sums(expr.args[0], variable)
    return _of_functions(expr, variable)


def _of_functions(expr: Node, variable: Node) -> Node:
    """The derivative of a function, with magnitudes as of real numbers: SymPy does not know that logarithms are."""
    named = {item: sympy.Dummy(real=True) for item in expr.atoms(sympy.Abs) if variable in free_symbols_of(item)}
    if not named:
        return sympy.diff(expr, variable)
    outer = expr.xreplace(named)
    terms = [sympy.diff(outer, name) * _of_sums(item, variable) for item, name in named.items()
             if name in outer.free_symbols]  # fmt: skip
    whole = {name: item for item, name in named.items()}
    return sympy.Add(sympy.diff(outer, variable), *terms).xreplace(whole)


@lru_cache(maxsize=100_000)
def free_symbols_of(expr: Node) -> frozenset[Node]:
    return frozenset(expr.free_symbols)
