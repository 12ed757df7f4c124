"""What the parts of the loader share: a document, the names known so far, and errors that point at a line."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from sciml_bench.problem.document import Document
from sciml_bench.problem.expression import ExpressionError, Scope, Typed, number, parse
from sciml_bench.problem.model import symbol
from sciml_bench.problem.operators import Node
from sciml_bench.problem.shapes import Shape, describe

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,40}")
MAX_COMPONENTS = 1_000_000


@dataclass
class Reader:
    """A document being loaded. ``scope`` grows as the tables are read in order.

    ``outer`` are the names that initial values and losses know besides: data of each trajectory, and what is encoded
    of them. ``series`` are data over times, which only networks that are recurrent take.
    """

    document: Document
    scope: Scope = field(default_factory=Scope)
    declared_in: dict[str, str] = field(default_factory=dict)
    outer: dict[str, Typed] = field(default_factory=dict)
    series: dict[str, Shape] = field(default_factory=dict)

    def declare(self, name: str, table: str, meaning: Typed | None, shape: Shape = ()) -> None:
        """Give a name its meaning (by default: a symbol of this shape), once."""
        self.claim(name, table)
        self.scope.names[name] = meaning if meaning is not None else Typed(symbol(name), shape)

    def claim(self, name: str, table: str) -> None:
        """Take a name, once."""
        if not NAME.fullmatch(name) or "__" in name or keyword.iskeyword(name):
            raise self.document.error(
                f"'{name}' cannot be a name.", table, name,
                "A name has a letter first, then letters, digits and single underscores.",
            )  # fmt: skip
        if name in self.declared_in:
            raise self.document.error(f"'{name}' is already declared in [{self.declared_in[name]}].", table, name)
        if name in ("t", "pi") or name in self.scope.operators:
            raise self.document.error(f"'{name}' already means something in expressions.", table, name)
        self.declared_in[name] = table

    def expression(
        self, text: Any, table: str, key: str, scope: Scope | None = None, indices: tuple[str, ...] = ()
    ) -> Typed:
        """A number or an expression in a scope (by default: all that is declared so far)."""
        try:
            if isinstance(text, int | Decimal) and not isinstance(text, bool):
                return Typed(number(text))
            if isinstance(text, str):
                return parse(text, self.scope if scope is None else scope, indices)
        except ExpressionError as error:
            raise self.document.error(f"in '{key}': {error}.", table, key) from None
        raise self.document.error(f"'{key}' must be a number or an expression in quotes.", table, key)

    def constant(self, value: Any, table: str, key: str, scope: Scope | None = None) -> Node:
        """An exact real number, given as a number or as an expression of constants."""
        typed = self.expression(value, table, key, self.constants_scope() if scope is None else scope)
        if typed.shape or not typed.expr.is_number:
            raise self.document.error(f"'{key}' must be a single number.", table, key)
        if not typed.expr.is_real or not typed.expr.is_finite:
            raise self.document.error(f"'{key}' is {typed.expr}, not a finite real number.", table, key)
        return typed.expr

    def constants(self, values: Iterable[Any], table: str, key: str) -> tuple[Node, ...]:
        """A list of exact real numbers."""
        return tuple(self.constant(value, table, key) for value in values)

    def constants_scope(self, **extra: Typed) -> Scope:
        """Only the names whose meaning is a plain number, and the given ones."""
        plain = {name: typed for name, typed in self.scope.names.items() if typed.expr.is_number and not typed.shape}
        return Scope({**plain, **extra}, {}, self.scope.used)

    def outer_scope(self) -> Scope:
        """What holds before the solve: constants, parameters, networks, data of the trajectory; no state, no time."""
        inside = {"states", "definitions"}
        hidden = {name for name, table in self.declared_in.items() if table.partition(".")[0] in {*inside, "grids"}}
        names = {name: typed for name, typed in self.scope.names.items() if name not in hidden and name != "t"}
        return Scope({**names, **self.outer}, self.scope.operators, self.scope.used, self.series)

    def fits(self, typed: Typed, shape: Shape, table: str, key: str) -> Node:
        """The expression, when it has the shape or is a scalar to be broadcast."""
        if typed.shape not in (shape, ()):
            raise self.document.error(
                f"'{key}' is a {describe(shape)}, but its expression is a {describe(typed.shape)}.", table, key
            )
        return typed.expr

    def refuse_unused(self, table: str, names: Iterable[str]) -> None:
        """Refuse declared names that no expression has read: they are typing errors more often than not."""
        for name in names:
            if name not in self.scope.used:
                raise self.document.error(
                    f"'{name}' in [{table}] is never used.", table, name, "Use it in an equation, or remove it."
                )
