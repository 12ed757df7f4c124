"""Emits the right-hand side, its Jacobian and its pullback as straight-line Python for the reference engine.

The text works on any scalar type that has arithmetic and the functions that the module's namespace provides:
python-flint balls at any precision, doubles, or NumPy arrays of doubles (many points at once).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy
from sympy import Basic, Expr, Symbol

from sciml_bench.emit.symbolic.graph import Graph, UnsupportedExpression
from sciml_bench.emit.symbolic.scalar import ScalarSystem
from sciml_bench.emit.symbolic.slopes import SLOPES
from sciml_bench.spec.discontinuities.decision import Decider, Moving, Switches
from sciml_bench.spec.discontinuities.roots import Span, Undecided
from sciml_bench.spec.discontinuities.switch import shown
from sciml_bench.spec.language.removable import without_removable_points

_INFIX = {"+": "+", "-": "-", "*": "*", "/": "/"}
_WIDTH = 110
_UNIT = Span(sympy.S.Zero, sympy.S.One)


@dataclass(frozen=True)
class FlintSource:
    """An emitted module without its constants.

    ``text`` defines ``rhs(t, y, p)`` (a list of n), ``jacobian(t, y, p)`` (a list of the entries at ``pattern``, pairs
    of row and column) and ``pullback(t, y, p, v)`` (two lists, v·∂f/∂y of n and v·∂f/∂p). ``constants`` maps the
    global names that the text reads to exact numbers. ``conditions`` are the conditions that the text evaluates, by
    their numbers: the functions ``above``, ``above_or_at`` and ``sign`` take the number as their second argument.
    """

    text: str
    constants: dict[str, Expr] = field(repr=False)
    pattern: tuple[tuple[int, int], ...]
    operations: int
    conditions: tuple[Basic, ...] = ()


class ChangesInside(UnsupportedExpression):
    """A condition changes inside a segment, at these exact times."""

    def __init__(self, about: Basic, times: tuple[Expr, ...]):
        self.times = times
        listed = ", ".join(map(shown, times[:4]))
        super().__init__(f"'{about}' changes inside a segment, at t = {listed}: add its time to breakpoints")


def flint_source(system: ScalarSystem, span: Span = _UNIT, values: Sequence[Expr] = ()) -> FlintSource:
    """Emit a scalar system between two breakpoints.

    Args:
        system: the problem, component by component.
        span: the exact times of the breakpoints. Inside, conditions on time and parameters must not change.
        values: the parameters, where conditions on the time depend on them.

    Raises:
        UnsupportedExpression: an expression has no high-precision counterpart, or a condition changes where no
            breakpoint is (:class:`ChangesInside`).
    """
    n, n_p = len(system.y), len(system.p)
    symbols = {system.t: "t"}
    symbols.update({symbol: f"y{i}" for i, symbol in enumerate(system.y)})
    symbols.update({symbol: f"p{i}" for i, symbol in enumerate(system.p)})
    seeds = {Symbol(f"_seed{i}"): f"v{i}" for i in range(len(system.outputs))}
    graph = Graph(symbols | seeds, _OfTime(system, span, values))
    # The solution continues where a quotient is 0/0 at a single point.
    for target, expr in system.statements:
        graph.define(target, without_removable_points(expr))
    outputs = [graph.expression(without_removable_points(expr)) for expr in system.outputs]
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
    operations = len(graph.reachable(outputs))
    return FlintSource(text + "\n", printer.constants, tuple(entries), operations, tuple(graph.conditions))


class _OfTime:
    """Settles, inside a span, the conditions that depend on the time alone."""

    def __init__(self, system: ScalarSystem, span: Span, values: Sequence[Expr]):
        self._span = span
        self._statements = dict(system.statements)
        self._states = set(system.y)
        self._of_states: dict[Symbol, bool] = {}
        self._decider = Decider(system.t, dict(zip(system.p, values, strict=False)), self._statements, placing=True)

    def holds(self, condition: Basic) -> bool | None:
        """Return whether a condition holds; ``None`` if it depends on more than the time."""
        held = self._asked(self._decider.holds, condition)
        if held is not None or not isinstance(condition, sympy.And | sympy.Or):
            return held
        # Parts that hold, or do not, may settle the whole whatever the others depend on.
        settling = isinstance(condition, sympy.Or)
        changing: UnsupportedExpression | None = None
        for part in condition.args:
            try:
                if self.holds(part) is settling:
                    return settling
            except UnsupportedExpression as error:
                changing = error
        if changing is not None:
            raise changing
        return None

    def sign(self, expr: Expr) -> int | None:
        """The sign of an expression; ``None`` if it depends on more than the time."""
        return self._asked(self._decider.sign, expr)

    def floor(self, expr: Expr) -> int | None:
        """The largest integer not above an expression; ``None`` if it depends on more than the time."""
        return self._asked(self._decider.floor, expr)

    def _asked(self, question: Callable[[Any, Span], int], about: Basic) -> Any:
        if self._has_states(about):
            return None
        try:
            return question(about, self._span)
        except Moving:
            return None
        except Switches as switches:
            raise ChangesInside(about, switches.times) from None
        except Undecided as error:
            raise UnsupportedExpression(f"when '{about}' changes cannot be decided: {error}") from None

    def _has_states(self, expr: Basic) -> bool:
        """Return whether it depends on a state, also through earlier definitions."""
        return any(self._is_of_states(symbol) for symbol in expr.free_symbols)

    def _is_of_states(self, symbol: Any) -> bool:
        if symbol in self._states:
            return True
        if symbol not in self._statements:
            return False
        if symbol not in self._of_states:
            self._of_states[symbol] = self._has_states(self._statements[symbol])
        return self._of_states[symbol]


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
        arguments = [texts[i][0] for i in node.operands]
        if node.operation in ("above", "above_or_at", "sign", *SLOPES):
            arguments.append(str(node.value))
        return f"{node.operation}({', '.join(arguments)})", False

    def _constant(self, value: Expr) -> str:
        if value not in self._names:
            self._names[value] = f"c{len(self._names)}"
            self.constants[self._names[value]] = value
        return self._names[value]
