"""Published rules for choosing a solver and a kind of gradient, each as a small function of a problem's features.

A rule says which of the ways of this suite it allows. Most rules were written for one library; what they say of the
kind of method and of gradient is taken over to the others, and what they leave open stays open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sciml_bench.adapters.base import Method
from sciml_bench.planning.problems import PlannedProblem
from sciml_bench.record.task import Cell
from sciml_bench.references.probe import spans

FORWARD = ("forward",)
"""Gradients that are carried along with the solution: their cost grows with the number of parameters."""

ADJOINT = ("backsolve", "interpolating", "gauss", "quadrature")
"""Gradients that solve a second differential equation backwards."""

REPLAYED = ("discrete", "checkpointed", "enzyme")
"""Gradients by back-propagation through the steps."""

REVERSE = ADJOINT + REPLAYED

ONE_STEP = ("rosenbrock", "esdirk", "imex_esdirk", "radau")
MULTISTEP = ("bdf", "multistep")
"""Families of implicit methods."""


@dataclass(frozen=True)
class Traits:
    """What rules ask of a problem.

    ``fastest`` is the largest |Re λ| of the Jacobian at the start, ``work`` the evaluations of an explicit method over
    those of an implicit one, at least those that it made before it was given up, ``None`` where no implicit one got to
    the end. ``stiff`` is the problem's label, ``learned`` says that part of the equations is a network.
    """

    n_states: int
    n_theta: int
    stiff: bool
    learned: bool
    fastest: float
    work: float | None
    accuracy: float

    @classmethod
    def of(cls, entry: PlannedProblem, accuracy: float) -> Traits:
        """Those of a problem."""
        facts, found = entry.facts, entry.facts.probed
        work = None
        if found is not None and found.implicit:
            work = (found.explicit or found.limit) / found.implicit
        return cls(
            n_states=facts.n_states,
            n_theta=facts.n_theta,
            stiff=facts.stiff,
            learned=facts.n_weights > 0,
            fastest=_fastest(entry),
            work=work,
            accuracy=accuracy,
        )


def _fastest(entry: PlannedProblem) -> float:
    first = next(iter(spans(next(entry.problem.trajectories()))))
    y = np.asarray(first.start_state, dtype=float)
    slopes = np.asarray(first.rhs(first.start, y), dtype=float)
    columns: list[np.ndarray] = []
    for i, size in enumerate(np.maximum(np.abs(y), 1e-3)):
        moved = y.copy()
        moved[i] += 1e-7 * size
        columns.append((np.asarray(first.rhs(first.start, moved), dtype=float) - slopes) / (1e-7 * size))
    return float(np.max(np.abs(np.linalg.eigvals(np.stack(columns, axis=1)).real)))


Allows = Callable[[Traits, Cell, Method], bool]


@dataclass(frozen=True)
class Rule:
    """A published rule. ``allows`` says whether it would take a way of a problem with these traits; ``says`` is the
    rule in words, with what stands here for what this suite's libraries do not have."""

    name: str
    source: str
    says: str
    allows: Allows


def _gradient(cell: Cell, kinds: tuple[str, ...]) -> bool:
    return cell.sensitivity.split("-")[0] in kinds


def _explicit(method: Method, least: int = 1) -> bool:
    return method.adaptive and not method.implicit and method.order >= least


def _implicit(method: Method, families: tuple[str, ...] = ONE_STEP + MULTISTEP, least: int = 1) -> bool:
    return method.adaptive and method.family in families and method.order >= least


def _by_size(traits: Traits) -> tuple[str, ...]:
    """What SciMLSensitivity takes if nobody says otherwise."""
    return FORWARD if traits.n_states + traits.n_theta <= 100 else REVERSE


def _petab(traits: Traits, cell: Cell, method: Method) -> bool:
    if traits.learned:
        return _explicit(method, 5) and _gradient(cell, FORWARD if traits.n_theta <= 75 else ADJOINT)
    small = traits.n_theta <= 20 and traits.n_states <= 15
    medium = traits.n_theta <= 75 and traits.n_states <= 75
    if not _gradient(cell, FORWARD if medium else ADJOINT):
        return False
    if not traits.stiff:
        return _explicit(method, 7)
    return _implicit(method, ONE_STEP, 4) if small else _implicit(method, MULTISTEP if medium else ONE_STEP + MULTISTEP)


def _amici(traits: Traits, cell: Cell, method: Method) -> bool:
    return _gradient(cell, FORWARD if traits.n_theta <= 20 else ADJOINT) and _implicit(
        method, MULTISTEP if traits.n_theta <= 20 else ONE_STEP + MULTISTEP
    )


def _julia(traits: Traits, cell: Cell, method: Method) -> bool:
    tight = traits.accuracy < 1e-6
    if not _gradient(cell, _by_size(traits)):
        return False
    if not _seen_stiff(traits):
        return _explicit(method, 7 if tight else 5)
    return _implicit(method, MULTISTEP if traits.n_states > 50 else ONE_STEP)


def _seen_stiff(traits: Traits) -> bool:
    """Whether a method that looks for stiffness as it goes finds any: ten times the work of an implicit one."""
    return traits.stiff if traits.work is None else traits.work >= 10


def _toolbox(traits: Traits, cell: Cell, method: Method) -> bool:
    implicit = traits.stiff if traits.work is None else traits.work > 6
    return _implicit(method) if implicit else _explicit(method)


def _ferx(traits: Traits, cell: Cell, method: Method) -> bool:
    return _implicit(method, ONE_STEP, 4) if traits.fastest >= 30 else _explicit(method, 5) and method.order == 5


def _gradsolve(traits: Traits, cell: Cell, method: Method) -> bool:
    fits = _implicit(method, ONE_STEP, 4) if traits.stiff else _explicit(method) and method.order == 5
    return fits and _gradient(cell, REPLAYED)


def _diffrax(traits: Traits, cell: Cell, method: Method) -> bool:
    taken = "kvaerno5" if traits.stiff else "tsit5"
    return (cell.adapter, method.name.split("-")[0], cell.sensitivity) == ("diffrax", taken, "checkpointed")


def _lsoda(_traits: Traits, cell: Cell, method: Method) -> bool:
    return cell.adapter == "scipy" and method.family == "multistep"


RULES = (
    Rule(
        "PEtab.jl",
        "https://sebapersson.github.io/PEtab.jl/dev/configuration/default_options",
        "Up to 20 parameters and 15 states a Rosenbrock method and forward differentiation, up to 75 and 75 BDF and "
        "forward, beyond BDF and an adjoint; equations with a network: Tsit5, forward up to 75 parameters, an adjoint "
        "beyond; models that are not stiff: an explicit method of order 7. ESDIRK and Radau stand for Rosenbrock.",
        _petab,
    ),
    Rule(
        "SciMLSensitivity, 100",
        "https://docs.sciml.ai/SciMLSensitivity/stable/manual/differential_equation_sensitivities",
        "Up to 100 states and parameters together forward, beyond reverse; the method is left open.",
        lambda traits, cell, method: _gradient(cell, _by_size(traits)) and method.adaptive,
    ),
    Rule(
        "AMICI, 20",
        "https://doi.org/10.1371/journal.pcbi.1005331",
        "Up to 20 parameters forward, beyond an adjoint; BDF. Where no BDF has an adjoint, other implicit methods.",
        _amici,
    ),
    Rule(
        "Julia's default",
        "https://docs.sciml.ai/DiffEqDocs/stable/solvers/ode_solve",
        "Tsit5, or Vern7 below rtol 1e-6, until stiffness is seen, then a Rosenbrock method, or BDF above 50 states; "
        "the gradient as SciMLSensitivity takes it. Stiffness is seen if an explicit method takes ten times the "
        "evaluations of an implicit one.",
        _julia,
    ),
    Rule(
        "always Tsit5 or Kvaerno5, checkpointed",
        "https://docs.kidger.site/diffrax/usage/how-to-choose-a-solver",
        "Tsit5, or Kvaerno5 on problems that are labelled stiff, with any root finder, and Diffrax's default adjoint.",
        _diffrax,
    ),
    Rule(
        "LSODA",
        "https://docs.scipy.org/doc/scipy/reference/generated/scipy.integrate.solve_ivp.html",
        "SciPy's LSODA, through either interface, with forward sensitivities.",
        _lsoda,
    ),
    Rule(
        "ferx",
        "https://github.com/FeRx-NLME/ferx-core",
        "A Rosenbrock method if |Re λ| is 30 or more at the start, else an explicit method of order 5; the gradient "
        "is left open.",
        _ferx,
    ),
    Rule(
        "ODE-toolbox",
        "https://github.com/nest/ode-toolbox",
        "Implicit if its mean step is more than six times that of an explicit method, told by their evaluations; the "
        "method and the gradient are left open.",
        _toolbox,
    ),
    Rule(
        "gradsolve",
        "https://github.com/ECLIPSE-AI4Science/gradsolve",
        "Rodas5P on problems that are labelled stiff, else Tsit5, by back-propagation through recorded steps. ESDIRK "
        "and Radau stand for Rodas5P.",
        _gradsolve,
    ),
)
