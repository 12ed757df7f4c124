"""Holds a stored reference against a new computation that shares neither stage count nor mesh with it.

Published digits of the problem are held against the same engine, at the times at which they were published.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import arb

from sciml_bench.errors import StoreError
from sciml_bench.reference.case import Case
from sciml_bench.reference.certificate import (
    GRADIENT_DIGITS,
    SEED,
    SOLUTION_DIGITS,
    Computation,
    Say,
    Watch,
    compare,
    compute,
    directional_digits,
    gradient_digits,
    theta_part,
)
from sciml_bench.reference.differences import central_differences
from sciml_bench.reference.engine import Settings
from sciml_bench.reference.numbers import precision
from sciml_bench.reference.published import compare_published
from sciml_bench.reference.store import StoredReference

#: A new computation is itself only good to about its own last digit.
_SLACK = 1.0
_COMPARE_BITS = 256
_MORE_STAGES = 3
_FINER = 0.1


@dataclass(frozen=True)
class Check:
    """What a check found: ``complaints`` is empty when it passed."""

    solution_digits: float
    gradient_digits: float | None
    complaints: tuple[str, ...]
    stages: int
    steps: int


def check(case: Case, stored: StoredReference, say: Say = lambda _: None, limit_s: float = float("inf")) -> Check:
    """Compute a problem at other settings and compare every stored number.

    Raises:
        ReferenceFailure: the new computation fails or passes the limit.
        StoreError: the certificate does not say how it was computed.
    """
    watch = Watch(say, limit_s, case)
    again = compute(case, _other_settings(stored), watch, bool(stored.gradient))
    with precision(_COMPARE_BITS):
        rows = [[arb(value) for value in row] for row in stored.solution]
        digits = compare(again.trajectory.saved, rows, np.array(stored.negligible))
        complaints = _solution_complaints(case, stored, digits)
        agreement = None
        if stored.gradient:
            theta = [arb(value) for value in stored.gradient]
            matching = gradient_digits(case, theta_part(case, again.derivatives), theta, again.derivatives.value)
            for label, found, claimed in zip(stored.theta, matching, stored.gradient_digits, strict=True):
                if found < min(claimed, SOLUTION_DIGITS) - _SLACK:
                    complaints.append(f"d loss / d {label} agrees to {found:.1f} digits, {claimed:.1f} are claimed")
            agreement = float(matching.min())
    if stored.gradient:
        complaints += _difference_complaints(case, stored, again, watch)
    for published in compare_published(case):
        if not published.holds:
            complaints.append(
                f"published {published.what} agrees to {published.found:.1f} digits, {published.claimed:g} are claimed"
                f" ({published.source})"
            )
    return Check(float(digits.min()), agreement, tuple(complaints), again.settings.stages, again.trajectory.n_steps)


def _other_settings(stored: StoredReference) -> Settings:
    try:
        runs = stored.certificate["solution"]
        finest = min(runs, key=lambda run: run["tail"])
        stages = max(run["stages"] for run in runs) + _MORE_STAGES
        return Settings(stages, finest["tail"] * _FINER, finest["arithmetic_digits"] + 10, finest["floor"] * _FINER)
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(
            f"the certificate of {stored.problem} does not say how it was computed ({error!r}); "
            f"compute it again with `{stored.command}`"
        ) from error


def _solution_complaints(case: Case, stored: StoredReference, digits: np.ndarray) -> list[str]:
    complaints: list[str] = []
    for i, claimed in enumerate(stored.solution_digits):
        worst = int(digits[:, i].argmin())
        if digits[worst, i] < min(claimed, SOLUTION_DIGITS) - _SLACK:
            label, time = case.problem.state_labels[i], stored.times[worst]
            found = f"{label} at t = {time} agrees to {digits[worst, i]:.1f} digits"
            complaints.append(f"{found}, {claimed:.1f} are claimed")
    return complaints


def _difference_complaints(case: Case, stored: StoredReference, again: Computation, watch: Watch) -> list[str]:
    """The stored gradient against central differences along one random direction on the new mesh."""
    found = central_differences(
        case.dynamics,
        again.trajectory,
        case.start,
        case.random_directions(1, SEED + 1),
        case.objective,
        watch.during("differences, t"),
    )[0]
    with precision(_COMPARE_BITS):
        theta = [arb(value) for value in stored.gradient]
        digits = directional_digits(case, found.direction, found.value, theta, again.derivatives.value)
    if digits >= GRADIENT_DIGITS - _SLACK:
        return []
    return [f"the gradient along {found.direction.label} agrees with central differences to {digits:.1f} digits"]
