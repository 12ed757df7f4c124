"""The neutral description of a problem, as loaded: plain frozen data, exact numbers, no framework."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import sympy
from sympy import Symbol

from sciml_bench.errors import ProblemError
from sciml_bench.record.task import Numbers, Training
from sciml_bench.record.theta import Block, Theta
from sciml_bench.spec.batch import ONE, Batch
from sciml_bench.spec.discontinuities.switch import NO_SWITCHES, Switching
from sciml_bench.spec.event import Event
from sciml_bench.spec.given import Given
from sciml_bench.spec.language.operators import NetworkDivergence, NetworkGradient, Node
from sciml_bench.spec.language.shapes import Shape
from sciml_bench.spec.literature import Published, PublishedGradient, Source
from sciml_bench.spec.network import Network
from sciml_bench.spec.quantities import Definition, Grid, Parameter, State

if TYPE_CHECKING:
    from sciml_bench.spec.tables.control import Control


@dataclass(frozen=True)
class Loss:
    """``weight`` times the sum of phi((y - target) / scale) over the saved times (or the last one) and all components.

    phi is the square (``sum_of_squares``), the magnitude (``sum_of_magnitudes``) or the identity (``sum``). ``target``
    and ``scale`` have a number for each component; where the problem has data, ``data`` holds the target at each saved
    time, (n_times, n_components), in place of ``target``. ``weights``, of the same shape, multiply the residuals;
    missing observations have the weight 0.

    Where ``of`` is an expression of the states, its value takes the place of y, and ``target`` has a number for each
    of its components. ``given`` names the data of each trajectory that are the target instead. The kind
    ``cross_entropy`` is log(sum(exp(y))) - y[label] with ``label`` the name of such data. ``reads`` names a series of
    each trajectory, (n_times, n_channels), whose row at the saved time ``of`` takes as :attr:`row`. ``penalty`` is an
    expression of theta and the data of a trajectory that is added once for each of them.
    """

    target: tuple[float, ...]
    scale: tuple[float, ...]
    weight: float = 1.0
    at: str = "saved"
    kind: str = "sum_of_squares"
    data: tuple[tuple[float, ...], ...] = ()
    weights: tuple[tuple[float, ...], ...] = ()
    of: Node | None = None
    given: str = ""
    label: str = ""
    reads: str = ""
    penalty: Node | None = None
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_latent(self) -> bool:
        """Return whether it takes more than the states: theta, or data of the trajectories."""
        return self.of is not None or self.penalty is not None or bool(self.given or self.label)

    @property
    def row(self) -> Symbol:
        """The symbol of the row of the series that ``of`` reads."""
        return symbol(f"{self.reads}_row")

    def weights_at(self, k: int) -> tuple[float, ...]:
        """The factor of each component's residual at saved time k."""
        return self.weights[k] if self.weights else tuple(1.0 for _ in self.scale)

    def target_at(self, k: int) -> tuple[float, ...]:
        """The target at saved time k."""
        return self.data[k] if self.data else self.target


@dataclass(frozen=True)
class Problem:
    """A differential equation y' = f(t, y, p), y(t0) = y0, with its loss, its truth where known, and its source.

    The flat state holds the states in the order of the file, fields in C order; so does the flat parameter vector, in
    which the weights of the networks follow the parameters. Scalar constants are part of the expressions;
    ``constants`` holds the vectors among them, ``matrices`` the matrices. ``given`` are the data of each trajectory,
    ``encoding`` quantities computed of them and of theta before the solve, ``controls`` paths through them;
    ``conditions`` names the trajectories of a batch that are conditions of an experiment.
    ``breakpoints`` are all the times at which the right-hand side is not smooth, ``switching`` gives their sources.
    ``implicit`` holds, for every state, the terms of its equation that an implicit-explicit method takes implicitly;
    it is empty if the file declares no split. The times of scheduled ``events`` are among the breakpoints.
    ``algebraic`` maps the states that algebraic equations determine to the expressions that are zero; in ``equations``
    they have the derivatives which follow.
    """

    name: str
    title: str
    suite: str
    tags: tuple[str, ...]
    tier: str
    description: str
    source: Source
    t0: Node
    t1: Node
    save_times: tuple[Node, ...]
    breakpoints: tuple[Node, ...]
    grids: tuple[Grid, ...]
    constants: tuple[Parameter, ...]
    matrices: Mapping[str, sympy.ImmutableDenseMatrix]
    parameters: tuple[Parameter, ...]
    states: tuple[State, ...]
    definitions: tuple[Definition, ...]
    equations: Mapping[str, Node]
    invariants: Mapping[str, Node]
    exact: Mapping[str, Node]
    loss: Loss
    published: tuple[Published, ...] = ()
    published_gradients: tuple[PublishedGradient, ...] = ()
    implicit: Mapping[str, Node] = field(default_factory=dict)
    networks: tuple[Network, ...] = ()
    batch: Batch = ONE
    given: tuple[Given, ...] = ()
    encoding: tuple[Definition, ...] = ()
    controls: tuple[Control, ...] = ()
    conditions: tuple[str, ...] = ()
    training: Training | None = None
    switching: Switching = NO_SWITCHES
    events: tuple[Event, ...] = ()
    algebraic: Mapping[str, Node] = field(default_factory=dict)
    spec_hash: str = ""
    declared_hash: str = ""
    path: str = ""
    equation_texts: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def n_states(self) -> int:
        """Length of the flat state."""
        return sum(state.size for state in self.states)

    @cached_property
    def n_parameters(self) -> int:
        """Length of the flat parameter vector."""
        return self.n_named + sum(len(network.weights) for network in self.networks)

    @cached_property
    def n_named(self) -> int:
        """The number of flat parameters that are not weights of networks; they come first."""
        return sum(len(parameter.values) for parameter in self.parameters)

    @property
    def explicit(self) -> Mapping[str, Node]:
        """The terms of each equation that are not in ``implicit``."""
        parts: dict[str, Node] = {}
        for name, equation in self.equations.items():
            taken = set(sympy.Add.make_args(self.implicit.get(name, sympy.S.Zero)))
            parts[name] = sympy.Add(*(term for term in sympy.Add.make_args(equation) if term not in taken))
        return parts

    @property
    def y0(self) -> tuple[Node, ...]:
        """The exact initial state, flat; zeros if it follows from theta or data."""
        return tuple(value for state in self.states for value in state.initial)

    @cached_property
    def p(self) -> tuple[Node, ...]:
        """The exact parameters, flat."""
        named = (value for parameter in self.parameters for value in parameter.values)
        weights = (sympy.Rational(weight) for network in self.networks for weight in network.weights)
        return (*named, *weights)

    @property
    def wrt(self) -> str:
        """The kind of theta: the parameters, or the initial state of a problem without parameters."""
        return "parameters" if self.n_parameters else "initial_state"

    @cached_property
    def state_labels(self) -> tuple[str, ...]:
        """A label for each component of the flat state: ``y1``, ``x[0]``, ``u[3,5]``."""
        return tuple(label for state in self.states for label in labels(state.name, state.shape))

    @cached_property
    def batch_labels(self) -> tuple[str, ...]:
        """A label for each component of the flat states of a batch: ``y1`` of the first, ``y1#1`` of the next."""
        others = (f"{label}#{b}" for b in range(1, self.batch.size) for label in self.state_labels)
        return (*self.state_labels, *others)

    def trajectories(self, places: Iterable[int] | None = None) -> Iterator[Problem]:
        """Each trajectory of the batch, or those at these places, as a separate problem."""
        if self.batch.size == 1:
            yield self
            return
        values, exact = self.numbers().y0, self.y0
        for b in range(self.batch.size) if places is None else places:
            drawn = tuple(map(sympy.Rational, values[b * len(exact) : (b + 1) * len(exact)]))
            initial = iter(exact if b == 0 or self.given else drawn)
            states = tuple(
                replace(state, initial=tuple(next(initial) for _ in range(state.size))) for state in self.states
            )
            yield replace(self, states=states, batch=ONE, given=tuple(given.part(b) for given in self.given))

    @cached_property
    def parameter_labels(self) -> tuple[str, ...]:
        """A label for each component of the flat parameter vector."""
        named = (label for parameter in self.parameters for label in labels(parameter.name, parameter.shape))
        return (*named, *(label for network in self.networks for label in network.labels))

    @property
    def theta_labels(self) -> tuple[str, ...]:
        """Labels of what gradients are taken with respect to; initial values are written ``y1(0)``."""
        if self.n_parameters:
            return self.parameter_labels
        return tuple(f"{label}(0)" for label in self.state_labels)

    @cached_property
    def theta_sizes(self) -> tuple[Node, ...]:
        """The exact size of each component of theta: its magnitude, or its declared scale if that is zero.

        The declared scale of an initial value is its state's; a parameter's is 1.
        """
        values = self.p if self.n_parameters else self.y0
        scales = [scale for state in self.states for scale in state.scale]
        typical = [1.0] * len(values) if self.n_parameters else scales
        pairs = zip(values, typical, strict=True)
        return tuple(abs(value) if value != 0 else sympy.Rational(size) for value, size in pairs)

    @cached_property
    def theta(self) -> Theta:
        """The components of theta in double precision, with their names and sizes, by which gradients are scored."""
        sizes = list(_doubles(self.theta_sizes))
        blocks: list[Block] = []
        start = self.n_named
        for network in self.networks:
            weights = network.weights
            size = math.sqrt(sum(weight * weight for weight in weights) / len(weights)) or 1.0
            sizes[start : start + len(weights)] = [size] * len(weights)
            for name, count in network.blocks:
                blocks.append(Block(name, start, start + count))
                start += count
        return Theta(self.theta_labels, tuple(sizes), tuple(blocks))

    @cached_property
    def shapes(self) -> dict[Symbol, Shape]:
        """Shapes of symbols that are not scalars, for :func:`sciml_bench.spec.language.shapes.shape_of`."""
        named = [(q.name, q.shape) for q in (*self.states, *self.parameters, *self.constants, *self.definitions)]
        coordinates = [(grid.name, self.grid_shape) for grid in self.grids]
        matrices = [(name, matrix.shape) for name, matrix in self.matrices.items()]
        networks = [(network.name, () if network.pointwise else (network.outputs,)) for network in self.networks]
        latent = [(quantity.name, quantity.shape) for quantity in (*self.given, *self.encoding)]
        latent += [(control.name, (control.channels,)) for control in self.controls]
        series = [(self.loss.row.name, given.shape[1:]) for given in self.given if given.name == self.loss.reads]
        return {symbol(name): shape for name, shape in (*named, *coordinates, *matrices, *networks, *latent, *series)}

    @property
    def grid_shape(self) -> Shape:
        """The shape of a field: the points of every axis."""
        return tuple(grid.points for grid in self.grids)

    @property
    def input_derivatives(self) -> bool:
        """Return whether the right-hand side takes derivatives of a network with respect to its inputs."""
        expressions = (*self.equations.values(), *(definition.expr for definition in self.definitions))
        return any(expression.has(NetworkGradient, NetworkDivergence) for expression in expressions)

    @property
    def latent(self) -> bool:
        """Return whether theta or data enter the initial values or the loss around the solve."""
        computed = any(state.start is not None for state in self.states)
        return computed or self.loss.is_latent or bool(self.given)

    @property
    def given_at_start(self) -> tuple[Given, ...]:
        """The data that initial values and the penalty may read: all without the series of the loss."""
        return tuple(given for given in self.given if given.name != self.loss.reads)

    @property
    def latent_expressions(self) -> list[Node]:
        """Every expression that is computed around the solve, not in the right-hand side."""
        starts = [state.start for state in self.states]
        of_loss = (self.loss.of, self.loss.penalty)
        return [*(item.expr for item in self.encoding), *(expr for expr in (*starts, *of_loss) if expr is not None)]

    @property
    def rhs_networks(self) -> tuple[Network, ...]:
        """The networks of the right-hand side, without encoders."""
        if not self.latent:
            return self.networks
        expressions = (*self.equations.values(), *(definition.expr for definition in self.definitions))
        used = {name for expression in expressions for name in expression.free_symbols}
        return tuple(network for network in self.networks if symbol(network.name) in used)

    @property
    def at_numbers(self) -> Problem:
        """The problem whose algebraic variables start at numbers, for solvers that make initial values consistent."""
        states = tuple(replace(state, start=None) if state.name in self.algebraic else state for state in self.states)
        return replace(self, states=states, encoding=self.declared_encoding)

    @property
    def declared_encoding(self) -> tuple[Definition, ...]:
        """The encoding of the file, without what makes initial values of algebraic variables consistent."""
        return tuple(item for item in self.encoding if "__" not in item.name)

    @property
    def declared_definitions(self) -> tuple[Definition, ...]:
        """The definitions of the file, without what the elimination of algebraic variables adds."""
        return tuple(item for item in self.definitions if "__" not in item.name)

    @property
    def residuals(self) -> dict[str, Node]:
        """The expressions of the algebraic equations, which are zero along the solution, as invariants by name."""
        return {f"{name}_residual": expr for name, expr in self.algebraic.items()}

    @property
    def all_scalar(self) -> bool:
        """Return whether every state and definition is a scalar; parameters may be vectors that are read by element."""
        return all(state.shape == () for state in self.states) and all(d.shape == () for d in self.definitions)

    def numbers(self) -> Numbers:
        """The problem in double precision, with all trajectories of its batch, as a worker needs it."""
        return Numbers(
            y0=self.batch.initial_states(_doubles(self.y0), self.states),
            p=_doubles(self.p),
            t0=to_double(self.t0),
            t1=to_double(self.t1),
            save_times=_doubles(self.save_times),
            breakpoints=_doubles(self.breakpoints),
            atol_scale=tuple(value for state in self.states for value in state.atol_scale) * self.batch.size,
            wrt=self.wrt,
            n_weights=self.n_parameters - self.n_named,
            batch=self.batch.size,
        )


def symbol(name: str) -> Symbol:
    """Return the SymPy symbol of a name of a problem."""
    return Symbol(name, real=True)


def written_out(definitions: Iterable[Definition]) -> dict[Node, Node]:
    """Each definition, by its symbol, with the ones before it written out."""
    found: dict[Node, Node] = {}
    for item in definitions:
        found[symbol(item.name)] = item.expr.xreplace(found)
    return found


def labels(name: str, shape: Shape) -> list[str]:
    """Labels of the components of a quantity, in C order."""
    return [f"{name}[{','.join(map(str, index))}]" if shape else name for index in product(*map(range, shape))]


def to_double(value: Node) -> float:
    """The nearest double of an exact number; a :class:`ProblemError` if it is larger than all of them."""
    try:
        found = int(value.p) / int(value.q) if value.is_Rational else float(value.evalf(25))
    except OverflowError:
        found = math.inf
    if math.isinf(found) and value.is_finite:
        raise ProblemError("a number is beyond the largest in double precision, 1.8e308: take other units.")
    return found


def _doubles(values: tuple[Node, ...]) -> tuple[float, ...]:
    # Of a field that is symmetric, or depends on one axis of two, many are the same.
    found = {value: to_double(value) for value in dict.fromkeys(values)}
    return tuple(found[value] for value in values)
