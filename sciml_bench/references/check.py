"""Holds a stored reference against a new computation that shares neither stage count nor mesh with it.

Every number of the file is computed again, of every trajectory of a batch: the solution, and the gradient by the
adjoint, which central differences along a random direction confirm. Published digits of the problem are compared with
the same engine, at the times at which they were published.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb
from sympy import Expr

from sciml_bench.errors import StoreError
from sciml_bench.references.certificate import GRADIENT_DIGITS, SEED, Computation, compute
from sciml_bench.references.confirmation.agreement import (
    COMPARE_BITS,
    FULLY,
    compare,
    directional_digits,
    gradient_digits,
    theta_part,
)
from sciml_bench.references.confirmation.differences import central_differences
from sciml_bench.references.confirmation.event_checks import separate_differences
from sciml_bench.references.engine.adjoint import gradient
from sciml_bench.references.engine.case import LARGE, Case
from sciml_bench.references.engine.dynamics import FloatArray
from sciml_bench.references.engine.numbers import exact, matching_digits, precision
from sciml_bench.references.engine.objective import ComponentAt
from sciml_bench.references.engine.radau import Settings, Trajectory, solve
from sciml_bench.references.progress import Say, Watch
from sciml_bench.references.store import StoredReference
from sciml_bench.spec.model import Problem, to_double

# Holds published digits, of solutions and of gradients, against a high-precision computation.

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


#: Digits that are confirmed, of a solution and of a gradient: as many as double precision has, in which they are used.
CHECKED_DIGITS = 16.0
_SLACK = 1.0
#: Digits of the arithmetic, at least; and beyond those of the looser run, whose number may be needed.
_DIGITS, _MORE_DIGITS = 48, 3
#: A gradient that is zero but for rounding may be so many times as large in another computation.
_SEVERAL = 10.0


@dataclass(frozen=True)
class Check:
    """The result of a check: ``complaints`` is empty if it passed."""

    solution_digits: float
    gradient_digits: float | None
    complaints: tuple[str, ...]
    stages: int
    steps: int


def check(problem: Problem, stored: StoredReference, say: Say = lambda _: None, limit_s: float = float("inf")) -> Check:
    """Compute a problem at other settings and compare every stored number.

    Raises:
        ReferenceFailure: the new computation fails or passes the limit.
        StoreError: the certificate does not say how it was computed.
    """
    watch = Watch(say, limit_s)
    n, first = problem.n_states, None
    worst: list[FloatArray] = []
    gradients: list[Sequence[arb]] = []
    complaints: list[str] = []
    steps = stages = 0
    published: list[Agreement] = []
    for index, trajectory in enumerate(problem.trajectories()):
        case = Case(trajectory, like=first)
        first = first or case
        again = compute(case, _other_settings(stored), watch, bool(stored.gradient))
        stages, steps = again.settings.stages, steps + again.trajectory.n_steps
        part = slice(index * n, index * n + n)
        with precision(COMPARE_BITS):
            rows = [[arb(value) for value in row[part]] for row in stored.solution]
            digits = compare(again.trajectory.saved, rows, np.array(stored.negligible[part]))
        worst.append(digits.min(axis=0))
        complaints += _solution_complaints(stored, digits, part)
        if index == 0:
            published = compare_published(case, computed=again.trajectory if stored.gradient else None)
        if stored.gradient:
            gradients.append(theta_part(case, again.derivatives))
            if index == problem.batch.size - 1:
                complaints += _difference_complaints(case, again, watch)
    agreement = None
    if stored.gradient:
        agreement, found = _gradient_complaints(stored, gradients)
        complaints += found
    complaints += [
        f"published {one.what} agrees to {one.found:.1f} digits, {one.claimed:g} are claimed ({one.source})"
        for one in published
        if not one.holds
    ]
    return Check(float(np.min(np.concatenate(worst))), agreement, tuple(complaints), stages, steps)


def _other_settings(stored: StoredReference) -> Settings:
    """A stage count and an arithmetic that the certificate has not; its floors; as loose as 16 digits allow."""
    try:
        runs = stored.certificate["solution"]
        used = {run["stages"] for run in runs}
        floor = min(run["floor"] for run in runs)
        negligible = min(run.get("negligible", 1e-30) for run in runs)
        tail = max(run["tail"] for run in runs)
        digits = max(_DIGITS, min(run["arithmetic_digits"] for run in runs) + _MORE_DIGITS)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(
            f"the certificate of {stored.problem} does not say how it was computed ({error!r}); "
            f"compute it again with `{stored.command}`"
        ) from error
    stages = 16
    while stages in used:
        stages += 1
    return Settings(stages, tail, digits, floor, negligible)


def _solution_complaints(stored: StoredReference, digits: FloatArray, part: slice) -> list[str]:
    complaints: list[str] = []
    labels, claims = stored.states[part], stored.solution_digits[part]
    for i, (label, claimed) in enumerate(zip(labels, claims, strict=True)):
        worst = int(digits[:, i].argmin())
        if digits[worst, i] < min(claimed, CHECKED_DIGITS) - _SLACK:
            found = f"{label} at t = {stored.times[worst]} agrees to {digits[worst, i]:.1f} digits"
            complaints.append(f"{found}, {claimed:.1f} are claimed")
    return complaints


def _gradient_complaints(stored: StoredReference, gradients: Sequence[Sequence[arb]]) -> tuple[float, list[str]]:
    """The stored gradient against the sum over all trajectories; uncertified components are left out."""
    with precision(COMPARE_BITS):
        again = [sum(column, arb(0)).mid() for column in zip(*gradients, strict=True)]
        matching = gradient_digits(again, [arb(value) for value in stored.gradient])
        for i, least in enumerate(stored.gradient_negligible):
            # Two values below rounding have no digits in common, and agree that there is nothing.
            if least > 0:
                matching[i] = FULLY if abs(again[i]) <= _SEVERAL * least else 0.0
    complaints: list[str] = []
    certified = [found for found, claimed in zip(matching, stored.gradient_digits, strict=True) if claimed > 0]
    for label, found, claimed in zip(stored.theta, matching, stored.gradient_digits, strict=True):
        if found < min(claimed, CHECKED_DIGITS) - _SLACK:
            complaints.append(f"d loss / d {label} agrees to {found:.1f} digits, {claimed:.1f} are claimed")
    return min(map(float, certified), default=0.0), complaints


def _difference_complaints(case: Case, again: Computation, watch: Watch) -> list[str]:
    """The new adjoint against central differences along one random direction on the new mesh."""
    directions = case.random_directions(1, SEED + 1)
    if case.events is None:
        (found,) = central_differences(
            case.dynamics, again.trajectory, case.start, directions, case.objective, watch.during("differences, t")
        )
    else:
        (found,) = separate_differences(case, again.trajectory, directions)
    with precision(COMPARE_BITS):
        gradient, loss = theta_part(case, again.derivatives), again.derivatives.value
        digits = directional_digits(case, found.direction, found.value, gradient, loss)
    if digits >= GRADIENT_DIGITS - _SLACK:
        return []
    return [f"the gradient along {found.direction.label} agrees with central differences to {digits:.1f} digits"]
