"""A problem component by component: every vector, field and operator written out as scalar expressions.

The reference engine integrates this form, and tests hold the array emitters against it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import sympy
from sympy import Symbol

from sciml_bench.emit.symbolic.scalar_networks import Index, ScalarNetworks, indices
from sciml_bench.spec.language.operators import (
    MIRRORED,
    PERIODIC,
    At,
    ControlSlope,
    Difference,
    Dot,
    IndexedSum,
    Item,
    Laplacian,
    MatrixOf,
    MatrixProduct,
    NetworkDivergence,
    NetworkGradient,
    NetworkOutput,
    Node,
    Shift,
    Stack,
    Total,
    TridiagonalSolve,
    Where,
)
from sciml_bench.spec.language.shapes import Shape, shape_of
from sciml_bench.spec.model import Problem, symbol
from sciml_bench.spec.quantities import Definition


@dataclass(frozen=True)
class ScalarSystem:
    """dy_i/dt = ``outputs[i]``, after the statements have been evaluated in order; ``t``, ``y`` and ``p`` are symbols.

    Conditions in :class:`~sciml_bench.spec.language.operators.Where` may hold t, y and p; if they hold t alone, they
    are constant between the problem's breakpoints.
    """

    t: Symbol
    y: tuple[Symbol, ...]
    p: tuple[Symbol, ...]
    statements: tuple[tuple[Symbol, Node], ...]
    outputs: tuple[Node, ...]
    invariants: dict[str, Node]

    @cached_property
    def rhs(self) -> tuple[Node, ...]:
        """The right-hand side in t, y and p alone."""
        values: dict[Node, Node] = {}
        for target, expr in self.statements:
            values[target] = expr.xreplace(values)
        return tuple(expr.xreplace(values) for expr in self.outputs)


def scalarise(problem: Problem) -> ScalarSystem:
    """The scalar form of a problem; ``y`` and ``p`` are in the flat order of the problem."""
    return _Scalariser(problem).system()


def scalarise_start(problem: Problem) -> ScalarSystem:
    """Computations before the solve: the initial state, then the penalty of the loss if it has one.

    It has no states; ``p`` are the parameters, then the data of the trajectory without the series of the loss.
    """
    return _Scalariser(problem).start()


def scalarise_observed(problem: Problem) -> ScalarSystem:
    """The observed values of a state; ``p`` are the parameters, then the row of the series that the loss reads."""
    return _Scalariser(problem).observed()


def scalarise_events(problem: Problem) -> ScalarSystem:
    """The events: what passes zero, for each event that a condition decides, then the state after each event.

    The time is the last of ``y``, so that derivatives by it are among those by ``y``.
    """
    return _Scalariser(problem).events()


class _Scalariser:
    def __init__(self, problem: Problem):
        self.problem = problem
        self.shapes = problem.shapes
        self.statements: list[tuple[Symbol, Node]] = []
        self.components: dict[Symbol, dict[Index, Node]] = {}
        self._memo: dict[tuple[Node, Index], Node] = {}
        self._solutions: dict[Node, list[Node]] = {}
        self.networks = ScalarNetworks(problem, self.components, self.element, self._state)

    def system(self) -> ScalarSystem:
        problem = self.problem
        y = self._declare("y", [(state.name, state.shape) for state in problem.states])
        p = self._parameters()
        for axis, grid in enumerate(problem.grids):
            self.components[symbol(grid.name)] = {
                index: grid.coordinate(index[axis]) for index in indices(problem.grid_shape)
            }
        self._define(problem.definitions)
        outputs: list[Node] = []
        for state in problem.states:
            expr = problem.equations[state.name]
            outputs += [self.element(expr, index) for index in indices(state.shape)]
        invariants = {name: self.element(expr, ()) for name, expr in problem.invariants.items()}
        return ScalarSystem(symbol("t"), y, p, tuple(self.statements), tuple(outputs), invariants)

    def start(self) -> ScalarSystem:
        problem = self.problem
        p = self._parameters([(given.name, given.shape) for given in problem.given_at_start])
        self._define(problem.encoding)
        outputs: list[Node] = []
        for state in problem.states:
            if state.start is None:
                outputs += state.initial
            else:
                outputs += [self.element(state.start, index) for index in indices(state.shape)]
        if problem.loss.penalty is not None:
            outputs.append(self.element(problem.loss.penalty, ()))
        return ScalarSystem(symbol("t"), (), p, tuple(self.statements), tuple(outputs), {})

    def events(self) -> ScalarSystem:
        problem, time = self.problem, Symbol("event_time", real=True)
        y = self._declare("y", [(state.name, state.shape) for state in problem.states])
        p = self._parameters()
        self._define(problem.definitions)
        outputs = [self.element(event.when, ()) for event in problem.events if event.when is not None]
        for event in problem.events:
            outputs += [self.element(event.reset.get(state.name, symbol(state.name)), ()) for state in problem.states]
        now = {symbol("t"): time}
        statements = tuple((target, expr.xreplace(now)) for target, expr in self.statements)
        return ScalarSystem(symbol("t"), (*y, time), p, statements, tuple(expr.xreplace(now) for expr in outputs), {})

    def observed(self) -> ScalarSystem:
        y = self._declare("y", [(state.name, state.shape) for state in self.problem.states])
        row = self.problem.loss.row
        p = self._parameters([(row.name, self.shapes[row])] if self.problem.loss.reads else [])
        expr = self.problem.loss.of
        outputs = tuple(self.element(expr, index) for index in indices(self._shape(expr)))
        return ScalarSystem(symbol("t"), y, p, tuple(self.statements), outputs, {})

    def _parameters(self, more: Sequence[tuple[str, Shape]] = ()) -> tuple[Symbol, ...]:
        """The parameters, the weights of networks and what follows them; constants are known too."""
        problem = self.problem
        for constant in problem.constants:
            self.components[symbol(constant.name)] = dict(zip(indices(constant.shape), constant.values, strict=True))
        weights = [(network.name, (len(network.weights),)) for network in problem.networks]
        named = [(parameter.name, parameter.shape) for parameter in problem.parameters]
        return self._declare("p", [*named, *weights, *more])

    def _define(self, definitions: Sequence[Definition]) -> None:
        for definition in definitions:
            self.components[symbol(definition.name)] = {
                index: self._state(
                    f"{definition.name}__{'_'.join(map(str, index))}", self.element(definition.expr, index)
                )
                for index in indices(definition.shape)
            }

    def _declare(self, prefix: str, quantities: list[tuple[str, Shape]]) -> tuple[Symbol, ...]:
        flat: list[Symbol] = []
        for name, shape in quantities:
            entries: dict[Index, Node] = {}
            for index in indices(shape):
                component = Symbol(f"{prefix}_{len(flat)}", real=True)
                flat.append(component)
                entries[index] = component
            self.components[symbol(name)] = entries
        return tuple(flat)

    def _state(self, name: str, expr: Node) -> Symbol:
        target = Symbol(f"d_{name}", real=True)
        self.statements.append((target, expr))
        return target

    def element(self, expr: Node, index: Index) -> Node:
        """Component ``index`` of an expression; scalars ignore the index."""
        key = (expr, index)
        if key not in self._memo:
            self._memo[key] = self._element(expr, index)
        return self._memo[key]

    def _element(self, expr: Node, index: Index) -> Node:
        match expr:
            case Symbol():
                entries = self.components.get(expr)
                return expr if entries is None else entries[() if () in entries else index]
            case Stack():
                return self.element(expr.args[index[0]], ())
            case Item():
                return self.element(expr.args[0], tuple(int(i) for i in expr.args[1:]))
            case Laplacian():
                return self._laplacian(expr, index)
            case Difference():
                axis, edge = int(expr.args[1]), expr.args[2]
                step = self.problem.grids[axis].step
                ahead, behind = (self._neighbour(expr.args[0], index, axis, k, edge) for k in (1, -1))
                return (ahead - behind) / (2 * step)
            case Shift():
                return self._neighbour(expr.args[0], index, int(expr.args[2]), int(expr.args[1]), expr.args[3])
            case Total():
                return sympy.Add(*(self.element(expr.args[0], i) for i in indices(self._shape(expr.args[0]))))
            case Dot():
                a, b = expr.args
                return sympy.Add(*(self.element(a, i) * self.element(b, i) for i in indices(self._shape(a))))
            case MatrixProduct():
                matrix = self.problem.matrices[expr.args[0].name]
                row = matrix.row(index[0])
                return sympy.Add(*(value * self.element(expr.args[1], (k,)) for k, value in enumerate(row)))
            case IndexedSum():
                return self._indexed_sum(expr, index)
            case TridiagonalSolve():
                return self._tridiagonal(expr)[index[0]]
            case NetworkOutput():
                return self.networks.output(expr, index)
            case ControlSlope():
                return self._path_slope(expr, index[0])
            case MatrixOf():
                matrix, vector = expr.args
                (n,) = self._shape(vector)
                return sympy.Add(
                    *(self.element(matrix, (index[0] * n + j,)) * self.element(vector, (j,)) for j in range(n))
                )
            case NetworkGradient():
                return self.networks.input_jacobian(expr)[0][index[0]]
            case NetworkDivergence():
                return sympy.Add(*(row[i] for i, row in enumerate(self.networks.input_jacobian(expr))))
            case _:
                if not expr.args:
                    return expr
                return expr.func(*(self.element(argument, index) for argument in expr.args))

    def _shape(self, expr: Node) -> Shape:
        return shape_of(expr, self.shapes)

    def _laplacian(self, expr: Node, index: Index) -> Node:
        field, *edges = expr.args
        total: Node = sympy.S.Zero
        for axis, (edge, grid) in enumerate(zip(edges, self.problem.grids, strict=True)):
            ahead, behind = (self._neighbour(field, index, axis, k, edge) for k in (1, -1))
            total += (ahead - 2 * self.element(field, index) + behind) / grid.step**2
        return total

    def _neighbour(self, field: Node, index: Index, axis: int, places: int, edge: Node) -> Node:
        size = self._shape(field)[axis]
        place = index[axis] + places
        if not 0 <= place < size:
            if edge == PERIODIC:
                place %= size
            elif edge == MIRRORED:
                place = 0 if place < 0 else size - 1
            else:
                return self.element(edge, ())
        return self.element(field, (*index[:axis], place, *index[axis + 1 :]))

    def _indexed_sum(self, expr: Node, index: Index) -> Node:
        body, j, excluded, size = expr.args
        atoms = body.atoms(At)
        terms: list[Node] = []
        for k in range(int(size)):
            if excluded != j and (k,) == index:
                continue
            values = {a: self.element(a.args[0], (k,) if a.args[1] == j else index) for a in atoms}
            terms.append(self._scalars(body).xreplace(values))
        return sympy.Add(*terms)

    def _scalars(self, body: Node) -> Node:
        """The body with scalar parameters, states and definitions put in; elements stay."""
        scalars = {s: entries[()] for s, entries in self.components.items() if () in entries}
        return body.xreplace(scalars)

    def _path_slope(self, expr: Node, channel: int) -> Node:
        """One channel of the derivative of a path, interval by interval, with the data of the one trajectory."""
        control = next(control for control in self.problem.controls if control.name == expr.args[0].name)
        (row,) = next(given.rows for given in self.problem.given if given.name == control.data)
        values = tuple(sympy.Rational(value) for value in row[channel :: control.channels])

        def between(first: int, end: int) -> Node:
            """Its form on intervals from the first up to the end; a tree of conditions, as there may be thousands."""
            if end - first == 1:
                return control.slope(first, values, symbol("t"))
            middle = (first + end) // 2
            return Where(symbol("t") < control.times[middle], between(first, middle), between(middle, end))

        return between(0, len(control.times) - 1)

    def _tridiagonal(self, expr: Node) -> list[Node]:
        """Thomas' algorithm, with a statement for each intermediate so that expressions stay small."""
        if expr in self._solutions:
            return self._solutions[expr]
        lower, diagonal, upper, b = expr.args
        n, tag = self._shape(b)[0], len(self._solutions)
        at: Callable[[Node, int], Node] = lambda array, i: self.element(array, (i,))  # noqa: E731
        c = [self._state(f"tri{tag}_c_0", at(upper, 0) / at(diagonal, 0))]
        d = [self._state(f"tri{tag}_d_0", at(b, 0) / at(diagonal, 0))]
        for i in range(1, n):
            pivot = self._state(f"tri{tag}_p_{i}", at(diagonal, i) - at(lower, i) * c[i - 1])
            c.append(self._state(f"tri{tag}_c_{i}", at(upper, i) / pivot))
            d.append(self._state(f"tri{tag}_d_{i}", (at(b, i) - at(lower, i) * d[i - 1]) / pivot))
        x: list[Node] = [d[-1]]
        for i in range(n - 2, -1, -1):
            x.insert(0, self._state(f"tri{tag}_x_{i}", d[i] - c[i] * x[0]))
        self._solutions[expr] = x
        return x
