"""Derivatives of expressions as they are printed: where a function jumps, its derivative is the one beside the jump."""

from __future__ import annotations

import sympy

from sciml_bench.problem.operators import Node


def derivative(expr: Node, variable: Node) -> Node:
    """The derivative, without the impulses that SymPy gives for signs."""
    found = sympy.diff(expr, variable)
    if not found.has(sympy.DiracDelta):
        return found
    return found.replace(sympy.DiracDelta, lambda *_: sympy.S.Zero)
