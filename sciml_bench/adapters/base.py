"""The two parts of an adapter: a declaration that the plan reads, and a program that a worker runs.

The declaration (:class:`Adapter`) imports no framework. The program (:class:`Program`) is named by a
``module:function`` string and imported only inside a worker, one framework per process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sciml_bench.adapters.plot_style import PlotStyle
from sciml_bench.record.model_task import Evaluation
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.probe import Probed
from sciml_bench.record.task import (
    CALLS,
    DEFAULT_SAVING,
    LANDING,
    SOLVE,
    SOLVERS,
    WARM,
    Cell,
    Point,
    Training,
)
from sciml_bench.record.trajectories import Trajectories

if TYPE_CHECKING:
    from sciml_bench.models.layer import Layer


Vector = NDArray[np.float64]
FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
Varied = FloatArray | IntArray
"""The input that varies from call to call: theta, or for a model the indices of the samples in its batch."""


@dataclass(frozen=True)
class Method:
    """One integrator of an adapter.

    ``family`` is a field term (``esdirk``, ``bdf``, ``rosenbrock``, ``radau``, ``explicit_rk``, ``multistep``,
    ``implicit_rk`` …); ``adaptive`` is false for fixed-step methods, whose number of steps then takes the place of
    the tolerance. ``lands`` is true if its steps can be made to end at the saved times, instead of being interpolated;
    ``interpolant`` is the order of the values between steps if it is known to be less than ``order``. ``root_finder``
    names the root finder of an implicit method if it is not the library's default; the name ends with it.
    """

    name: str
    family: str
    order: int
    implicit: bool
    adaptive: bool = True
    stiff: bool = False
    lands: bool = False
    interpolant: int | None = None
    root_finder: str = ""

    @property
    def integrator(self) -> str:
        """The name without the root finder."""
        return self.name.removesuffix(f"-{self.root_finder}") if self.root_finder else self.name

    @property
    def savings(self) -> tuple[str, ...]:
        """The ways of saving that its cells can have."""
        return (DEFAULT_SAVING, LANDING) if self.lands else (DEFAULT_SAVING,)


INFERENCE = "inference"
"""The sensitivity of a framework that runs models and takes no gradients; its cells are measured without."""

NO_GRADIENT = "none"  # The sensitivity of a library that only solves.
WITHOUT_GRADIENTS = (INFERENCE, NO_GRADIENT)


def calls_of(cell: Cell) -> tuple[str, ...]:
    """Return the calls that a cell can measure: no gradient if its framework has none."""
    return (SOLVE,) if cell.sensitivity in WITHOUT_GRADIENTS else CALLS


BACKWARD_EVALUATIONS = "n_backward_rhs_evaluations"
"""Name of the counter for right-hand-side evaluations in the backward solve of a gradient."""

NETWORK = Method("network", family="network", order=0, implicit=False)
"""The one method of an adapter of the conventional track: to run the model as it is declared."""


@dataclass(frozen=True)
class ProblemTraits:
    """The traits of a problem by which an adapter decides whether it can run it.

    ``n_weights`` of the parameters are weights of networks. ``batch`` is the number of trajectories and ``n_saved`` the
    number of saved times. The flags are true if

    - ``split``: the file declares implicit terms;
    - ``input_derivatives``: the right-hand side differentiates a network;
    - ``latent``: initial values or the loss depend on theta, or on data of the trajectories;
    - ``controlled``: a path through data, or a Brownian motion, drives the equation;
    - ``stochastic``: drift and noise matrix are separate; ``arrays``: states or definitions are vectors or fields;
    - ``events``: the state changes at times that the solution decides, or that the file gives;
    - ``either_way``: a condition of an event counts in both directions;
    - ``algebraic``: some states have algebraic equations; ``consistent``: the only initial values that depend on theta
      are the ones which follow from these, and the loss is one of states.

    ``functions`` are those in the equations by name, with ``where`` if they branch. ``not_local`` is the reason why
    fields are not computed point by point from near points, empty if they are. ``layers`` belong to a model. ``stiff``
    is the problem's label, ``probed`` the result of a probe, if any; ``recipes.takes_explicit`` decides what suits.
    """

    name: str
    suite: str
    n_states: int
    n_parameters: int
    n_breakpoints: int
    wrt: str
    stiff: bool
    split: bool = False
    n_weights: int = 0
    batch: int = 1
    input_derivatives: bool = False
    latent: bool = False
    controlled: bool = False
    stochastic: bool = False
    fusion: bool = False
    arrays: bool = False
    functions: frozenset[str] = frozenset()
    not_local: str = ""
    layers: tuple[Layer, ...] = ()
    probed: Probed | None = None
    n_saved: int = 1
    events: bool = False
    either_way: bool = False
    algebraic: bool = False
    consistent: bool = False

    @property
    def n_theta(self) -> int:
        """The length of a gradient."""
        return self.n_parameters if self.wrt == "parameters" else self.n_states


DEFAULT = "default"
"""The role of a recipe for the library's default, if its best way differs."""

OTHER_KIND = "other kind"
"""The role of a recipe of the other kind of method, explicit or implicit, if no probe decided which kind suits."""


@dataclass(frozen=True)
class Recipe:
    """A cell of the idiomatic division, recommended by the library's documentation.

    The first of an adapter's recipes is its best way. ``role`` is ``DEFAULT`` for the library's default, ``OTHER_KIND``
    for a method planned because nothing decided between the kinds; ``note`` is for users.
    """

    method: str
    sensitivity: str
    mode: str
    role: str = field(default="", compare=False)
    note: str = field(default="", compare=False)
    saving: str = DEFAULT_SAVING


Recipes = Callable[[ProblemTraits], tuple[Recipe, ...]]
"""The recipes of an adapter for a problem with these facts, the best first; see :mod:`sciml_bench.adapters.recipes`."""


def _no_recipes(_facts: ProblemTraits) -> tuple[Recipe, ...]:
    return ()


def _nothing(*_asked: object) -> str | None:
    return None


@dataclass(frozen=True)
class Cost:
    """Rough costs of an adapter's cells, in seconds on two modest cores; times of earlier runs replace them.

    ``startup_s`` is from process start to the first gradient, with compilation, ``call_s`` one solve of a small
    problem. Adjoints may take ``adjoint_startup_s``, modes and methods ``long_startup_s`` by their names.
    """

    startup_s: float = 5.0
    call_s: float = 0.1
    adjoint_startup_s: float = 0.0
    long_startup_s: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True)
class Adapter:
    """The declaration of a framework: its methods and modes, and the location of its program.

    ``packages`` maps import names to distributions. ``target`` is the emitter's target, which ``mode_targets``
    replaces for some modes. ``mode_extras`` maps modes to the extra that they need. ``refusal`` returns the reason why
    a cell cannot run on a problem with these facts, or ``None``. Code compiled in a mode of ``cached_modes`` is found
    again by other processes, in a mode of ``reusing_modes`` by other cells of the process. ``variables`` returns
    environment variables of its workers. ``lacking`` returns why it cannot run here although its packages are
    installed, and how to fix that. Both start nothing. ``track`` is the kind of problems that it runs. ``recipes``
    returns the recommended ways for a problem, the best first. ``compiles_long`` is true if it compiles for a minute
    or more in every process. ``look`` is its style in figures, by default a chosen one. ``locks`` returns the texts of
    files that pin further dependencies of its workers. ``script`` names the function that writes a script. Every task
    of it has the ``options``, for its program. ``environment`` returns the same adapter in an environment that has a
    name, or raises ``UsageError``; without it, such an environment is one of Python packages. ``unmet`` returns which
    releases are not in that environment, with the fix, and starts nothing either. ``interpreter`` is the Python of its
    workers, if it is not the one of this process. ``event_program`` is the location of the program for problems with
    events, empty if it takes no such problems.
    """

    name: str
    title: str
    packages: dict[str, str]
    extra: str
    target: str
    program: str
    methods: tuple[Method, ...]
    sensitivities: tuple[str, ...]
    modes: tuple[str, ...]
    precisions: tuple[str, ...] = ("float64",)
    devices: tuple[str, ...] = ("cpu",)
    recipes: Recipes = _no_recipes
    refusal: Callable[[Cell, ProblemTraits], str | None] = _nothing
    cached_modes: tuple[str, ...] = ()
    reusing_modes: tuple[str, ...] = ()
    variables: Callable[[], dict[str, str]] = dict[str, str]
    lacking: Callable[[], str | None] = _nothing
    track: str = SOLVERS
    mode_targets: dict[str, str] = field(default_factory=dict[str, str])
    mode_extras: dict[str, str] = field(default_factory=dict[str, str])
    compiles_long: bool = False
    cost: Cost = Cost()
    look: PlotStyle | None = None
    locks: Callable[[], Mapping[str, str]] = dict[str, str]
    script: str = ""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    environment: Callable[[str], Adapter] | None = None
    unmet: Callable[[str, Sequence[str]], str] | None = None
    interpreter: str = ""
    event_program: str = ""

    def program_for(self, facts: ProblemTraits) -> str:
        """The location of the program for a problem with these facts."""
        return self.event_program if facts.events else self.program

    def target_of(self, cell: Cell) -> str:
        """The emitter's target of a cell."""
        return self.mode_targets.get(cell.framework_mode, self.target)

    @property
    def cell_modes(self) -> tuple[str, ...]:
        """The modes of cells: each mode, also with a warm compile cache if it has one."""
        return (*self.modes, *(f"{mode}{WARM}" for mode in self.cached_modes))

    def why_not(self, cell: Cell, facts: ProblemTraits) -> str | None:
        """Return why a cell cannot run on a problem with these facts; ``None`` if it can."""
        if cell.saving == LANDING and facts.n_saved == 1:
            return "the only saved time is the end of the solve, where the last step ends in any case"
        if facts.events and not self.event_program:
            return "its adapter takes no problems with events"
        return self.refusal(cell, facts)

    def method(self, name: str) -> Method:
        """The method of this name; ``KeyError`` when the adapter has none."""
        for method in self.methods:
            if method.name == name:
                return method
        raise KeyError(name)


@dataclass(frozen=True)
class Solution:
    """States at the saved times, shape (n_times, n_states), and the solver's own counts; of a batch each one's too."""

    ys: FloatArray
    statistics: dict[str, float]
    trajectories: Trajectories | None = None


@dataclass(frozen=True)
class Gradient:
    """The loss and its gradient with respect to theta, shape (n_theta,), and the solver's own counts."""

    loss: float
    gradient: FloatArray
    statistics: dict[str, float]


@dataclass(frozen=True)
class Inside:
    """One call as timed inside the framework, behind a bridge.

    ``ns`` is the whole call, ``gc_ns`` its garbage collection, ``compile_ns`` its compilation.
    """

    ns: int
    gc_ns: int
    compile_ns: int
    allocated_bytes: int


class Trainer(ABC):
    """Theta on its way, in one framework: steps of an optimiser from the problem's own theta.

    ``step`` is timed together with ``synchronise``; ``feed``, ``read_loss``, ``evaluate`` and ``theta`` are not.
    """

    def feed(self) -> None:  # noqa: B027 - most have nothing to get ready
        """Get ready what the next step takes: the batch of a model, as arrays of the framework."""

    @abstractmethod
    def step(self) -> Any:
        """Take the loss and its gradient at theta, then move theta by one step of the optimiser."""

    @abstractmethod
    def synchronise(self, output: Any) -> None:
        """Block until the step's output and the new theta are computed."""

    @abstractmethod
    def read_loss(self, output: Any) -> float:
        """The loss at the theta that the step started from.

        Raises :class:`~sciml_bench.record.outcome.SolverFailure` when the library reports that a solve failed.
        """

    def evaluate(self, step: int) -> Evaluation | None:
        """Score theta on held-out samples after ``step`` steps; ``None`` without such samples."""
        return None

    @abstractmethod
    def theta(self) -> FloatArray:
        """Return the current theta, (n_theta,)."""


class Program(ABC):
    """One cell, built in one framework inside a worker.

    For a model of the conventional track, ``solve`` is its output for a batch of samples, and ``prepare_samples`` takes
    the place of ``prepare``: what varies from call to call is the data, not the weights.

    ``prepare`` and ``prepare_samples`` are untimed and move the inputs to the framework. ``solve`` and ``gradient`` are
    timed together with ``synchronise``, which must not return before the computation has ended; each computes, and
    returns an output that later calls leave alone, as several may be read after the last. ``read_*`` are untimed,
    return NumPy, and raise :class:`~sciml_bench.record.outcome.SolverFailure` if the library reports failure.
    """

    @abstractmethod
    def prepare(self, theta: FloatArray, point: Point) -> Any:
        """Inputs of one call as the framework's own arrays. ``theta`` has shape (n_theta,)."""

    def prepare_samples(self, places: IntArray, point: Point) -> Any:
        """Inputs of one call of a model: the samples at these ``places`` (batch,) of the training part.

        Raises :class:`~sciml_bench.record.outcome.SolverFailure` where the adapter runs no models.
        """
        raise SolverFailure(Outcome.UNSUPPORTED, "this adapter solves differential equations, and runs no models")

    @abstractmethod
    def solve(self, inputs: Any) -> Any:
        """Integrate from t0 to t1, saving at the saved times."""

    @abstractmethod
    def gradient(self, inputs: Any) -> Any:
        """The loss and its gradient with respect to theta."""

    @abstractmethod
    def synchronise(self, output: Any) -> None:
        """Block until the output is computed."""

    @abstractmethod
    def read_solution(self, output: Any) -> Solution:
        """The solution as NumPy arrays."""

    @abstractmethod
    def read_gradient(self, output: Any) -> Gradient:
        """The loss and gradient as NumPy values."""

    def trainer(self, training: Training) -> Trainer:
        """Return a trainer that uses the framework's own optimiser.

        Raises :class:`~sciml_bench.record.outcome.SolverFailure` if the adapter has none.
        """
        raise SolverFailure(Outcome.UNSUPPORTED, "the task trains, which this adapter cannot")

    def inside(self, output: Any) -> Inside | None:
        """The call that gave this output, as timed inside; ``None`` for a framework that Python calls directly."""
        return None

    def await_inputs(self, inputs: Any) -> None:  # noqa: B027 - on a CPU they are there
        """Block until the inputs are on the device."""

    def peak_device_bytes(self) -> int | None:
        """The largest memory on a device that the framework has held in arrays; ``None`` on a CPU, or unreported."""
        return None

    def working_device_bytes(self, call: Callable[[], object]) -> int | None:
        """Run a call and return the most that it held in arrays on a device; ``None``, without a call, if unknown."""
        return None

    def trace_count(self) -> int:
        """Return the number of traces or compilations of the right-hand side; 0 for eager programs."""
        return 0

    def phases_ns(self) -> dict[str, int]:
        """Return the total duration of the framework's compile phases, as it reports them, in nanoseconds by name.

        Names are ``trace``, ``lower`` and ``compile``, or ``CALL_PHASE`` (``gradient_trace``) if it separates calls.
        Phases do not contain each other. Empty for frameworks that report none.
        """
        return {}

    def cache_hits(self) -> int | None:
        """Return the number of hits in the compile cache on disk; ``None`` if the framework reports none."""
        return None

    def versions(self) -> dict[str, str]:
        """Versions and thread settings read back from the framework."""
        return {}
