"""From equations to straight-line statements: pairs expanded, common subexpressions shared, in a valid order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import sympy
from sympy import Symbol

from sciml_bench.emit.printer import Column, Others, Row, RowSum, Spread
from sciml_bench.spec.language.operators import At, IndexedSum, Node, PairMatrix, Total


@dataclass(frozen=True)
class Statement:
    """``symbol = expr``; temporaries have names with an underscore-free prefix."""

    symbol: Symbol
    expr: Node


@dataclass(frozen=True)
class Program:
    """Statements in a valid order, the outputs in terms of their symbols, and the tables of pairs they need."""

    statements: tuple[Statement, ...]
    outputs: tuple[Node, ...]
    pair_tables: tuple[PairTable, ...]

    @property
    def symbols(self) -> set[Symbol]:
        """All symbols in its expressions."""
        expressions = (*(statement.expr for statement in self.statements), *self.outputs)
        return {symbol for expression in expressions for symbol in expression.free_symbols}

    def needed(self) -> Program:
        """Remove statements that no output depends on."""
        kept = needed([(statement.symbol, statement.expr) for statement in self.statements], self.outputs)
        return replace(self, statements=tuple(Statement(symbol, expr) for symbol, expr in kept))

    def without_aliases(self) -> Program:
        """Remove statements that only rename a symbol."""
        names: dict[Symbol, Symbol] = {}
        kept: list[Statement] = []
        for statement in self.statements:
            expr = statement.expr.xreplace(names)
            if isinstance(expr, Symbol):
                names[statement.symbol] = expr
            else:
                kept.append(replace(statement, expr=expr))
        return replace(self, statements=tuple(kept), outputs=tuple(output.xreplace(names) for output in self.outputs))


@dataclass(frozen=True)
class PairTable:
    """The table ``symbol[i, k]`` of the indices that row i sums over: all of ``size`` but i itself."""

    symbol: Symbol
    size: int


def needed(named: Sequence[tuple[Symbol, Node]], outputs: Iterable[Node]) -> list[tuple[Symbol, Node]]:
    """The definitions, in a valid order, that outputs depend on."""
    wanted = {symbol for output in outputs for symbol in output.free_symbols}
    kept: list[tuple[Symbol, Node]] = []
    for symbol, expr in reversed(named):
        if symbol in wanted:
            kept.append((symbol, expr))
            wanted |= expr.free_symbols
    return kept[::-1]


def straight_line(named: Sequence[tuple[Symbol, Node]], outputs: Sequence[Node], avoid: Iterable[str] = ()) -> Program:
    """Common subexpressions of definitions and outputs as statements, each before its first use.

    The new symbols have names that neither occur in the expressions nor are among those to avoid.
    """
    taken = {s.name for _, e in named for s in e.free_symbols} | {s.name for e in outputs for s in e.free_symbols}
    taken |= {s.name for s, _ in named} | set(avoid)
    expander = _PairExpander(taken)
    expanded = [expander.expand(expr) for _, expr in named]
    expanded_outputs = [expander.expand(expr) for expr in outputs]
    targets = [symbol for symbol, _ in named] + [statement.symbol for statement in expander.statements]
    bodies = expanded + [statement.expr for statement in expander.statements]
    everything = [*bodies, *expanded_outputs]
    # If most terms of a sum are negative, SymPy looks at its opposite and misses products that others share with it.
    hidden = [_with_sums(expr, sympy.Add, _HiddenSum) for expr in everything]
    shared, reduced = sympy.cse(hidden, symbols=_fresh("c", taken), order="none")
    values = [_with_sums(expr, _HiddenSum, sympy.Add) for expr in reduced]
    statements = [Statement(symbol, _with_sums(expr, _HiddenSum, sympy.Add)) for symbol, expr in shared]
    statements += [Statement(symbol, expr) for symbol, expr in zip(targets, values, strict=False)]
    return _without_numbers(_ordered(statements), values[len(targets) :], tuple(expander.tables.values()))


def _without_numbers(
    statements: Sequence[Statement], outputs: Sequence[Node], tables: tuple[PairTable, ...]
) -> Program:
    """The program with numbers substituted: as separate values they would not be arrays of a target's."""
    numbers: dict[Symbol, Node] = {}
    kept: list[Statement] = []
    for statement in statements:
        expr = statement.expr.xreplace(numbers) if numbers else statement.expr
        if expr.is_number:
            numbers[statement.symbol] = expr
        else:
            kept.append(Statement(statement.symbol, expr))
    return Program(tuple(kept), tuple(expr.xreplace(numbers) for expr in outputs), tables)


class _HiddenSum(sympy.Function):
    """A sum whose sign is left alone."""


def _with_sums(expr: Node, old: type[Node], new: type[Node]) -> Node:
    """The expression with sums of one kind made into another, for sums that SymPy would turn into their opposite."""

    def visit(node: Node) -> Node:
        if not node.args:
            return node
        arguments = [visit(argument) for argument in node.args]
        if isinstance(node, old) and (old is _HiddenSum or node.could_extract_minus_sign()):
            return new(*arguments)
        return node if tuple(arguments) == node.args else node.func(*arguments)

    return visit(expr)


def _fresh(prefix: str, taken: set[str]) -> Iterator[Symbol]:
    number = 0
    while True:
        name = f"{prefix}{number}"
        if name not in taken:
            taken.add(name)
            yield Symbol(name, real=True)
        number += 1


def _ordered(statements: list[Statement]) -> tuple[Statement, ...]:
    """Depth-first order by dependency; otherwise keeps the given order."""
    by_symbol = {statement.symbol: statement for statement in statements}
    done: dict[Symbol, Statement] = {}
    for statement in statements:
        # Without recursion: unrolled loops have chains of thousands.
        waiting = [statement]
        while waiting:
            last = waiting[-1]
            needed = sorted((s for s in last.expr.free_symbols if s in by_symbol and s not in done), key=_name)
            if last.symbol in done or not needed:
                done.setdefault(last.symbol, waiting.pop())
            else:
                waiting.extend(by_symbol[symbol] for symbol in reversed(needed))
    return tuple(done.values())


def _name(symbol: Symbol) -> str:
    return symbol.name


class _PairExpander:
    """Rewrites every indexed sum as statements over a table of pairs, so that sums share common parts."""

    def __init__(self, taken: set[str]):
        self.taken = taken
        self.statements: list[Statement] = []
        self.tables: dict[int, PairTable] = {}
        self._symbols: dict[Node, Symbol] = {}

    def expand(self, expression: Node) -> Node:
        """The expression with every indexed sum replaced by the symbol of a row sum."""
        sums = sorted(expression.atoms(IndexedSum, PairMatrix), key=sympy.default_sort_key)
        return expression.xreplace({total: self._total(total) for total in sums})

    def _total(self, total: IndexedSum | PairMatrix) -> Node:
        body, j, excluded, size = total.args
        is_matrix = isinstance(total, PairMatrix)
        if not is_matrix and excluded == j and all(atom.args[1] == j for atom in body.atoms(At)):
            return Total(body.xreplace({atom: atom.args[0] for atom in body.atoms(At)}))
        if total not in self._symbols:
            table = None if excluded == j else self._table(int(size))
            replaced = {atom: self._element(atom, j, table) for atom in body.atoms(At)}
            pairs = body.xreplace(replaced)
            over = sympy.S.Zero if table is None else table.symbol
            value = Spread(pairs, size, over) if is_matrix else RowSum(pairs)
            self._symbols[total] = self._assign("matrix" if is_matrix else "total", value)
        return self._symbols[total]

    def _element(self, atom: At, j: Symbol, table: PairTable | None) -> Symbol:
        array, index = atom.args
        summed = index == j
        expr = Row(array) if not summed else Column(array) if table is None else Others(array, table.symbol)
        if expr not in self._symbols:
            base = array.name if isinstance(array, Symbol) else "element"
            self._symbols[expr] = self._assign(f"{base}_{'j' if summed else 'i'}", expr)
        return self._symbols[expr]

    def _table(self, size: int) -> PairTable:
        if size not in self.tables:
            self.tables[size] = PairTable(Symbol(f"OTHERS__{size}"), size)
        return self.tables[size]

    def _assign(self, name: str, expr: Node) -> Symbol:
        unique, number = name, 2
        while unique in self.taken:
            unique, number = f"{name}{number}", number + 1
        self.taken.add(unique)
        symbol = Symbol(unique, real=True)
        self.statements.append(Statement(symbol, expr))
        return symbol
