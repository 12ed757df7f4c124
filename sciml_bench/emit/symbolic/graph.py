"""Straight-line programs: scalar SymPy expressions as a graph of elementary operations, and its derivatives.

Equal subexpressions become one node. Derivatives are taken on the graph, not on formulas: forward for the sparse
Jacobian, backward for the product of a row vector with it, which costs a small multiple of the program itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import sympy
from sympy import Basic, Expr, Rational, Symbol
from sympy.codegen.cfunctions import expm1, log1p
from sympy.core.relational import Relational
from sympy.logic.boolalg import BooleanAtom

from sciml_bench.emit.symbolic.slopes import HALF, SLOPES, slope
from sciml_bench.spec.language.operators import Floor, Where
from sciml_bench.spec.language.removable import Moment

#: SymPy functions of one argument that a program may contain, and the names they are printed under.
UNARY = {
    sympy.sin: "sin", sympy.cos: "cos", sympy.tan: "tan", sympy.asin: "asin", sympy.acos: "acos",
    sympy.atan: "atan", sympy.sinh: "sinh", sympy.cosh: "cosh", sympy.tanh: "tanh", sympy.exp: "exp",
    sympy.log: "log", sympy.Abs: "absolute", sympy.sign: "sign", expm1: "expm1", log1p: "log1p",
}  # fmt: skip
_LEFT_IS_LARGER = (sympy.StrictGreaterThan, sympy.GreaterThan)


class UnsupportedExpression(ValueError):
    """An expression holds something that the reference engine cannot evaluate."""


@dataclass(frozen=True)
class Node:
    """One operation. ``operation`` is ``constant``, ``input``, ``+``, ``-``, ``*``, ``/``, ``neg``, ``sqrt``, ``pow``
    (constant exponent), ``min``, ``max``, ``above`` or ``above_or_at`` (1 if the operand is positive, or not
    negative; otherwise 0), ``choose`` (the second operand if the first is 1, otherwise the third) or the name of a
    function; ``operands`` are indices of nodes. ``value`` is a constant, the name of an input, a condition's
    number, or a moment's factors.
    """

    operation: str
    operands: tuple[int, ...] = ()
    value: Expr | str | int | None = None


class Branches(Protocol):
    """Decides conditions that depend only on the time; ``None`` for the others."""

    def holds(self, condition: Basic) -> bool | None:
        """Return whether a condition holds."""

    def sign(self, expr: Expr) -> int | None:
        """The sign of an expression: 1, 0 or -1."""
        ...

    def floor(self, expr: Expr) -> int | None:
        """The largest integer that is not above an expression."""


class Graph:
    """A growing straight-line program; nodes are numbered in an order in which they can be evaluated."""

    def __init__(self, inputs: Mapping[Symbol, str], branches: Branches | None = None):
        """``inputs`` are the symbols and the names they are printed under; ``branches`` settles conditions."""
        self._branches = branches
        #: The conditions that are left to be decided when the program runs, by their numbers.
        self.conditions: list[Basic] = []
        self.nodes: list[Node] = []
        self._index: dict[Node, int] = {}
        self._known: dict[Expr, int] = {}
        self.inputs = {name: self._node(Node("input", (), name)) for name in inputs.values()}
        for symbol, name in inputs.items():
            self._known[symbol] = self.inputs[name]
        self.zero = self.constant(sympy.S.Zero)
        self.one = self.constant(sympy.S.One)

    def _node(self, node: Node) -> int:
        if node not in self._index:
            self._index[node] = len(self.nodes)
            self.nodes.append(node)
        return self._index[node]

    def constant(self, value: Expr) -> int:
        """A number."""
        return self._node(Node("constant", (), value))

    def _constant_of(self, index: int) -> Expr | None:
        node = self.nodes[index]
        return cast(Expr, node.value) if node.operation == "constant" else None

    def negative(self, a: int) -> int:
        """-a."""
        node = self.nodes[a]
        if node.operation == "constant":
            return self.constant(-cast(Expr, node.value))
        return node.operands[0] if node.operation == "neg" else self._node(Node("neg", (a,)))

    def add(self, a: int, b: int) -> int:
        """a + b."""
        if a == self.zero:
            return b
        if b == self.zero:
            return a
        if self.nodes[b].operation == "neg":
            return self.subtract(a, self.nodes[b].operands[0])
        if self.nodes[a].operation == "neg":
            return self.subtract(b, self.nodes[a].operands[0])
        return self._node(Node("+", (min(a, b), max(a, b))))

    def subtract(self, a: int, b: int) -> int:
        """a - b."""
        if b == self.zero:
            return a
        if a == self.zero:
            return self.negative(b)
        if self.nodes[b].operation == "neg":
            return self.add(a, self.nodes[b].operands[0])
        return self.zero if a == b else self._node(Node("-", (a, b)))

    def multiply(self, a: int, b: int) -> int:
        """a b."""
        if self.zero in (a, b):
            return self.zero
        if a == self.one:
            return b
        if b == self.one:
            return a
        first, second = self._constant_of(a), self._constant_of(b)
        if first is not None and second is not None:
            return self.constant(first * second)
        for factor, other in ((a, b), (b, a)):
            if self._constant_of(factor) == -1:
                return self.negative(other)
            if self.nodes[factor].operation == "neg":
                return self.negative(self.multiply(self.nodes[factor].operands[0], other))
        return self._node(Node("*", (min(a, b), max(a, b))))

    def divide(self, a: int, b: int) -> int:
        """a / b."""
        if a == self.zero or b == self.one:
            return a
        return self._node(Node("/", (a, b)))

    def apply(self, name: str, *operands: int) -> int:
        """A function by name."""
        return self._node(Node(name, operands))

    def power(self, base: int, exponent: Expr) -> int:
        """base ** exponent for a constant exponent: products and square roots if possible."""
        if exponent.is_negative:
            return self.divide(self.one, self.power(base, -exponent))
        if exponent == HALF:
            return self.apply("sqrt", base)
        if exponent.is_Rational and cast(Rational, exponent).q == 2:
            return self.multiply(self.apply("sqrt", base), self.power(base, exponent - HALF))
        if exponent.is_Integer:
            return self._integer_power(base, int(exponent))
        return self._node(Node("pow", (base,), exponent))

    def _integer_power(self, base: int, exponent: int) -> int:
        if exponent == 0:
            return self.one
        half = self._integer_power(base, exponent // 2)
        square = self.multiply(half, half)
        return self.multiply(square, base) if exponent % 2 else square

    def expression(self, expr: Expr) -> int:
        """Add an expression and return its node.

        Raises:
            UnsupportedExpression: it holds a function or symbol that is not known.
        """
        if expr not in self._known:
            self._known[expr] = self._build(expr)
        return self._known[expr]

    def define(self, target: Symbol, expr: Expr) -> None:
        """Define a symbol as an expression for the following ones."""
        self._known[target] = self.expression(expr)

    def _build(self, expr: Expr) -> int:
        if isinstance(expr, Where):
            condition, a, b = expr.args
            held = self._holds(condition)
            if held is not None:
                return self.expression(cast(Expr, a if held else b))
            return self.apply("choose", self._indicator(condition), self.expression(a), self.expression(b))
        if expr.is_Atom and not expr.is_number:
            raise UnsupportedExpression(f"'{expr}' is not a number, a state, a parameter or the time")
        if isinstance(expr, sympy.Abs | sympy.sign):
            return self._of_sign(expr, cast(Expr, expr.args[0]))
        if isinstance(expr, Floor):
            below = None if self._branches is None else self._branches.floor(cast(Expr, expr.args[0]))
            if below is None:
                raise UnsupportedExpression(f"'{expr}' has steps at times that depend on more than the time")
            return self.constant(sympy.Integer(below))
        # Children are built first: asking a large shared expression for its free symbols would walk it as a tree.
        if isinstance(expr, sympy.Expr) and expr.is_Atom:
            return self._number_of(expr)
        children = [self._constant_of(self.expression(cast(Expr, argument))) for argument in expr.args]
        if all(child is not None for child in children):
            # Symbols of numbers and decided conditions are replaced.
            return self._number_of(expr.func(*cast(list[Expr], children)))
        if isinstance(expr, sympy.Add):
            return self._sum(expr)
        if isinstance(expr, sympy.Mul):
            return self._product(expr)
        if isinstance(expr, sympy.Pow):
            return self._pow(*expr.as_base_exp())
        name = UNARY.get(expr.func)
        if name is not None and len(expr.args) == 1:
            return self.apply(name, self.expression(cast(Expr, expr.args[0])))
        if isinstance(expr, Moment):
            inner = self.expression(cast(Expr, expr.args[0]))
            return self._node(Node(expr.label, (inner,), int(cast(Expr, expr.args[1]))))
        if isinstance(expr, sympy.Min | sympy.Max):
            operands = [self.expression(cast(Expr, argument)) for argument in expr.args]
            total = operands[0]
            for operand in operands[1:]:
                total = self.apply("min" if isinstance(expr, sympy.Min) else "max", total, operand)
            return total
        raise UnsupportedExpression(f"'{expr.func.__name__}' of '{expr}' has no high-precision counterpart here")

    def _number_of(self, value: Expr) -> int:
        if value.is_extended_real is False or value.is_finite is False or value is sympy.nan:
            raise UnsupportedExpression(f"'{value}' is not a finite real number")
        return self.constant(value)

    def _holds(self, condition: Basic) -> bool | None:
        if isinstance(condition, BooleanAtom):
            return bool(condition)
        return None if self._branches is None else self._branches.holds(condition)

    def _indicator(self, condition: Any) -> int:
        """A node that is 1 if a condition holds, otherwise 0."""
        held = self._holds(condition)
        if held is not None:
            return self.one if held else self.zero
        if isinstance(condition, sympy.And | sympy.Or):
            # One holds where not all of the opposites do.
            opposite, total = isinstance(condition, sympy.Or), self.one
            for part in sorted(condition.args, key=sympy.default_sort_key):
                factor = self._indicator(part)
                total = self.multiply(total, self.subtract(self.one, factor) if opposite else factor)
            return self.subtract(self.one, total) if opposite else total
        if not isinstance(condition, Relational):
            raise UnsupportedExpression(f"'{condition}' is not a condition that can be evaluated")
        name = "above" if condition.func in (sympy.StrictGreaterThan, sympy.StrictLessThan) else "above_or_at"
        larger, smaller = condition.args if condition.func in _LEFT_IS_LARGER else condition.args[::-1]
        difference = self.subtract(self.expression(cast(Expr, larger)), self.expression(cast(Expr, smaller)))
        return self._node(Node(name, (difference,), self._number(condition)))

    def _number(self, condition: Basic) -> int:
        if condition not in self.conditions:
            self.conditions.append(condition)
        return self.conditions.index(condition)

    def _of_sign(self, expr: Expr, argument: Expr) -> int:
        """A magnitude or a sign."""
        if expr.is_number:
            return self.constant(expr)
        sign = None if self._branches is None else self._branches.sign(argument)
        if isinstance(expr, sympy.Abs):
            inner = self.expression(argument)
            if sign is None:
                return self.apply("absolute", inner)
            return self.zero if sign == 0 else inner if sign > 0 else self.negative(inner)
        if sign is not None:
            return self.constant(sympy.Integer(sign))
        return self._node(Node("sign", (self.expression(argument),), self._number(expr)))

    def _sum(self, expr: sympy.Add) -> int:
        positive: list[int] = []
        negative: list[int] = []
        for term in expr.args:
            if cast(Expr, term).as_coeff_Mul()[0].is_negative:
                negative.append(self.expression(cast(Expr, -term)))
            else:
                positive.append(self.expression(cast(Expr, term)))
        total = self.zero
        for index in positive:
            total = self.add(total, index)
        for index in negative:
            total = self.subtract(total, index)
        return total

    def _product(self, expr: sympy.Mul) -> int:
        coefficient, factors = expr.as_coeff_mul()
        if coefficient.is_negative:
            return self.negative(self.expression(cast(Expr, -expr)))
        above, below = (self.one if coefficient == 1 else self.constant(coefficient)), self.one
        for factor in factors:
            _, exponent = cast(Expr, factor).as_base_exp()
            if exponent.is_negative and not isinstance(factor, sympy.exp):
                below = self.multiply(below, self.expression(cast(Expr, 1 / factor)))
            else:
                above = self.multiply(above, self.expression(cast(Expr, factor)))
        return self.divide(above, below)

    def _pow(self, base: Expr, exponent: Expr) -> int:
        if base == sympy.E:
            return self.apply("exp", self.expression(exponent))
        if exponent.is_number:
            return self.power(self.expression(base), exponent)
        return self.apply("exp", self.multiply(self.expression(exponent), self.apply("log", self.expression(base))))

    def partials(self, index: int) -> list[tuple[int, int]]:
        """(operand, node of the partial derivative with respect to it) for one node."""
        node = self.nodes[index]
        match node.operation, node.operands:
            case "+", (a, b):
                return [(a, self.one), (b, self.one)]
            case "-", (a, b):
                return [(a, self.one), (b, self.negative(self.one))]
            case "neg", (a,):
                return [(a, self.negative(self.one))]
            case "*", (a, b):
                return [(a, b), (b, a)]
            case "/", (a, b):
                return [(a, self.divide(self.one, b)), (b, self.negative(self.divide(index, b)))]
            case ("min" | "max") as name, (a, b):
                first = self.apply("chosen_" + name, a, b)
                return [(a, first), (b, self.subtract(self.one, first))]
            case "choose", (test, a, b):
                return [(a, test), (b, self.subtract(self.one, test))]
            case "pow", (a,):
                exponent = cast(Expr, node.value)
                return [(a, self.multiply(self.constant(exponent), self.power(a, exponent - 1)))]
            case name, (a,) if name in SLOPES:
                sign, of = SLOPES[name]
                higher = self._node(Node(of, (a,), cast(int, node.value) + 1))
                return [(a, self.negative(higher) if sign < 0 else higher)]
            case name, (a,):
                return [(a, slope(self, name, a, index))]
            case _:
                return []

    def jacobian(self, outputs: Sequence[int], inputs: Sequence[int]) -> dict[tuple[int, int], int]:
        """The structurally nonzero entries (row, column) → node of d outputs / d inputs, by forward propagation."""
        needed = self.reachable(outputs)
        column = {index: j for j, index in enumerate(inputs)}
        rows: dict[int, dict[int, int]] = {}
        for index in needed:
            if index in column:
                rows[index] = {column[index]: self.one}
                continue
            row: dict[int, int] = {}
            for operand, partial in self.partials(index):
                for j, entry in rows[operand].items():
                    row[j] = self.add(row.get(j, self.zero), self.multiply(partial, entry))
            rows[index] = row
        return {(i, j): entry for i, output in enumerate(outputs) for j, entry in rows[output].items()
                if entry != self.zero}  # fmt: skip

    def pullback(self, outputs: Sequence[int], seeds: Sequence[int], inputs: Sequence[int]) -> list[int]:
        """Nodes of the row vector ``seeds`` times d outputs / d inputs, by backward propagation."""
        needed = self.reachable(outputs)
        depends = set(inputs)
        for index in needed:
            if any(operand in depends for operand in self.nodes[index].operands):
                depends.add(index)
        gathered: dict[int, int] = {}
        for output, seed in zip(outputs, seeds, strict=True):
            gathered[output] = self.add(gathered.get(output, self.zero), seed)
        for index in reversed(needed):
            if index not in gathered or index not in depends:
                continue
            for operand, partial in self.partials(index):
                if operand in depends:
                    term = self.multiply(gathered[index], partial)
                    gathered[operand] = self.add(gathered.get(operand, self.zero), term)
        return [gathered.get(index, self.zero) for index in inputs]

    def reachable(self, outputs: Iterable[int]) -> list[int]:
        """The nodes that the outputs need, in an order in which they can be evaluated."""
        seen: set[int] = set()
        stack = list(outputs)
        while stack:
            index = stack.pop()
            if index not in seen:
                seen.add(index)
                stack.extend(self.nodes[index].operands)
        return sorted(seen)
