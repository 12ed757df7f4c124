"""Holds a stored reference against a new computation that shares neither stage count nor mesh with it.

Every number of the file is computed again, of every trajectory of a batch: the solution, and the gradient by the
adjoint, which central differences along a random direction confirm. Published digits of the problem are compared with
the same engine, at the times at which they were published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from flint import arb

from sciml_bench.errors import StoreError
from sciml_bench.references.computation import Computation, compute
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
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.dynamics import FloatArray
from sciml_bench.references.engine.numbers import precision
from sciml_bench.references.engine.trajectory import Settings
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.references.gradient_certificate import GRADIENT_DIGITS, SEED
from sciml_bench.references.progress import Say, Watch
from sciml_bench.references.published_digits import Agreement, compare_published
from sciml_bench.references.store import StoredReference
from sciml_bench.spec.model import Problem

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
    watch, settings = Watch(say, limit_s), _other_settings(stored)
    again = _compared(problem, stored, settings, watch)
    if not again.complaints:
        return again
    # The steps of a solution may be too long for its gradient, and too long to see what happens between their stages.
    watch.say(f"{again.complaints[0]}; computing again on a mesh that resolves it")
    try:
        return _compared(problem, stored, replace(settings, resolved=True), watch)
    except ReferenceFailure:
        return again


def _compared(problem: Problem, stored: StoredReference, settings: Settings, watch: Watch) -> Check:
    n, first = problem.n_states, None
    worst: list[FloatArray] = []
    gradients: list[Sequence[arb]] = []
    complaints: list[str] = []
    steps = 0
    published: list[Agreement] = []
    for index, trajectory in enumerate(problem.trajectories()):
        case = Case(trajectory, like=first)
        first = first or case
        again = compute(case, settings, watch, bool(stored.gradient))
        steps += again.trajectory.n_steps
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
    return Check(float(np.min(np.concatenate(worst))), agreement, tuple(complaints), settings.stages, steps)


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
            case.dynamics, again.trajectory, case.start, directions, case.objective,
            watch.during("differences, t"), kinks=False,
        )  # fmt: skip
    else:
        (found,) = separate_differences(case, again.trajectory, directions)
    with precision(COMPARE_BITS):
        gradient, loss = theta_part(case, again.derivatives), again.derivatives.value
        digits = directional_digits(case, found.direction, found.value, gradient, loss)
    if digits >= GRADIENT_DIGITS - _SLACK:
        return []
    return [f"the gradient along {found.direction.label} agrees with central differences to {digits:.1f} digits"]
