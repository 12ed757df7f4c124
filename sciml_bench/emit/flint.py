"""Emits the right-hand side, its Jacobian and its pullback as straight-line Python for the reference engine.

The text works on any scalar type that has arithmetic and the functions that the module's namespace provides:
python-flint balls at any precision, doubles, or NumPy arrays of doubles (many points at once).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import sympy
from sympy import Basic, Expr, Symbol

from sciml_bench.emit.graph import Graph, UnsupportedExpression
from sciml_bench.emit.scalar import ScalarSystem

_INFIX = {"+": "+", "-": "-", "*": "*", "/": "/"}
_WIDTH = 110


@dataclass(frozen=True)
class FlintSource:
    """An emitted module without its constants.

    ``text`` defines ``rhs(t, y, p)`` (a list of n), ``jacobian(t, y, p)`` (a list of the entries at ``pattern``,
    pairs of row and column) and ``pullback(t, y, p, v)`` (two lists, v·∂f/∂y of n and v·∂f/∂p). ``constants`` maps
    the global names that the text reads to exact numbers.
    """

    text: str
    constants: dict[str, Expr] = field(repr=False)
    pattern: tuple[tuple[int, int], ...]
    operations: int


def flint_source(system: ScalarSystem, instants: Sequence[Expr] = ()) -> FlintSource:
    """Emit a scalar system between two breakpoints.

    Args:
        system: the problem, component by component.
        instants: exact times between the two breakpoints, at which conditions on the time are decided.

    Raises:
        UnsupportedExpression: an expression has no high-precision counterpart, or a condition changes where no
            breakpoint is declared.
    """
    n, n_p = len(system.y), len(system.p)
    symbols = {system.t: "t"}
    symbols.update({symbol: f"y{i}" for i, symbol in enumerate(system.y)})
    symbols.update({symbol: f"p{i}" for i, symbol in enumerate(system.p)})
    seeds = {Symbol(f"_seed{i}"): f"v{i}" for i in range(len(system.outputs))}
    graph = Graph(symbols | seeds, lambda condition: _decide(condition, system.t, instants))
    for target, expr in system.statements:
        graph.define(target, expr)
    outputs = [graph.expression(expr) for expr in system.outputs]
    states = [graph.inputs[f"y{i}"] for i in range(n)]
    parameters = [graph.inputs[f"p{i}"] for i in range(n_p)]
    entries = graph.jacobian(outputs, states)
    pulled = graph.pullback(outputs, [graph.inputs[name] for name in seeds.values()], states + parameters)
    printer = _Printer(graph)
    text = "\n\n\n".join(
        (
            printer.function("rhs", ("t", "y", "p"), [outputs]),
            printer.function("jacobian", ("t", "y", "p"), [list(entries.values())]),
            printer.function("pullback", ("t", "y", "p", "v"), [pulled[:n], pulled[n:]]),
        )
    )
    return FlintSource(text + "\n", printer.constants, tuple(entries), len(graph.reachable(outputs)))


def _decide(condition: Basic, t: Symbol, instants: Sequence[Expr]) -> bool:
    """Whether a condition on the time holds at all the instants."""
    if condition.free_symbols - {t}:
        raise UnsupportedExpression(
            f"the condition '{condition}' depends on the state or on parameters: such a right-hand side has no"
            " breakpoints that could be stepped on exactly"
        )
    answers = {bool(condition.subs(t, instant)) for instant in instants or (sympy.S.Zero,)}
    if len(answers) > 1:
        raise UnsupportedExpression(
            f"the condition '{condition}' changes inside a segment: add its time to breakpoints"
        )
    return answers.pop()


class _Printer:
    """Prints parts of a graph as functions; nodes that are used once are written in place."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.constants: dict[str, Expr] = {}
        self._names: dict[Expr, str] = {}

    def function(self, name: str, arguments: tuple[str, ...], results: list[list[int]]) -> str:
        """One function whose arguments after ``t`` are vectors, returning one list, or a tuple of lists."""
        graph = self.graph
        wanted = [index for result in results for index in result]
        needed = graph.reachable(wanted)
        uses: dict[int, int] = {}
        for index in (*wanted, *(operand for i in needed for operand in graph.nodes[i].operands)):
            uses[index] = uses.get(index, 0) + 1
        lines = [f"def {name}({', '.join(arguments)}):"]
        present = {str(graph.nodes[i].value) for i in needed if graph.nodes[i].operation == "input"}
        for argument in arguments[1:]:
            used = sorted((x for x in present if x[0] == argument), key=lambda x: int(x[1:]))
            lines += [f"    {x} = {argument}[{x[1:]}]" for x in used]
        texts: dict[int, tuple[str, bool]] = {}
        for index in needed:
            text, atomic = self._text(index, texts)
            if not atomic and (uses[index] > 1 or len(text) > _WIDTH):
                lines.append(f"    x{index} = {text}")
                text, atomic = f"x{index}", True
            texts[index] = (text, atomic)
        returned = ["[" + ", ".join(texts[index][0] for index in result) + "]" for result in results]
        return "\n".join([*lines, f"    return {', '.join(returned)}"])

    def _text(self, index: int, texts: dict[int, tuple[str, bool]]) -> tuple[str, bool]:
        node = self.graph.nodes[index]
        if node.operation == "input":
            return str(node.value), True
        if node.operation == "constant":
            return self._constant(node.value), True  # pyright: ignore[reportArgumentType]
        operands = [text if atomic else f"({text})" for text, atomic in (texts[i] for i in node.operands)]
        if node.operation in _INFIX:
            return f"{operands[0]} {_INFIX[node.operation]} {operands[1]}", False
        if node.operation == "neg":
            return f"-{operands[0]}", False
        if node.operation == "pow":
            return f"power({operands[0]}, {self._constant(node.value)})", True  # pyright: ignore[reportArgumentType]
        return f"{node.operation}({', '.join(texts[i][0] for i in node.operands)})", False

    def _constant(self, value: Expr) -> str:
        if value not in self._names:
            self._names[value] = f"c{len(self._names)}"
            self.constants[self._names[value]] = value
        return self._names[value]
