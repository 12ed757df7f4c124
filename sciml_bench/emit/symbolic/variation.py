"""First and second derivatives of a problem's equations, for the system of its states with their sensitivities.

Along a direction s of the states the right-hand side f changes by J s. It is followed through the statements that f is
computed by, which is how one writes it by hand: a reaction's rate is differentiated once, and then goes into every
equation that it is part of. Entries that are always zero are nowhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count

import sympy
from sympy import Symbol

from sciml_bench.emit.context import Context, parameter_symbols
from sciml_bench.emit.symbolic.derivative import derivative, free_symbols_of
from sciml_bench.emit.symbolic.statements import straight_line
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.language.rebuilding import Size
from sciml_bench.spec.model import symbol

Named = tuple[Symbol, Node]
# The functions' own names.
_LOCALS = ("t", "y", "p", "dy", "f", "j", "f_p", "by_state", "by_theta", "out")
#: More second derivatives than these are not written out, as the text grows with the cube of the states.
SECOND_DERIVATIVES = 4000
#: Equations are differentiated statement by statement if they have more parts than these with their definitions written
#: out, and that is longer than each definition once by this factor: text of layers may double with each layer.
WRITTEN_OUT, REPEATED = 2000, 4


@dataclass(frozen=True)
class Tangent:
    """J s for one direction s: ``named`` and then ``outputs`` in terms of ``direction`` and the slopes."""

    direction: tuple[Symbol, ...]
    named: tuple[Named, ...]
    outputs: tuple[Node, ...]

    @property
    def read(self) -> list[Symbol]:
        """Its reads other than the direction: slopes, and symbols of the right-hand side."""
        own = {*self.direction, *(target for target, _ in self.named)}
        expressions = (*self.outputs, *(expr for _, expr in self.named))
        return sorted({s for expr in expressions for s in expr.free_symbols} - own, key=lambda s: s.name)

    def along(self, suffix: str, taken: set[str]) -> Tangent:
        """Rename the symbols, for one of several directions in one function."""
        names = (*self.direction, *(target for target, _ in self.named))
        renamed = {name: fresh(f"{name.name}_{suffix}", taken) for name in names}
        return Tangent(
            tuple(renamed[name] for name in self.direction),
            tuple((renamed[target], expr.xreplace(renamed)) for target, expr in self.named),
            tuple(expr.xreplace(renamed) for expr in self.outputs),
        )


class Variation:
    """The changes of the right-hand side; ``theta`` are the parameters of the sensitivities, empty for sensitivities
    to the initial state.
    """

    def __init__(self, context: Context):
        problem = context.problem
        self.states = [symbol(state.name) for state in problem.states]
        self.parameters = parameter_symbols(problem)
        self.theta = self.parameters if problem.wrt == "parameters" else []
        self.n_theta = len(self.theta) or len(self.states)
        self._named = [(symbol(item.name), context.resolve(item.expr)) for item in problem.definitions]
        self._resolved = [context.resolve(expr) for expr in problem.equations.values()]
        whole, shared = Size(dict(self._named)), Size({})
        length = sum(map(whole.of, self._resolved))
        once = sum(map(shared.of, (*self._resolved, *(expr for _, expr in self._named))))
        self._is_written_out = length <= max(WRITTEN_OUT, REPEATED * once)
        self._slopes: dict[Node, Symbol] = {}
        self._rows: list[Named] = []
        #: Names that a new symbol cannot have.
        self.taken = {s.name for s in (*context.names, *self.parameters)} | set(context.names.values())
        self.taken |= {*context.target.reserved, *_LOCALS}

    @cached_property
    def equations(self) -> list[Node]:
        """The right-hand sides: in t, the states and the parameters alone if they are short enough, otherwise after
        :attr:`statements`, as are the derivatives.
        """
        if not self._is_written_out:
            return self.steps[1]
        values: dict[Symbol, Node] = {}
        for target, expr in self._named:
            values[target] = expr.xreplace(values)
        return [expr.xreplace(values) for expr in self._resolved]

    @cached_property
    def jacobian(self) -> dict[tuple[int, int], Node]:
        """(i, l) → df_i/dy_l."""
        return self._derivatives(self.states)

    @cached_property
    def by_parameters(self) -> dict[tuple[int, int], Node]:
        """(i, j) → df_i/dp_j."""
        return self._derivatives(self.parameters)

    @property
    def by_theta(self) -> dict[tuple[int, int], Node]:
        """(i, j) → df_i/dtheta_j."""
        return self.by_parameters if self.theta else {}

    @property
    def statements(self) -> list[Named]:
        """The statements before the equations, and before the derivatives that have been taken."""
        return [] if self._is_written_out else self.tangent_statements

    @property
    def tangent_statements(self) -> list[Named]:
        """The statements before :attr:`steps` and :attr:`tangent`, and :attr:`statements`."""
        slopes = [(name, slope) for slope, name in self._slopes.items()]
        return [*self.steps[0], *slopes, *self._rows]

    def _derivatives(self, variables: Sequence[Symbol]) -> dict[tuple[int, int], Node]:
        if self._is_written_out:
            return derivatives(dict(enumerate(self.equations)), variables)
        return self._by_statements(variables)

    def _by_statements(self, variables: Sequence[Symbol]) -> dict[tuple[int, int], Node]:
        """The derivatives by the chain rule, statement after statement."""
        places = {variable: j for j, variable in enumerate(variables)}
        rows: dict[Node, dict[int, Node]] = {variable: {j: sympy.S.One} for variable, j in places.items()}
        statements, outputs = self.steps

        def row(expr: Node) -> dict[int, Node]:
            terms: defaultdict[int, list[Node]] = defaultdict(list)
            for factor, inner in self._factors(expr, rows.keys()):
                for j, entry in (rows[inner] if inner in rows else row(inner)).items():
                    terms[j].append(factor * entry)
            found = {j: sympy.Add(*parts) for j, parts in terms.items()}
            return {j: entry for j, entry in found.items() if entry != 0}

        for target, expr in statements:
            rows[target] = {j: self._named_row(target, j, entry) for j, entry in row(expr).items()}
        return {(i, j): entry for i, expr in enumerate(outputs) for j, entry in sorted(row(expr).items())}

    def _factors(self, expr: Node, known: Container[Node]) -> Iterator[tuple[Node, Node]]:
        """The derivative of an expression as a sum of factors of derivatives of others."""
        if isinstance(expr, sympy.Add):
            yield from ((sympy.S.One, term) for term in expr.args)
        elif isinstance(expr, sympy.Function) and len(expr.args) == 1 and not expr.args[0].is_Symbol:
            # Once, not for each symbol inside.
            inner = sympy.Dummy(real=True)
            slope = derivative(expr.func(inner), inner)
            if slope != 0:
                yield self._short(slope.xreplace({inner: expr.args[0]})), expr.args[0]
        else:
            for inner in sorted((s for s in free_symbols_of(expr) if s in known), key=lambda s: s.name):
                if (slope := derivative(expr, inner)) != 0:
                    yield self._short(slope), inner

    def _named_row(self, target: Symbol, j: int, entry: Node) -> Node:
        if entry.is_Atom:
            return entry
        name = fresh(f"{target.name}_by{j}", self.taken)
        self._rows.append((name, entry))
        return name

    @cached_property
    def curvature(self) -> dict[tuple[int, int], Node]:
        """(q, k) → the derivative of the Jacobian's entry q, in the order of ``jacobian``, by y_k."""
        return derivatives(dict(enumerate(self.jacobian.values())), self.states)

    @cached_property
    def mixed(self) -> dict[tuple[int, int], Node]:
        """(q, j) → the derivative of the Jacobian's entry q by theta_j."""
        return derivatives(dict(enumerate(self.jacobian.values())), self.theta)

    def coupling(self, j: int, direction: Sequence[Symbol]) -> dict[tuple[int, int], Node]:
        """(i, k) → the derivative by y_k of what the sensitivity to theta_j, called ``direction``, changes y_i by."""
        found: dict[tuple[int, int], Node] = {}
        for q, place in enumerate(self.jacobian):
            terms = [self.curvature[q, k] * s for k, s in enumerate(direction) if (q, k) in self.curvature]
            entry = sympy.Add(*terms, self.mixed.get((q, j), sympy.S.Zero))
            if entry != 0:
                found[place] = entry
        return found

    @cached_property
    def has_second(self) -> bool:
        """Return whether the second derivatives are few enough to be written out."""
        if not self._is_written_out:
            return False
        variables = {*self.states, *self.theta}
        return sum(len(entry.free_symbols & variables) for entry in self.jacobian.values()) <= SECOND_DERIVATIVES

    @cached_property
    def steps(self) -> tuple[list[Named], list[Node]]:
        """The statements that the right-hand side is computed by, and its components after them."""
        program = straight_line(self._named, self._resolved, avoid=self.taken).needed()
        self.taken |= {item.symbol.name for item in program.statements}
        return [(item.symbol, item.expr) for item in program.statements], list(program.outputs)

    @cached_property
    def tangent(self) -> Tangent:
        """J s for one direction."""
        statements, outputs = self.steps
        direction = [fresh(f"s{i}", self.taken) for i in range(len(self.states))]
        along: dict[Symbol, Node] = dict(zip(self.states, direction, strict=True))
        named: list[Named] = []

        def change(expr: Node) -> Node:
            terms: list[Node] = []
            for variable in sorted(expr.free_symbols & along.keys(), key=lambda s: s.name):
                slope = derivative(expr, variable)
                if slope != 0 and along[variable] != 0:
                    terms.append(self._short(slope) * along[variable])
            return sympy.Add(*terms)

        for target, expr in statements:
            changed = change(expr)
            if changed == 0 or changed.is_Symbol:
                along[target] = changed
            else:
                along[target] = fresh(f"d_{target.name}", self.taken)
                named.append((along[target], changed))
        ends = tuple(change(expr) for expr in outputs)
        return Tangent(tuple(direction), tuple(named), ends)

    def _short(self, slope: Node) -> Node:
        """The slope itself if it is a number or a name, otherwise a name for it, or minus that."""
        negative = slope.could_extract_minus_sign()
        size = -slope if negative else slope
        if size.is_Atom:
            return slope
        if size not in self._slopes:
            self._slopes[size] = fresh(f"by{len(self._slopes)}", self.taken)
        return -self._slopes[size] if negative else self._slopes[size]


def derivatives(expressions: dict[int, Node], variables: Sequence[Symbol]) -> dict[tuple[int, int], Node]:
    """(index, variable's index) → derivative, without derivatives that are always zero."""
    found: dict[tuple[int, int], Node] = {}
    for index, expr in expressions.items():
        free = expr.free_symbols
        for j, variable in enumerate(variables):
            if variable in free and (entry := derivative(expr, variable)) != 0:
                found[index, j] = entry
    return found


def fresh(name: str, taken: set[str]) -> Symbol:
    """A new symbol of this name, or of one like it."""
    names: Iterable[str] = (name, *()) if name not in taken else (f"{name}_{k}" for k in count(2))
    chosen = next(candidate for candidate in names if candidate not in taken)
    taken.add(chosen)
    return Symbol(chosen, real=True)
