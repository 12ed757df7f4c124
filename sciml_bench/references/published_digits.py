"""Holds published digits, of solutions and of gradients, against a high-precision computation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flint import arb
from sympy import Expr

from sciml_bench.references.engine.adjoint import gradient
from sciml_bench.references.engine.case import LARGE, Case
from sciml_bench.references.engine.numbers import exact, matching_digits, precision
from sciml_bench.references.engine.objective import ComponentAt
from sciml_bench.references.engine.radau import solve
from sciml_bench.references.engine.trajectory import Settings, Trajectory
from sciml_bench.spec.model import to_double

SETTINGS = Settings(20, 1e-19)

FIELD_SETTINGS = Settings(20, 1e-19, 48, 1e-12)

#: Published numbers are rounded: the last digit claimed may differ.
_PUBLISHED_SLACK = 0.7

_COMPARE_BITS = 256


@dataclass(frozen=True)
class Agreement:
    """One published number and how many digits of it are right."""

    what: str
    source: str
    claimed: float
    found: float

    @property
    def holds(self) -> bool:
        """Return whether it is as good as it claims to be."""
        return self.found >= self.claimed - _PUBLISHED_SLACK


def compare_published(
    case: Case, settings: Settings | None = None, computed: Trajectory | None = None
) -> list[Agreement]:
    """Compare every published number of a problem with a computation of our own.

    Args:
        case: the problem.
        settings: of the computation.
        computed: a trajectory over the saved times, its steps kept, that is compared where it holds all times that are
            needed. Another is computed where it does not bear a published number out.

    Raises:
        ReferenceFailure: the computation fails.
    """
    problem = case.problem
    blocks = (*problem.published, *problem.published_gradients)
    times = sorted({block.t for block in blocks if block.t > problem.t0}, key=to_double)
    if not blocks:
        return []
    if computed is not None and set(times) <= set(problem.save_times):
        found = _compared(case, list(problem.save_times), computed)
        if all(agreement.holds for agreement in found):
            return found
    settings = settings or (FIELD_SETTINGS if problem.n_states > LARGE else SETTINGS)
    trajectory = solve(
        case.dynamics, case.start, problem.t0, times, settings, keep_steps=bool(problem.published_gradients)
    )
    return _compared(case, times, trajectory)


def _compared(case: Case, times: list[Expr], trajectory: Trajectory) -> list[Agreement]:
    with precision(_COMPARE_BITS):
        return [*_solutions(case, times, trajectory), *_gradients(case, times, trajectory)]


def _solutions(case: Case, times: list[Expr], trajectory: Trajectory) -> Iterator[Agreement]:
    problem = case.problem
    place = {label: i for i, label in enumerate(problem.state_labels)}
    for block in problem.published:
        if block.t not in times:
            continue
        row = trajectory.saved[times.index(block.t)]
        for label, (value, digits) in block.values.items():
            yield _agreement(f"{label}({block.t})", block.source, digits, value, row[place[label]])


def _gradients(case: Case, times: list[Expr], trajectory: Trajectory) -> Iterator[Agreement]:
    problem = case.problem
    place = {label: i for i, label in enumerate(problem.state_labels)}
    for block in problem.published_gradients:
        objective = ComponentAt(place[block.of], times.index(block.t))
        found = gradient(trajectory, case.start, objective)
        derivatives = dict(zip(problem.parameter_labels, found.p, strict=True))
        derivatives |= {f"{label}(0)": value for label, value in zip(problem.state_labels, found.y0, strict=True)}
        for label, (value, digits) in block.values.items():
            what = f"d {block.of}({block.t}) / d {label}"
            yield _agreement(what, block.source, digits, value, derivatives[label])


def _agreement(what: str, source: str, claimed: float, published: Expr, computed: arb) -> Agreement:
    value = exact(published)
    if value == 0:
        # A published zero claims that the value is negligible against one unit of its digits.
        found = claimed if abs(float(computed)) < 10.0**-claimed else 0.0
        return Agreement(what, source, claimed, found)
    return Agreement(what, source, claimed, matching_digits(value, computed))
