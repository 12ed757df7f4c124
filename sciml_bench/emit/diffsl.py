"""Problem to DiffSL, the language in which diffsol reads equations.

Its names are of letters and digits, and some of them mean something in every model. It has no branches and only a
few functions. Initial values and parameters are not in the text: a program writes the one that gradients are taken
with respect to as inputs, and the other as numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import sympy
from sympy import Symbol
from sympy.printing.precedence import PRECEDENCE

from sciml_bench.emit.context import Context, parameter_symbols
from sciml_bench.emit.printer import Printer
from sciml_bench.emit.symbolic.statements import straight_line
from sciml_bench.errors import UsageError
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import symbol

FUNCTIONS = frozenset({"sin", "cos", "tan", "exp", "log", "sqrt", "abs", "sinh", "cosh", "tanh"})
"""The functions that equations may use."""

# Tensors and operators of the language, its index, its functions, and time.
_TAKEN = frozenset({
    "t", "T", "u", "dudt", "in", "out", "F", "G", "M", "N", "stop", "reset", "i", "j", "k", "l", "m", "n",
    "sin", "cos", "tan", "exp", "log", "log10", "sqrt", "abs", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "sigmoid",
    "heaviside", "copysign", "pow", "min", "max", "u0", "data", "root", "rr", "states", "inputs", "outputs",
})  # fmt: skip


class DiffslPrinter(Printer):
    """The printer of the other targets with DiffSL's powers and functions."""

    def _print_Pow(self, expr: sympy.Pow, rational: bool = False) -> str:
        base, exponent = expr.base, expr.exp
        if exponent == -1:
            return f"1/{self.parenthesize(base, PRECEDENCE['Mul'], strict=True)}"
        if exponent == sympy.S.Half:
            return self._call("sqrt", base)
        if exponent == -sympy.S.Half:
            return f"1/{self._call('sqrt', base)}"
        if exponent.is_Integer and 2 <= exponent <= 4:
            return f"({'*'.join([self._atom(base)] * int(exponent))})"
        return f"pow({self.code(base)}, {self.code(exponent)})"

    def _is_product(self, expr: Node) -> bool:
        return bool(expr.is_Pow and expr.exp.is_Integer and 2 <= expr.exp <= 4)

    def _call(self, name: str, *arguments: Node) -> str:
        (code,) = map(self.code, arguments)
        match name:
            case "tan":
                # The language's own one ends the process, in its differentiation.
                return f"(sin({code})/cos({code}))"
            case "tanh":
                # The language's own one is a quotient of exponentials, which is NaN if they are infinite.
                return f"tanh(max(min({code}, 30.0), -30.0))"
            case _ if name in FUNCTIONS:
                return f"{name}({code})"
            case _:
                raise UsageError(f"DiffSL has no way to write {name}")

    def _print_Function(self, expr: Node) -> str:
        return self._call(type(expr).__name__.lower(), *expr.args)

    def _print_Where(self, expr: Any) -> str:
        raise UsageError("DiffSL has no way to write branches")


# The parent class has a separate method for each function that it knows; ours replace them.
for _name in (
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "ExpBase", "log", "expm1", "log1p",
    "sign", "Abs", "floor",
):  # fmt: skip
    setattr(DiffslPrinter, f"_print_{_name}", DiffslPrinter._print_Function)


def diffsl_functions(context: Context) -> list[str]:
    """``STATES`` and ``PARAMETERS``, the names in their order, ``STARTS``, names for the initial values, and ``MODEL``,
    the text after their declaration.
    """
    problem = context.problem
    named = [(symbol(definition.name), context.resolve(definition.expr)) for definition in problem.definitions]
    program = straight_line(named, [context.resolve(expr) for expr in problem.equations.values()]).needed()
    states, parameters = [symbol(state.name) for state in problem.states], parameter_symbols(problem)
    starts = [Symbol(f"start__{place}") for place in range(len(states))]
    names = _names([*states, *parameters, *(statement.symbol for statement in program.statements), *starts])
    printer = DiffslPrinter(context.target, {**names, symbol("t"): "t"}, {})
    lines = [f"{names[item.symbol]} {{ {printer.code(item.expr)} }}" for item in program.statements]
    lines += ["F_i {", *(f"    {printer.operand(output)}," for output in program.outputs), "}"]
    return [
        "\n".join(
            [
                f"STATES = {tuple(names[state] for state in states)!r}",
                f"STARTS = {tuple(names[start] for start in starts)!r}",
                f"PARAMETERS = {tuple(names[parameter] for parameter in parameters)!r}",
                'MODEL = """',
                *lines,
                '"""',
                "",
            ]
        )
    ]


def _names(symbols: Iterable[Symbol]) -> dict[Symbol, str]:
    """A name of letters and digits for each symbol."""
    names: dict[Symbol, str] = {}
    taken = set(_TAKEN)
    for each in symbols:
        base = name = re.sub(r"[^A-Za-z0-9]", "", each.name) or "x"
        number = 1
        while name in taken:
            name, number = f"{base}v{number}", number + 1
        taken.add(name)
        names[each] = name
    return names
