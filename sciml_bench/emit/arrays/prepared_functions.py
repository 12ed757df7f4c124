"""The two functions of modules whose right-hand sides take what depends on the parameters alone from outside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from sciml_bench.emit.context import Context, joined
from sciml_bench.emit.printer import Printer
from sciml_bench.emit.symbolic.statements import straight_line
from sciml_bench.spec.language.operators import Node


class Item(NamedTuple):
    """One value of the parameters alone: its name in ``rhs``, and its code, with a hole for the list of ``exprs``."""

    name: str
    code: str
    exprs: Sequence[Node] = ()


def prepared(context: Context, items: Sequence[Item], taken: Iterable[str]) -> str:
    """``prepared(p)``, which gives the values of these items. Avoids the names in ``taken``."""
    outputs = [expr for item in items for expr in item.exprs]
    program = straight_line([], outputs, taken)
    printer = printer_of_p(context)
    lines = context.unpack_parameters(program.symbols) if program.symbols else []
    lines += [f"    {printer.code(s.symbol)} = {printer.code(s.expr)}" for s in program.statements]
    codes = iter([printer.operand(expr) for expr in program.outputs])
    values = [item.code.format(joined([next(codes) for _ in item.exprs])) for item in items]
    return function("prepared(p)", [*lines, f"    return {as_tuple(values)}"])


def printer_of_p(context: Context) -> Printer:
    """A printer without a state."""
    printer = context.printer()
    printer.target = replace(context.target, constant=context.target.constant.replace("y.", "p."))
    return printer


def given(names: Sequence[str]) -> list[str]:
    """The line of ``rhs`` that gives the prepared values their names."""
    return [f"    {', '.join(names)}{',' * (len(names) == 1)} = given"] if names else []


def as_tuple(values: Sequence[str]) -> str:
    """Code of a tuple, in separate lines if the values are long."""
    if sum(map(len, values)) > 90:
        return "(\n" + "".join(f"        {value},\n" for value in values) + "    )"
    return f"({', '.join(values)}{',' * (len(values) == 1)})"


def function(head: str, lines: Sequence[str]) -> str:
    """The text of a function."""
    return "\n".join([f"def {head}:", *lines, ""])
