"""The declaration of an adapter, which the plan reads: methods, modes, recipes and costs. It imports no framework.

The program that a worker runs (:class:`~sciml_bench.adapters.program.Program`) is named by a ``module:class`` string
(or a function that returns one) and imported only inside a worker, one framework per process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sciml_bench.adapters.plot_style import PlotStyle
from sciml_bench.record.probe import Probed
from sciml_bench.record.task import (
    CALLS,
    DEFAULT_SAVING,
    LANDING,
    SOLVE,
    SOLVERS,
    WARM,
    Cell,
)

if TYPE_CHECKING:
    from sciml_bench.models.layer import Layer


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
