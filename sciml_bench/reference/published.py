"""Holds published digits, of solutions and of gradients, against a high-precision computation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flint import arb
from sympy import Expr

from sciml_bench.problem.model import to_double
from sciml_bench.reference.adjoint import gradient
from sciml_bench.reference.case import Case
from sciml_bench.reference.engine import Settings, Trajectory, solve
from sciml_bench.reference.numbers import exact, matching_digits, precision
from sciml_bench.reference.objective import ComponentAt

SETTINGS = Settings(20, 1e-19)
#: Published numbers are rounded: the last digit claimed may differ.
_SLACK = 0.7
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
        """Whether it is as good as it claims to be."""
        return self.found >= self.claimed - _SLACK


def compare_published(case: Case, settings: Settings = SETTINGS) -> list[Agreement]:
    """Compare every published number of a problem with a computation of our own.

    Raises:
        ReferenceFailure: the computation fails.
    """
    problem = case.problem
    blocks = (*problem.published, *problem.published_gradients)
    if not blocks:
        return []
    times = sorted({block.t for block in blocks if block.t > problem.t0}, key=to_double)
    trajectory = solve(
        case.dynamics, case.start, problem.t0, times, settings, keep_steps=bool(problem.published_gradients)
    )
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
