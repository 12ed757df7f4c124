"""The cost of equations as vectors and as numbers, by which one of the two is chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import sympy

from sciml_bench.emit.arrays.vector_equations import PARAMETERS, VectorEquations, as_range
from sciml_bench.emit.context import Context
from sciml_bench.emit.printer import SAFE_SCALARS
from sciml_bench.emit.symbolic.vectors import View
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import symbol


@dataclass(frozen=True)
class Rule:
    """The conditions of using vectors. Fewer equations of one form than ``fewest_rows`` are written number by number.

    Costs are in operations of numbers: an array's ``operation`` and each ``entry`` of it, a ``slice``, each
    ``parameter`` that becomes an entry of an array, and a ``function`` of a number by the library. There must be
    ``fewest`` operations of numbers, and vectors must take less than this ``share`` of them.
    """

    operation: float = 1.0
    entry: float = 0.0
    fewest: int = 0
    share: float = 1.0
    slice: float = 1.0
    parameter: float = 0.0
    function: float = 1.0
    fewest_rows: int = 4
    long_sum: int = 8

    def equations(self, context: Context, equations: Mapping[str, Node]) -> VectorEquations:
        """The equations as vectors."""
        return VectorEquations.of(context, equations, self.fewest_rows, self.long_sum)

    def cost(self, equations: VectorEquations) -> float:
        """The cost of one call."""
        expressions = [statement.expr for statement in equations.program.statements]
        expressions += equations.program.outputs
        total = float(self.operation * len(equations.rows)) if len(equations.rows) > 1 else 0.0
        if any(PARAMETERS in expr.free_symbols for expr in expressions):
            total += self.parameter * equations.vectors.signatures.sizes[PARAMETERS]
        for expr in expressions:
            for node in sympy.preorder_traversal(expr):
                if isinstance(node, View) and as_range(equations.vectors.choices[int(node.args[1])]):
                    total += self.slice
                elif node.args and not node.is_number:
                    size = math.prod(equations.vectors.shape(node))
                    many = max(1, len(node.args) - 1) if isinstance(node, sympy.Add | sympy.Mul) else 1
                    total += many * (self.operation + self.entry * size if size > 1 else 1.0)
        return total


# An operation of Python's floats takes about 25 ns. JAX fuses operations of numbers as well as operations of
# arrays, but compiles each. In PyTorch each costs the same; there the code is compared, by ``operation_costs``.
RULES = {
    "numpy": Rule(28.0, 0.06, fewest=100, slice=6.0, parameter=1.0, function=35.0),
    "jax": Rule(fewest=200, share=0.25),
    "torch": Rule(fewest_rows=3, long_sum=3),
}


def cost_of_numbers(context: Context, equations: Mapping[str, Node], rule: Rule) -> float:
    """The cost of equations number by number, each common part once."""
    found, waiting = set[Node](), list(equations.values())
    inside = {symbol(definition.name): definition.expr for definition in context.problem.definitions}
    total = 0.0
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        found.add(node)
        if node in inside:
            waiting.append(inside[node])
        elif node.args and not node.is_number:
            waiting += node.args
            by_library = isinstance(node, sympy.Pow) and not node.exp.is_Integer
            by_library |= isinstance(node, sympy.Function) and type(node).__name__.lower() not in SAFE_SCALARS
            total += rule.function if by_library else max(1, len(node.args) - 1)
    return total
