"""The expression language: text to SymPy, through Python's grammar and a whitelist.

Nothing is ever evaluated as Python: the text is parsed to a syntax tree and each node that is not listed here is
refused. Limits on length, depth and the size of numbers keep hostile input cheap.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from typing import cast

import sympy
from sympy import Symbol
from sympy.codegen.cfunctions import expm1, log1p
from sympy.core.parameters import distribute

from sciml_bench.spec import foreign
from sciml_bench.spec.language.operators import At, Floor, Item, Node, Where
from sciml_bench.spec.language.rebuilding import function_of
from sciml_bench.spec.language.removable import exprel, sinc
from sciml_bench.spec.language.shapes import Shape, broadcast, describe

MAX_LENGTH = 20_000
MAX_DEPTH = 100
MAX_EXPONENT = 400
_LARGEST = Decimal(sys.float_info.max)


class ExpressionError(Exception):
    """An expression is outside the language. The message names the offending piece."""


@dataclass(frozen=True)
class Typed:
    """An expression and its shape."""

    expr: Node
    shape: Shape = ()


@dataclass(frozen=True)
class Call:
    """A call inside an expression, handed to an operator: its parsed arguments and its free indices."""

    name: str
    arguments: tuple[ast.expr, ...]
    keywords: dict[str, ast.expr]
    parser: Parser


@dataclass
class Scope:
    """The meaning of names. ``used`` collects the names that expressions have read; ``series`` are data over times."""

    names: dict[str, Typed] = field(default_factory=dict)
    operators: dict[str, Callable[[Call], Typed]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    series: dict[str, Shape] = field(default_factory=dict)

    def look_up(self, name: str) -> Typed:
        """The meaning of a name.

        Raises:
            ExpressionError: the name is unknown.
        """
        if name not in self.names:
            close = get_close_matches(name, self.names, n=1)
            hint = f" (did you mean '{close[0]}'?)" if close else f"; known names: {', '.join(self.names) or 'none'}"
            raise ExpressionError(f"unknown name '{name}'{hint}")
        self.used.add(name)
        return self.names[name]


def number(value: int | Decimal) -> Node:
    """An exact rational from a TOML or literal number.

    Raises:
        ExpressionError: the number is not finite, or absurdly large or small.
    """
    decimal = Decimal(value)
    if not decimal.is_finite():
        raise ExpressionError(f"{decimal} is not a finite number")
    if abs(decimal) > _LARGEST:
        raise ExpressionError(f"the number {decimal:.3g} is beyond the largest in double precision, 1.8e308")
    if decimal and abs(decimal.adjusted()) > MAX_EXPONENT:
        raise ExpressionError(f"the number {decimal} is beyond 1e±{MAX_EXPONENT}")
    if len(decimal.as_tuple().digits) > 1000:
        raise ExpressionError("a number has more than 1000 digits")
    numerator, denominator = decimal.as_integer_ratio()
    return sympy.Integer(numerator) / denominator


def parse(text: str, scope: Scope, free_indices: tuple[str, ...] = ()) -> Typed:
    """Parse an expression in a scope.

    Raises:
        ExpressionError: the text is not in the language.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"the expression has {len(text)} characters, more than {MAX_LENGTH}")
    _check_depth(text)
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ExpressionError(f"'{_shorten(text)}' cannot be read: {foreign.syntax_hint(text) or reason}") from None
    with distribute(False):
        return Parser(text.strip(), scope, free_indices).visit(tree.body)


def _check_depth(text: str) -> None:
    depth = deepest = 0
    for character in text:
        if character in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]}":
            depth -= 1
    if deepest > MAX_DEPTH:
        raise ExpressionError(f"brackets are nested {deepest} deep, more than {MAX_DEPTH}")


def _shorten(text: str, width: int = 60) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


_FUNCTIONS: dict[str, Callable[..., Node]] = {
    "sin": sympy.sin, "cos": sympy.cos, "tan": sympy.tan, "asin": sympy.asin, "acos": sympy.acos,
    "atan": sympy.atan, "sinh": sympy.sinh, "cosh": sympy.cosh, "tanh": sympy.tanh, "exp": sympy.exp,
    "log": sympy.log, "sqrt": sympy.sqrt, "abs": sympy.Abs, "sign": sympy.sign, "expm1": expm1, "log1p": log1p,
    "log10": lambda x: sympy.log(x) / sympy.log(10), "log2": lambda x: sympy.log(x) / sympy.log(2),
    "exprel": exprel, "sinc": sinc, "floor": Floor, "ceil": lambda x: -cast(Node, Floor(-x)),
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], Callable[..., sympy.Basic]] = {
    ast.Lt: sympy.StrictLessThan, ast.LtE: sympy.LessThan,
    ast.Gt: sympy.StrictGreaterThan, ast.GtE: sympy.GreaterThan,
}  # fmt: skip
_ARGUMENTS = {"min": 2, "max": 2, "mod": 2, "where": 3}
FUNCTION_NAMES = (*_FUNCTIONS, *_ARGUMENTS)


class Parser:
    """Turns one syntax tree into a typed expression, node by node."""

    def __init__(self, text: str, scope: Scope, free_indices: tuple[str, ...] = ()):
        self.text = text
        self.scope = scope
        self.free_indices = free_indices
        self._depth = 0

    @contextmanager
    def with_index(self, name: str) -> Iterator[None]:
        """Declare one more free index for the time of the block."""
        if name in self.scope.names or name in self.free_indices:
            raise ExpressionError(f"the index '{name}' is already a name")
        outer = self.free_indices
        self.free_indices = (*outer, name)
        try:
            yield
        finally:
            self.free_indices = outer

    def visit(self, node: ast.expr) -> Typed:
        """The typed expression of a node."""
        self._depth += 1
        if self._depth > 3 * MAX_DEPTH:
            raise ExpressionError("the expression is nested too deeply")
        try:
            match node:
                case ast.Constant():
                    return Typed(self._literal(node))
                case ast.Name(id="pi") if "pi" not in self.scope.names:
                    return Typed(sympy.pi)
                case ast.Name():
                    return self._name(node.id, bare=True)
                case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                    operand = self.visit(node.operand)
                    return Typed(-operand.expr if isinstance(node.op, ast.USub) else operand.expr, operand.shape)
                case ast.BinOp():
                    return self._binary(node)
                case ast.Subscript():
                    return self._subscript(node)
                case ast.Call():
                    return self._call(node)
                case ast.Compare() | ast.BoolOp():
                    raise ExpressionError(f"'{self._piece(node)}': comparisons belong in where(condition, a, b)")
                case _:
                    raise ExpressionError(self._foreign(node))
        finally:
            self._depth -= 1

    def _foreign(self, node: ast.AST) -> str:
        """The message for a form that is not part of the language."""
        hint = foreign.operator_hint(node)
        return f"'{self._piece(node)}': {hint or 'this is not part of the expression language'}"

    def _piece(self, node: ast.AST) -> str:
        return _shorten(ast.get_source_segment(self.text, node) or type(node).__name__)

    def _literal(self, node: ast.Constant) -> Node:
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            hint = foreign.literal_hint(self._piece(node)) or "this is not a number"
            raise ExpressionError(f"'{self._piece(node)}': {hint}")
        try:
            return number(Decimal((ast.get_source_segment(self.text, node) or "").replace("_", "")))
        except InvalidOperation:
            raise ExpressionError(f"'{self._piece(node)}' is not a decimal number") from None

    def _name(self, name: str, *, bare: bool) -> Typed:
        if name in self.free_indices:
            raise ExpressionError(f"the index '{name}' can only be used in brackets, as in x[{name}]")
        meaning = self.scope.look_up(name)
        if bare and self.free_indices and meaning.shape:
            raise ExpressionError(
                f"'{name}' is a vector: write {name}[{self.free_indices[0]}] in an indexed expression"
            )
        return meaning

    def _binary(self, node: ast.BinOp) -> Typed:
        if isinstance(node.op, ast.MatMult) and "matmul" in self.scope.operators:
            return self.scope.operators["matmul"](Call("@", (node.left, node.right), {}, self))
        if foreign.operator_hint(node):
            raise ExpressionError(self._foreign(node))
        if isinstance(node.op, ast.Add | ast.Sub):
            return self._sum(node)
        left, right = self.visit(node.left), self.visit(node.right)
        try:
            shape = broadcast(left.shape, right.shape)
        except ValueError as error:
            raise ExpressionError(f"'{self._piece(node)}': {error}") from None
        match node.op:
            case ast.Mult():
                return Typed(left.expr * right.expr, shape)
            case ast.Div():
                if right.expr == 0:
                    raise ExpressionError(f"'{self._piece(node)}' divides by zero")
                return Typed(left.expr / right.expr, shape)
            case ast.Pow():
                return Typed(self._power(node, left.expr, right.expr), shape)
            case _:
                raise ExpressionError(self._foreign(node))

    def _sum(self, node: ast.BinOp) -> Typed:
        """A chain of additions and subtractions at once: one after the other, each would sort all earlier terms."""
        chain: list[ast.BinOp] = []
        first: ast.expr = node
        while isinstance(first, ast.BinOp) and isinstance(first.op, ast.Add | ast.Sub):
            chain.append(first)
            first = first.left
        left = self.visit(first)
        terms, shape = [left.expr], left.shape
        for link in reversed(chain):
            right = self.visit(link.right)
            try:
                shape = broadcast(shape, right.shape)
            except ValueError as error:
                raise ExpressionError(f"'{self._piece(link)}': {error}") from None
            terms.append(-right.expr if isinstance(link.op, ast.Sub) else right.expr)
        return Typed(sympy.Add(*terms), shape)

    def _power(self, node: ast.BinOp, base: Node, exponent: Node) -> Node:
        if exponent.is_number and (not exponent.is_real or abs(exponent) > MAX_EXPONENT):
            raise ExpressionError(f"'{self._piece(node)}': the exponent is beyond ±{MAX_EXPONENT}")
        if base.is_Rational and max(abs(base.p), base.q).bit_length() > 4096:
            raise ExpressionError(f"'{self._piece(node)}' is too large a number")
        if base == 0 and exponent.is_number and exponent <= 0:
            raise ExpressionError(f"'{self._piece(node)}' is not defined")
        return self._defined(node, base**exponent)

    def _defined(self, node: ast.expr, expr: Node) -> Node:
        """The expression, unless it is infinite, undefined or complex for all values of its names."""
        if expr.has(sympy.zoo, sympy.nan, sympy.oo, sympy.I) or (expr.is_number and expr.is_real is False):
            raise ExpressionError(f"'{self._piece(node)}' is not a finite real number")
        return expr

    def _subscript(self, node: ast.Subscript) -> Typed:
        array = self._name(node.value.id, bare=False) if isinstance(node.value, ast.Name) else self.visit(node.value)
        entries = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(array.shape) != len(entries):
            raise ExpressionError(f"'{self._piece(node)}': {describe(array.shape)} takes {len(array.shape)} indices")
        if len(entries) == 1 and isinstance(entries[0], ast.Name):
            index = entries[0].id
            if index not in self.free_indices:
                raise ExpressionError(f"'{self._piece(node)}': '{index}' is not an index here")
            return Typed(At(array.expr, Symbol(index, integer=True)), array.shape)
        return Typed(self._item(node, array, entries))

    def _item(self, node: ast.Subscript, array: Typed, entries: list[ast.expr]) -> Node:
        indices: list[int] = []
        for entry, size in zip(entries, array.shape, strict=True):
            value = self.constant_integer(entry)
            if not -size <= value < size:
                raise ExpressionError(f"'{self._piece(node)}': index {value} is outside 0…{size - 1}")
            indices.append(value % size)
        return Item(array.expr, *indices)

    def constant_integer(self, node: ast.expr) -> int:
        """The value of a node that must be an integer constant."""
        value = self.visit(node).expr
        if not value.is_Integer:
            raise ExpressionError(f"'{self._piece(node)}' must be a constant integer")
        return int(value)

    def condition(self, node: ast.expr) -> tuple[Node, Shape]:
        """A Boolean expression and its shape."""
        match node:
            case ast.Compare() if len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
                left, right = self.visit(node.left), self.visit(node.comparators[0])
                shape = broadcast(left.shape, right.shape)
                return self._compared(node, type(node.ops[0]), left.expr, right.expr), shape
            case ast.BoolOp():
                parts = [self.condition(value) for value in node.values]
                shape = ()
                for _, part in parts:
                    shape = broadcast(shape, part)
                join = sympy.And if isinstance(node.op, ast.And) else sympy.Or
                return join(*(part for part, _ in parts)), shape
            case ast.UnaryOp(op=ast.Not()):
                inner, shape = self.condition(node.operand)
                # Comparisons are turned around one by one, so that no target has to negate a condition.
                return sympy.to_nnf(sympy.Not(inner), simplify=False), shape
            case _:
                hint = foreign.operator_hint(node)
                raise ExpressionError(
                    f"'{self._piece(node)}' is not a condition: {hint or 'use <, <=, >, >=, and, or, not'}"
                )

    def _compared(self, node: ast.expr, how: type[ast.cmpop], left: Node, right: Node) -> Node:
        try:
            return _COMPARISONS[how](left, right)
        except TypeError:
            raise ExpressionError(f"'{self._piece(node)}' compares numbers that are not real") from None

    def _call(self, node: ast.Call) -> Typed:
        if not isinstance(node.func, ast.Name):
            raise ExpressionError(self._foreign(node.func))
        name = node.func.id
        if name in self.scope.names:
            raise ExpressionError(
                f"'{self._piece(node)}': {name} is not a function; a product needs *, and {foreign.FUNCTIONS['delay']}"
            )
        keywords = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
        if len(keywords) != len(node.keywords) or any(isinstance(a, ast.Starred) for a in node.args):
            raise ExpressionError(f"'{self._piece(node)}': argument lists cannot be unpacked")
        try:
            if name in self.scope.operators:
                return self.scope.operators[name](Call(name, tuple(node.args), keywords, self))
            return self._function(node, name, node.args, keywords)
        except ValueError as error:
            raise ExpressionError(f"'{self._piece(node)}': {error}") from None

    def _function(self, node: ast.Call, name: str, args: list[ast.expr], keywords: dict[str, ast.expr]) -> Typed:
        known = (*FUNCTION_NAMES, *self.scope.operators)
        if name not in FUNCTION_NAMES and name.lower() in foreign.FUNCTIONS:
            raise ExpressionError(foreign.FUNCTIONS[name.lower()])
        if name not in FUNCTION_NAMES:
            close = get_close_matches(name, known, n=1)
            hint = f" (did you mean '{close[0]}'?)" if close else f"; known functions: {', '.join(known)}"
            raise ExpressionError(f"unknown function '{name}'{hint}")
        if keywords:
            raise ExpressionError(f"'{name}' takes no keyword arguments")
        wanted = _ARGUMENTS.get(name, 1)
        if len(args) != wanted:
            raise ExpressionError(f"'{self._piece(node)}': {name} takes {wanted} argument{'s' * (wanted > 1)}")
        if name == "where":
            test, shape = self.condition(args[0])
            a, b = self.visit(args[1]), self.visit(args[2])
            shape = broadcast(shape, broadcast(a.shape, b.shape))
            return Typed(Where(test, a.expr, b.expr), shape)
        operands = [self.visit(argument) for argument in args]
        if wanted == 1:
            return Typed(self._defined(node, function_of(_FUNCTIONS[name], operands[0].expr)), operands[0].shape)
        if name == "mod":
            a, b = operands
            if b.expr == 0:
                raise ExpressionError(f"'{self._piece(node)}' divides by zero")
            shape = broadcast(a.shape, b.shape)
            return Typed(self._defined(node, a.expr - b.expr * cast(Node, Floor(a.expr / b.expr))), shape)
        return self._extreme(node, *operands)

    def _extreme(self, node: ast.Call, a: Typed, b: Typed) -> Typed:
        low = isinstance(node.func, ast.Name) and node.func.id == "min"
        shape = broadcast(a.shape, b.shape)
        test = self._compared(node, ast.Lt, a.expr, b.expr)
        if test in (sympy.true, sympy.false):
            smaller, larger = (a.expr, b.expr) if test == sympy.true else (b.expr, a.expr)
            return Typed(smaller if low else larger, shape)
        return Typed(Where(test, a.expr, b.expr) if low else Where(test, b.expr, a.expr), shape)
