"""Prints expressions of arrays as Julia: vector algebra, ``@.`` for elementwise expressions, calls of operators."""

from __future__ import annotations

from typing import Any

import sympy
from sympy import Symbol

from sciml_bench.emit.context import Context, size_of
from sciml_bench.emit.julia.controls import slope_name
from sciml_bench.emit.julia.scalar_printer import JuliaPrinter
from sciml_bench.spec.language.operators import ARRAY_OPERATORS, MIRRORED, PERIODIC, Node
from sciml_bench.spec.language.shapes import Shape
from sciml_bench.spec.model import symbol


class ArrayPrinter(JuliaPrinter):
    """The printer of right-hand sides with networks. ``places`` collects index vectors and their names."""

    def __init__(self, context: Context, names: dict[Symbol, str], shapes: dict[Symbol, Shape]):
        super().__init__(context.target, names, shapes)
        self.context = context
        self.places: dict[str, str] = {}
        self._starts: dict[Symbol, int] = {}
        start = 1
        for state in context.problem.states:
            if state.shape == ():
                self._starts[symbol(state.name)] = start
            start += state.size

    def value(self, expr: Node) -> str:
        """The code of a statement's right-hand side."""
        return self.elementwise(expr) if self._is_compound(expr) and not self._is_linear(expr) else self.code(expr)

    def elementwise(self, expr: Node) -> str:
        """Print an expression that is evaluated for each element."""
        return f"@. {self.code(expr) if isinstance(expr, sympy.Expr) else self.condition(expr)}"

    def operand(self, expression: Node) -> str:
        """The code of an argument."""
        code = self.code(expression)
        return f"@.({code})" if self._is_compound(expression) and not self._is_linear(expression) else code

    def factor(self, expression: Node) -> str:
        """The code of an array that an operator or an index follows or precedes."""
        code = self.operand(expression)
        return f"({code})" if self._is_compound(expression) and self._is_linear(expression) else code

    def flat(self, expr: Node, shape: Shape) -> str:
        """The code of a part of the flat result."""
        if self.shape(expr) != shape:
            return f"fill({self.code(expr)}, {size_of(shape)})"
        if len(shape) == 2:
            return f"vec({self.operand(expr)})"
        return self.operand(expr)

    def _is_linear(self, expr: Node) -> bool:
        """Return whether an array is a sum of arrays times scalars: vectors of Julia have these operators without dots.

        A tape of ReverseDiff has an operation for each; of an expression with dots, arrays and tracked scalars it
        makes one that takes a thousand times as long.
        """
        if not self.shape(expr):
            return False
        if isinstance(expr, (Symbol, *ARRAY_OPERATORS)):
            return True
        arrays = [part for part in expr.args if self.shape(part)]
        if isinstance(expr, sympy.Add):
            return len(arrays) == len(expr.args) and all(self._is_linear(part) for part in arrays)
        return isinstance(expr, sympy.Mul) and len(arrays) == 1 and self._is_linear(arrays[0])

    def _is_compound(self, expr: Node) -> bool:
        return bool(self.shape(expr)) and not isinstance(expr, (Symbol, *ARRAY_OPERATORS))

    def _print_Where(self, expr: Any) -> str:
        if not self.shape(expr):
            return super()._print_Where(expr)
        condition, a, b = expr.args
        return f"ifelse({self.condition(condition)}, {self.code(a)}, {self.code(b)})"

    def _print_Item(self, expr: Any) -> str:
        array, *indices = expr.args
        return f"{self.code(array)}[{', '.join(str(int(index) + 1) for index in reversed(indices))}]"

    def _print_Stack(self, expr: Any) -> str:
        return f"[{', '.join(self.operand(entry) for entry in expr.args)}]"

    def _print_Total(self, expr: Any) -> str:
        return f"sum({self.operand(expr.args[0])})"

    def _print_Dot(self, expr: Any) -> str:
        return f"sum({self.factor(expr.args[0])} .* {self.factor(expr.args[1])})"

    def _print_MatrixProduct(self, expr: Any) -> str:
        return f"{self.code(expr.args[0])}*{self.factor(expr.args[1])}"

    def _print_ControlSlope(self, expr: Any) -> str:
        return f"{slope_name(self.context, expr.args[0])}(t)"

    def _print_MatrixOf(self, expr: Any) -> str:
        entries, x = expr.args
        (rows,), (columns,) = self.shape(expr), self.shape(x)
        # The entries are stored row by row, and Julia stores columns together.
        return f"transpose(reshape({self.operand(entries)}, {columns}, {rows}))*{self.factor(x)}"

    def _print_NetworkOutput(self, expr: Any) -> str:
        network, *arguments = expr.args
        name = self.code(network)
        if self.context.problem.shapes[network]:
            return f"{name}({self._inputs(arguments)}, p.{network.name})"
        shape = self.shape(expr)
        rows = [self._row(argument, shape) for argument in arguments]
        inputs = rows[0] if len(rows) == 1 else f"[{'; '.join(rows)}]"
        size = ", ".join(str(n) for n in reversed(shape))
        values = f"{name}({inputs}, p.{network.name})"
        return f"vec({values})" if len(shape) == 1 else f"reshape({values}, {size})"

    def _print_NetworkGradient(self, expr: Any) -> str:
        network, *arguments = expr.args
        return f"gradient_{self.code(network)}({self._inputs(arguments)}, p.{network.name})"

    def _print_NetworkDivergence(self, expr: Any) -> str:
        network, *arguments = expr.args
        return f"divergence_{self.code(network)}({self._inputs(arguments)}, p.{network.name})"

    def _row(self, argument: Node, shape: Shape) -> str:
        """An input of a pointwise network, a column for each element."""
        count = size_of(shape)
        if self.shape(argument):
            return f"reshape({self.operand(argument)}, 1, {count})"
        return f"fill({self.code(argument)}, 1, {count})"

    def _inputs(self, arguments: list[Node]) -> str:
        """The inputs of a network as one vector; states that lie side by side are a part of the flat state."""
        parts: list[tuple[str, bool]] = []
        rest = list(arguments)
        while rest:
            count = self._neighbouring(rest)
            if count > 1:
                start = self._starts[rest[0]]
                whole = count == self.context.problem.n_states
                parts.append(("y" if whole else f"y[{start}:{start + count - 1}]", True))
                rest = rest[count:]
            else:
                parts.append((self.operand(rest[0]), bool(self.shape(rest[0]))))
                rest = rest[1:]
        if len(parts) == 1 and parts[0][1]:
            return parts[0][0]
        separator = "; " if any(is_vector for _, is_vector in parts) else ", "
        return f"[{separator.join(code for code, _ in parts)}]"

    def _neighbouring(self, arguments: list[Node]) -> int:
        """Return how many of the first arguments are scalar states one after the other."""
        count = 0
        for count, argument in enumerate(arguments):
            if argument not in self._starts or self._starts[argument] != self._starts[arguments[0]] + count:
                return count
        return count + 1

    def _print_Shift(self, expr: Any) -> str:
        """Elements further along an axis, by their places: that is one operation also on the tape of ReverseDiff."""
        moved, places, axis, edge = expr.args
        code, shape, k = self.factor(moved), self.shape(moved), int(places)
        dimension, n, size = len(shape) - int(axis), shape[int(axis)], abs(int(places))
        kept = f"{1 + size}:{n}" if k > 0 else f"1:{n - size}"
        beyond = ""
        if edge == PERIODIC:
            beyond = f"1:{size}" if k > 0 else f"{n + 1 - size}:{n}"
        elif edge == MIRRORED:
            beyond = f"fill({n if k > 0 else 1}, {size})"
        if beyond:
            parts = f"[{kept}; {beyond}]" if k > 0 else f"[{beyond}; {kept}]"
            kept = self.places.setdefault(parts, f"PLACES_{len(self.places) + 1}")
        before = ":, " if dimension == 2 else ""
        after = ", :" if len(shape) == 2 and dimension == 1 else ""
        part = f"{code}[{before}{kept}{after}]"
        return part if beyond else self._beyond(part, edge, shape, dimension, k)

    def _beyond(self, kept: str, edge: Node, shape: Shape, dimension: int, k: int) -> str:
        """The kept part of a shifted field, with a value where nothing comes from beyond the end."""
        value, size = self.code(edge), abs(k)
        other = "" if len(shape) == 1 else f", {shape[0]}" if dimension == 1 else f"{shape[1]}, "
        filled = f"fill({value}, {other}{size})" if dimension == 2 else f"fill({value}, {size}{other})"
        join = "hcat" if dimension == 2 else "vcat"
        return f"{join}({kept}, {filled})" if k > 0 else f"{join}({filled}, {kept})"
