"""Shared parts of the loader: a document, the names known so far, and errors that point at a line."""

from __future__ import annotations

import keyword
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from sciml_bench.errors import ProblemError, ProblemWarning
from sciml_bench.spec.document import Document
from sciml_bench.spec.language.expression import ExpressionError, Scope, Typed, number, parse
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.language.shapes import Shape, describe
from sciml_bench.spec.model import symbol, to_double

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,40}")
MAX_COMPONENTS = 1_000_000


@dataclass
class Reader:
    """A document being loaded. ``scope`` grows as the tables are read in order.

    ``outer`` are the further names of initial values and losses: data of each trajectory, and their encoding.
    ``series`` are data over times, which only recurrent networks take. ``saves_start`` says that t0 is among the saved
    times. ``files`` are the cells of data files that may end up in formulas, so that a hash of the problem needs them.
    """

    document: Document
    scope: Scope = field(default_factory=Scope)
    declared_in: dict[str, str] = field(default_factory=dict)
    outer: dict[str, Typed] = field(default_factory=dict)
    series: dict[str, Shape] = field(default_factory=dict)
    saves_start: bool = False
    files: dict[str, Any] = field(default_factory=dict[str, Any])

    def declare(self, name: str, table: str, meaning: Typed | None, shape: Shape = ()) -> None:
        """Give a name its meaning (by default: a symbol of this shape), once."""
        self.claim(name, table)
        self.scope.names[name] = meaning if meaning is not None else Typed(symbol(name), shape)

    def claim(self, name: str, table: str) -> None:
        """Take a name, once."""
        if keyword.iskeyword(name):
            raise self.document.error(
                f"'{name}' cannot be a name: it is a word of Python, whose syntax formulas have.", table, name,
                f"Write {name}_0, for instance.",
            )  # fmt: skip
        if not NAME.fullmatch(name) or "__" in name:
            raise self.document.error(
                f"'{name}' cannot be a name.", table, name,
                "A name has a letter from a to z or A to Z first, then such letters, digits and single underscores.",
            )  # fmt: skip
        if name in self.declared_in:
            raise self.document.error(f"'{name}' is already declared in [{self.declared_in[name]}].", table, name)
        if name in ("t", "pi") or name in self.scope.operators:
            raise self.document.error(f"'{name}' already means something in expressions.", table, name)
        self.declared_in[name] = table

    def expression(
        self, text: Any, table: str, key: str, scope: Scope | None = None, indices: tuple[str, ...] = ()
    ) -> Typed:
        """A number or an expression in a scope (by default: all names declared before)."""
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
        return self.constant_of(self.expression(value, table, key, scope or self.constants_scope()), table, key)

    def constant_of(self, typed: Typed, table: str, key: str) -> Node:
        """The exact real number that an expression is."""
        if typed.shape or not typed.expr.is_number:
            raise self.document.error(f"'{key}' must be a single number.", table, key)
        if not typed.expr.is_real or not typed.expr.is_finite:
            raise self.document.error(f"'{key}' is {typed.expr}, not a finite real number.", table, key)
        try:
            to_double(typed.expr)
        except ProblemError as error:
            raise self.document.error(f"'{key}': {error}", table, key) from None
        return typed.expr

    def constants(self, values: Iterable[Any], table: str, key: str) -> tuple[Node, ...]:
        """A list of exact real numbers."""
        return tuple(self.constant(value, table, key) for value in values)

    def constants_scope(self, **extra: Typed) -> Scope:
        """Only the names whose meaning is a plain number, and the given ones."""
        plain = {name: typed for name, typed in self.scope.names.items() if typed.expr.is_number and not typed.shape}
        return Scope({**plain, **extra}, {}, self.scope.used)

    def outer_scope(self) -> Scope:
        """The scope before the solve: constants, parameters, networks, data of the trajectory; no state, no time."""
        inside = {"states", "algebraic", "definitions"}
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

    def warn_of_unused(self, table: str, names: Iterable[str]) -> None:
        """Warn of declared names that no expression has read: a fit may hold what a variant of the model uses."""
        for name in names:
            if name not in self.scope.used:
                told = self.document.error(
                    f"'{name}' in [{table}] is never used: its gradient is zero.", table, name,
                    "Use it in an equation, or remove it.",
                )  # fmt: skip
                warnings.warn(ProblemWarning(told), stacklevel=2)

    def refuse_unused(self, table: str, names: Iterable[str]) -> None:
        """Refuse declared names that no expression has read: they are typing errors more often than not."""
        for name in names:
            if name not in self.scope.used:
                raise self.document.error(
                    f"'{name}' in [{table}] is never used.", table, name, "Use it in an equation, or remove it."
                )
