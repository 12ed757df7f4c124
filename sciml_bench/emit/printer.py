"""Prints one expression as code of a target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

import sympy
from sympy import Function, Symbol
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.pycode import PythonCodePrinter

from sciml_bench.emit.targets import Target
from sciml_bench.spec.language.operators import MIRRORED, PERIODIC, MatrixOf, MatrixProduct, Node, Operator
from sciml_bench.spec.language.shapes import Shape, broadcast, shape_of
from sciml_bench.spec.model import symbol, to_double


class Row(Function):
    """``Row(x)``: a vector as the rows of a table of pairs, ``x[:, None]``."""


class Others(Function):
    """``Others(x, table)``: for every row, the elements that the row's sum runs over."""


class Column(Function):
    """``Column(x)``: a vector as the columns of a table of pairs, ``x[None, :]``."""


class Spread(Function):
    """``Spread(body, n, table)``: the n×n matrix of a table of pairs; without a table the body is that matrix."""


class RowSum(Function):
    """``RowSum(body)``: the sum of a table of pairs over its last axis."""


class Printer(PythonCodePrinter):
    """SymPy's Python printer with a target's functions, and doubles instead of exact numbers."""

    def __init__(
        self, target: Target, names: Mapping[Symbol, str], shapes: dict[Symbol, Shape], same: Iterable[Symbol] = ()
    ):
        """``same`` are the symbols that have one value for all trajectories of a batch."""
        super().__init__({"fully_qualified_modules": False})
        self.target = target
        self.names = names
        self.shapes = shapes
        self.same_for_all = set(same)
        #: What makes a number of all trajectories one of each, of shape (batch,).
        self.ones = f"{target.module}.ones_like(y[..., 0])"

    def code(self, expression: Node) -> str:
        """The code of an expression."""
        code = self.doprint(expression)
        return code[1:-1] if self._is_product(expression) else code

    def _is_product(self, expr: Node) -> bool:
        """Return whether a power is printed as a product, which is faster for floats, PyTorch and TensorFlow."""
        if not (expr.is_Pow and expr.base.is_Symbol and expr.exp in (2, 3)):
            return False
        return self.target.products or (not self.target.traced and self.shape(expr.base) == ())

    def operand(self, expression: Node) -> str:
        """Code for a place that needs an array of the target, even for a plain number."""
        if expression.is_number:
            return self.target.constant.format(_literal(to_double(expression)))
        return self.code(expression)

    def component(self, expression: Node) -> str:
        """Code of a scalar of each trajectory, also if it is the same for all of a batch."""
        code = self.operand(expression)
        if self.target.batched and expression.free_symbols <= self.same_for_all:
            return f"{self.ones}*({code})"
        return code

    def shape(self, expression: Node) -> Shape:
        """The shape of an expression."""
        return shape_of(expression, self.shapes)

    def doprint(self, expr: Any, assign_to: Any = None) -> str:
        """Print, with every pure number as a double."""
        return self._print(expr)

    def _print(self, expr: Any, **kwargs: Any) -> str:
        if isinstance(expr, sympy.Expr) and expr.is_number and not expr.is_Integer and expr.is_real:
            code = _literal(to_double(expr))
            return f"({code})" if code.startswith("-") and not expr.is_Rational else code
        return super()._print(expr, **kwargs)

    def parenthesize(self, item: Any, level: Any, strict: bool = False) -> str:
        """SymPy's rule, but a positive decimal needs no brackets, and a product with a matrix does as a factor."""
        if isinstance(item, sympy.Rational) and item >= 0:
            return self._print(item)
        if isinstance(item, MatrixProduct | MatrixOf) and not self.target.matvec:
            # k*A @ u would be k times the whole matrix first, in every evaluation.
            return f"({self._print(item)})"
        return super().parenthesize(item, level, strict)

    def _print_Integer(self, expr: sympy.Integer) -> str:
        return _literal(float(expr)) if abs(expr) >= 10**6 else str(int(expr))

    def _print_Symbol(self, expr: Symbol) -> str:
        return self.names.get(expr, expr.name)

    _print_Dummy = _print_Symbol

    def _print_Pow(self, expr: sympy.Pow, rational: bool = False) -> str:
        base, exponent = expr.base, expr.exp
        if exponent == -1:
            return f"1/{self.parenthesize(base, PRECEDENCE['Mul'], strict=True)}"
        if exponent == sympy.S.Half:
            return self._call("sqrt", base)
        if exponent == -sympy.S.Half:
            return f"1/{self._call('sqrt', base)}"
        if self._is_product(expr):
            return f"({'*'.join([self.code(base)] * int(exponent))})"
        if self._needs_power(expr):
            return f"np.power({self.code(base)}, {self.code(exponent)})"
        inner = self.parenthesize(base, PRECEDENCE["Pow"], strict=False)
        return f"{inner}**{self.parenthesize(exponent, PRECEDENCE['Pow'], strict=False)}"

    def _needs_power(self, expr: sympy.Pow) -> bool:
        # A negative Python float to a fractional power is complex, where NumPy gives the NaN that solvers expect.
        fractional = not expr.exp.is_Integer and not expr.base.is_nonnegative
        return fractional and not self.target.traced and self.shape(expr.base) == ()

    def _call(self, name: str, *arguments: Node) -> str:
        function = self.target.functions[name]
        scalar = not self.target.traced and all(self.shape(argument) == () for argument in arguments)
        if scalar and (name in SAFE_SCALARS or (name == "sqrt" and arguments[0].is_nonnegative)):
            function = SAFE_SCALARS.get(name, "math.sqrt")
        return f"{function}({', '.join(self.operand(argument) for argument in arguments)})"

    def _print_Function(self, expr: Node) -> str:
        name = type(expr).__name__.lower()
        if name not in self.target.functions:
            raise ValueError(f"{name} cannot be printed for {self.target.name}")
        return self._call(name, *expr.args)

    def _print_Where(self, expr: Any) -> str:
        condition, a, b = expr.args
        if not self.target.traced and self.shape(condition) == ():
            return f"({self.code(a)} if {self._condition(condition)} else {self.code(b)})"
        return f"{self.target.functions['where']}({self._condition(condition)}, {self.operand(a)}, {self.operand(b)})"

    def _condition(self, condition: Any) -> str:
        match condition:
            case sympy.And() | sympy.Or() | sympy.Not() if self.target.logic:
                word = type(condition).__name__.lower()
                parts = [self._condition(part) for part in sorted(condition.args, key=sympy.default_sort_key)]
                if word == "not":
                    return f"{self.target.logic}not({parts[0]})"
                return reduce(lambda a, b: f"{self.target.logic}{word}({a}, {b})", parts)
            case sympy.And() | sympy.Or():
                join = " & " if isinstance(condition, sympy.And) else " | "
                parts = sorted(condition.args, key=sympy.default_sort_key)
                return join.join(self._grouped(part) for part in parts)
            case sympy.Not():
                return f"~{self._grouped(condition.args[0])}"
            case Symbol():
                return self._print_Symbol(condition)
            case _:
                return f"{self.code(condition.lhs)} {condition.rel_op} {self.code(condition.rhs)}"

    def _grouped(self, condition: Any) -> str:
        code = self._condition(condition)
        return code if condition.is_Symbol else f"({code})"

    def _print_Item(self, expr: Any) -> str:
        array, *indices = expr.args
        axes = ["..."] if self.target.batched else []
        return f"{self._atom(array)}[{', '.join([*axes, *(str(index) for index in indices)])}]"

    def _atom(self, expr: Node) -> str:
        return self.parenthesize(expr, PRECEDENCE["Atom"], strict=True)

    def _print_Row(self, expr: Any) -> str:
        return f"{self._atom(expr.args[0])}[:, None]"

    def _print_Column(self, expr: Any) -> str:
        return f"{self._atom(expr.args[0])}[None, :]"

    def _print_Others(self, expr: Any) -> str:
        return self.target.gather.format(self._atom(expr.args[0]), self.code(expr.args[1]))

    def _print_Spread(self, expr: Any) -> str:
        body, size, table = expr.args
        if table == 0:
            return f"np.broadcast_to({self.code(body)}, ({size}, {size}))"
        return f"spread({self.code(body)}, {self.code(table)})"

    def _print_RowSum(self, expr: Any) -> str:
        return self.target.row_sum.format(self.code(expr.args[0]))

    def _print_Stack(self, expr: Any) -> str:
        return self.target.stack.format(", ".join(self.component(entry) for entry in expr.args))

    def _print_Total(self, expr: Any) -> str:
        # Of a batch the sum is one for each trajectory.
        total = self.target.row_sum if self.target.batched else self.target.total
        return total.format(self.code(expr.args[0]))

    def _print_Dot(self, expr: Any) -> str:
        a, b = expr.args
        product = self.parenthesize(a, PRECEDENCE["Mul"]) + "*" + self.parenthesize(b, PRECEDENCE["Mul"])
        return (self.target.row_sum if self.target.batched else self.target.total).format(product)

    def _print_MatrixProduct(self, expr: Any) -> str:
        matrix, vector = expr.args
        if self.target.matvec:
            return self.target.matvec.format(self.code(matrix), self.code(vector))
        return f"{self.code(matrix)} @ {self._atom(vector)}"

    def _print_NetworkOutput(self, expr: Any) -> str:
        network, *arguments = expr.args
        call = f"{self.code(network)}({{}})"
        if not self.target.modules:
            call = f"{self.code(network)}({{}}, {self.code(network)}_weights)"
        if self.shapes[network]:
            return call.format(self._inputs(arguments))
        return self._pointwise(call, arguments)

    def _print_ControlSlope(self, expr: Any) -> str:
        return f"{self.code(expr.args[0])}.derivative(t)"

    def _print_MatrixOf(self, expr: Any) -> str:
        matrix, vector = expr.args
        (rows,), (columns,) = self.shape(expr), self.shape(vector)
        # An operator prints as a call, which needs no brackets.
        entries, x = (self.code(e) if isinstance(e, Operator) else self._atom(e) for e in (matrix, vector))
        return f"{self.target.reshape.format(entries, (rows, columns))} @ {x}"

    def _print_NetworkGradient(self, expr: Any) -> str:
        return f"gradient_of({self._network_and_inputs(expr)})"

    def _print_NetworkDivergence(self, expr: Any) -> str:
        network = expr.args[0]
        return f"divergence({self._network_and_inputs(expr)}, {self.shapes[network][0]})"

    def _network_and_inputs(self, expr: Any) -> str:
        network, *arguments = expr.args
        name, suffix = self.code(network), "" if self.target.differentiates else "_jacobian"
        weights = "" if self.target.modules else f", {name}_weights"
        return f"{name}{suffix}, {self._inputs(arguments)}{weights}"

    def _inputs(self, arguments: list[Node]) -> str:
        """The inputs of a network as one vector."""
        parts: list[str] = []
        scalars: list[str] = []
        for argument in arguments:
            if self.shape(argument) == ():
                scalars.append(self._scalar_input(argument))
                continue
            if scalars:
                parts.append(self.target.stack.format(", ".join(scalars)))
                scalars = []
            parts.append(self.code(argument))
        if scalars:
            parts.append(self.target.stack.format(", ".join(scalars)))
        return parts[0] if len(parts) == 1 else self.target.concatenate.format(", ".join(parts))

    def _scalar_input(self, argument: Node) -> str:
        # PyTorch's solvers have times in double precision, whatever the state is.
        code = self.component(argument)
        depends_on_time = symbol("t") in argument.free_symbols and self.target.tensors
        return f"({code}).to(y.dtype)" if depends_on_time else code

    def _pointwise(self, call: str, arguments: list[Node]) -> str:
        """A network of every element: the last axis holds the inputs, and then the one output."""
        shape: Shape = ()
        for argument in arguments:
            shape = broadcast(shape, self.shape(argument))
        columns = [self._filled(argument, shape) for argument in arguments]
        stacked = f"{self.target.module}.stack([{', '.join(columns)}], {self.target.axis}=-1)"
        if len(columns) == 1:
            stacked = f"{columns[0] if columns[0].isidentifier() else f'({columns[0]})'}[..., None]"
        if not self.target.mapped:
            return f"{call.format(stacked)}[..., 0]"
        mapped = call.partition("(")[0]
        for _ in shape:
            mapped = f"jax.vmap({mapped})"
        return f"{mapped}({stacked})[..., 0]"

    def _print_TridiagonalSolve(self, expr: Any) -> str:
        *diagonals, b = expr.args
        size = self.shape(b)
        filled = [self._filled(diagonal, size) for diagonal in diagonals]
        return f"solve_tridiagonal({', '.join(filled)}, {self.code(b)})"

    def _filled(self, expression: Node, shape: Shape) -> str:
        if self.shape(expression) == shape:
            return self.code(expression)
        return self.target.fill.format(self.operand(expression), shape)

    def _print_Laplacian(self, expr: Any) -> str:
        return f"laplacian({', '.join((self.code(expr.args[0]), *self._edges(expr.args[1:])))})"

    def _print_Difference(self, expr: Any) -> str:
        field, axis, edge = expr.args
        return f"gradient__{int(axis)}({', '.join((self.code(field), *self._edges((edge,))))})"

    def _print_Shift(self, expr: Any) -> str:
        field, places, axis, edge = expr.args
        kind = "wrapped" if edge == PERIODIC else "mirrored" if edge == MIRRORED else "filled"
        name = f"shift__{kind}" if int(axis) == 0 else f"shift__{kind}_1"
        return f"{name}({', '.join((self.code(field), str(int(places)), *self._edges((edge,))))})"

    def _edges(self, edges: tuple[Node, ...]) -> list[str]:
        return [self.operand(edge) for edge in edges if edge not in (PERIODIC, MIRRORED)]


SAFE_SCALARS = {
    "sin": "math.sin", "cos": "math.cos", "tan": "math.tan", "tanh": "math.tanh", "atan": "math.atan",
    "abs": "abs",
}  # fmt: skip


def _literal(value: float) -> str:
    if value == int(value) and abs(value) < 10**6:
        return f"{value:.1f}"
    return repr(value)


# The parent class has a separate method for each function and condition that it knows; ours replace them.
for _name in (
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "exp",
    "ExpBase",
    "log",
    "expm1",
    "log1p",
    "sign",
    "Abs",
):
    setattr(Printer, f"_print_{_name}", Printer._print_Function)
for _name in ("And", "Or", "Not", "Relational"):
    setattr(Printer, f"_print_{_name}", Printer._condition)
