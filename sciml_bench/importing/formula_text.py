"""Formulas as text of problem files, and their parts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sciml_bench.importing.python.traced import Condition, Traced, number

# Precedence of the operators of problem files; a call or a name binds tightest.
_SUM, _PRODUCT, _NEGATIVE, _POWER, _ATOM = 1, 2, 3, 4, 5
_PRECEDENCE = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "neg": _NEGATIVE, "**": _POWER}


def parts_of(values: Iterable[Any]) -> tuple[list[Any], dict[int, int]]:
    """The parts of formulas, operands first, and how often each is used, by identity; without recursion."""
    order, uses = list[Any](), dict[int, int]()
    stack: list[tuple[Any, bool]] = [(value, False) for value in values if isinstance(value, (Traced, Condition))]
    while stack:
        part, done = stack.pop()
        if done:
            order.append(part)
            continue
        uses[id(part)] = uses.get(id(part), 0) + 1
        if uses[id(part)] == 1:
            stack.append((part, True))
            stack += [(arg, False) for arg in part.args if isinstance(arg, (Traced, Condition))]
    return order, uses


def names_in(values: Iterable[Any]) -> set[str]:
    """The names that formulas hold."""
    return {str(part.args[0]) for part in parts_of(values)[0] if part.op == "name"}


def text_of(value: Any, names: dict[int, str]) -> tuple[str, int]:
    """A formula as text of a problem file, and how tightly it binds; ``names`` are the names of parts, by identity."""
    if not isinstance(value, (Traced, Condition)):
        known = number(value)
        return repr(known), _ATOM if known >= 0 else _NEGATIVE
    if id(value) in names:
        return (f"{names[id(value)]} > 0.5", _SUM) if isinstance(value, Condition) else (names[id(value)], _ATOM)
    op, args = value.op, value.args
    if op == "name":
        return str(args[0]), _ATOM
    if op in _PRECEDENCE:
        binds = _PRECEDENCE[op]
        if op == "neg":
            return f"-{_within(args[0], names, _POWER)}", binds
        left = _within(args[0], names, _ATOM if op == "**" else binds)
        right = _within(args[1], names, _ATOM if op == "**" else binds + (op in "-/"))
        return f"{left} {op} {right}" if binds == _SUM else f"{left}{op}{right}", binds
    if isinstance(value, Condition):
        return _condition(value, names), _SUM
    if op == "interp":
        at, places, *values = args
        rows = (", ".join(text_of(each, names)[0] for each in row) for row in (places, values))
        return f"interp({text_of(at, names)[0]}, {', '.join(f'[{row}]' for row in rows)})", _ATOM
    return f"{op}({', '.join(text_of(arg, names)[0] for arg in args)})", _ATOM


def _within(value: Any, names: dict[int, str], least: int) -> str:
    text, binds = text_of(value, names)
    return text if binds >= least else f"({text})"


def _condition(value: Condition, names: dict[int, str]) -> str:
    if value.op == "not":
        return f"not ({text_of(value.args[0], names)[0]})"
    texts = (text_of(arg, names)[0] for arg in value.args)
    if value.op in ("and", "or"):
        return f" {value.op} ".join(f"({text})" for text in texts)
    return f" {value.op} ".join(texts)
