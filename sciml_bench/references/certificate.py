"""Certified references: the agreement of two methods of different families, and the engine's own checks.

The engine solves every problem twice, with different stage counts, arithmetic and meshes; the digits of a certificate
are those that both runs have in common at every saved time. Both look for what might happen between their stages, and
push components that are too small to be followed to opposite sides. A method of another family then confirms the
solution, or an enclosure proves it, to digits which are then those of the certificate: see
:mod:`sciml_bench.references.confirmation.second_method`. Invariants and an exact solution, where the problem declares
them, must agree; published digits are compared and reported.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np
from flint import arb

from sciml_bench.references.attempts import FIELD_FLOOR, LOWER_FLOOR, NEGLIGIBLE, opening_settings, tightened
from sciml_bench.references.computation import Computation, compute
from sciml_bench.references.confirmation.agreement import COMPARE_BITS, FULLY, compare
from sciml_bench.references.confirmation.proof import LIMIT_SHARE, MOST_S
from sciml_bench.references.confirmation.second_method import Confirmation, Disagreement, confirm
from sciml_bench.references.engine.case import LARGE, Case
from sciml_bench.references.engine.dynamics import FloatArray
from sciml_bench.references.engine.events import matching_times
from sciml_bench.references.engine.numbers import decimal, matching_digits, precision
from sciml_bench.references.engine.radau import BLOWS_UP
from sciml_bench.references.failures import LimitReached, ReferenceFailure
from sciml_bench.references.gradient_certificate import (
    CLAIMED_LESS,
    GRADIENT_DIGITS,
    NO_GRADIENT,
    certified_gradient,
    least_gradient_digits,
)
from sciml_bench.references.progress import Say, Watch
from sciml_bench.references.regularity import refuse_singular
from sciml_bench.spec.model import to_double

#: What certified means: one of these two.
ENCLOSED, TWO_METHODS = "enclosed", "two methods agree"
SOLUTION_DIGITS = 20.0
#: Digits of the times of events as they are kept.
TIME_DIGITS = 25
_MARGIN = 1.4
#: Attempts at a certificate, and how many of them may stop on the way.
_ATTEMPTS, _STOPS = 6, 3


@dataclass(frozen=True)
class Certified:
    """A certified solution and gradient.

    ``rows`` (n_times, n_states) with ``row_digits`` of the same shape; ``gradient`` (n_theta,) with
    ``gradient_digits``. Components whose magnitude is below ``negligible`` are zero; so are components of the gradient
    below ``gradient_negligible`` (n_theta,), which is 0 if that says nothing. ``evidence`` lists the comparisons,
    ``seconds`` the processor time it took.
    """

    rows: list[list[arb]]
    row_digits: FloatArray
    negligible: FloatArray
    loss: arb
    loss_digits: float
    gradient: list[arb]
    gradient_digits: FloatArray
    gradient_negligible: FloatArray
    evidence: dict[str, object] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def certify(
    case: Case,
    say: Say = lambda _: None,
    limit_s: float = float("inf"),
    gradients: bool = True,
    every_component: bool = True,
    proof_s: float = MOST_S,
) -> Certified:
    """Compute the reference of a problem with its certificate.

    Args:
        case: the problem.
        say: called with a line of progress now and then.
        limit_s: give up after so much processor time of this process.
        gradients: also certify the gradient of the declared loss.
        every_component: hold every component of the gradient (the extremes of many) against central differences, or,
            without, the whole of it along one random direction.
        proof_s: seconds that the proof of an enclosure may cost, as counted; no more than a share of the limit.

    Raises:
        ReferenceFailure: the solution cannot be followed, or the certificate cannot be given; nothing is certified.
        LimitReached: the limit has passed.
    """
    watch, proof_s = Watch(say, limit_s), min(proof_s, LIMIT_SHARE * limit_s)
    first, second = opening_settings(case)
    digits, parted = np.zeros((1, 1)), 0
    stopped: ReferenceFailure | None = None
    for attempt in range(_ATTEMPTS):
        try:
            a, b = (compute(case, settings, watch, gradients) for settings in (first, second))
        except LimitReached:
            raise
        except ReferenceFailure as failure:
            # A looser run may meet a singularity that a tighter one shows to be none. One that a tighter run has at
            # another time comes from rounding that has grown, or from below the floor.
            if attempt > 0 and (failure.near(stopped) or attempt >= _STOPS):
                raise ReferenceFailure(_why_stopped(failure, stopped), failure.t) from failure
            if attempt == 0:
                first, second = (replace(tightened(s, 2.0, 2.0, 0), floor=FIELD_FLOOR) for s in (first, second))
            else:
                watch.say("the run stopped at another time than the last one; computing again with more digits")
                parted = max(parted + 1, LOWER_FLOOR)
                first, second = (tightened(s, SOLUTION_DIGITS, SOLUTION_DIGITS, parted) for s in (first, second))
            stopped = failure
            continue
        with precision(COMPARE_BITS):
            negligible = 10 * (b.settings.negligible * b.trajectory.largest + _smallest(case, b) * case.scale)
            digits = compare(a.trajectory.saved, b.trajectory.saved, negligible)
        missing, lower = SOLUTION_DIGITS + _MARGIN - float(digits.min()), False
        parted += missing > 0
        if missing <= 0 and gradients and attempt == parted:
            # A component that cancels never has digits: one more attempt is enough to distinguish it from a difficult
            # one.
            missing = followed = GRADIENT_DIGITS + _MARGIN - least_gradient_digits(case, a, b)
        else:
            followed = SOLUTION_DIGITS + _MARGIN - _followed_digits(case, b, digits)
        if missing <= 0:
            try:
                return _certified(case, a, b, digits, negligible, watch, gradients, every_component, proof_s)
            except Disagreement:
                # Both methods may have missed something below their floor, each in its own way.
                if parted >= len(NEGLIGIBLE) - 1 or attempt == _ATTEMPTS - 1:
                    raise
                parted = max(parted + 1, LOWER_FLOOR)
                missing, followed, lower = 0.0, SOLUTION_DIGITS, True
        watch.say(f"{digits.min():.1f} digits agree; computing again with smaller steps")
        first, second = (tightened(s, missing, max(followed, 0.0), parted, lower) for s in (first, second))
    worst = case.problem.state_labels[int(digits.min(axis=0).argmin())]
    raise ReferenceFailure(
        f"no reference is certified for '{case.problem.name}': after {_ATTEMPTS} attempts two computations of the"
        f" solution agree to only {digits.min():.1f} digits, in {worst}"
    )


def _why_stopped(failure: ReferenceFailure, before: ReferenceFailure | None) -> str:
    if before is None or failure.near(before):
        return str(failure)
    return (
        "something too small to be followed decides the solution: two runs with different digits stop at different"
        f" times; the last one: {str(failure).removesuffix(BLOWS_UP)}"
    )


def _followed_digits(case: Case, finest: Computation, digits: FloatArray) -> float:
    """The fewest digits of a value that the steps followed relative to itself; others need a lower floor first."""
    sizes = np.array([[abs(float(y)) for y in row] for row in finest.trajectory.saved])
    return float(np.min(digits[sizes >= finest.settings.floor * case.scale], initial=FULLY))


def _smallest(case: Case, finest: Computation) -> float:
    """The fraction of its declared scale below which a component counts as zero."""
    return min(case.smallest, finest.settings.floor) if case.problem.n_states <= LARGE else case.smallest


def _certified(
    case: Case,
    a: Computation,
    b: Computation,
    digits: FloatArray,
    negligible: FloatArray,
    watch: Watch,
    gradients: bool,
    every_component: bool,
    proof_s: float,
) -> Certified:
    began = time.process_time()
    confirmation = confirm(case, b.trajectory, negligible, watch, proof_s)
    confirmed = time.process_time()
    found = certified_gradient(case, a, b, watch, every_component) if gradients else NO_GRADIENT
    ended = time.process_time()
    claimed = confirmation.proved if confirmation.proved is not None else np.maximum(digits - CLAIMED_LESS, 0.0)
    with precision(COMPARE_BITS):
        rows = [
            [arb(0) if abs(float(x)) <= negligible[i] else x for i, x in enumerate(row)] for row in b.trajectory.saved
        ]
        return Certified(
            rows=rows, row_digits=claimed, negligible=negligible,
            loss=b.derivatives.value, loss_digits=min(matching_digits(a.derivatives.value, b.derivatives.value), FULLY),
            gradient=found.values, gradient_digits=found.digits, gradient_negligible=found.negligible,
            evidence={
                **_evidence(a, b, confirmation), **_events(case, a, b), **_known(case, rows, negligible),
                **found.evidence,
            },
            seconds={
                "solve": round(a.solve_s + b.solve_s, 3), "second_method": round(confirmed - began, 3),
                "adjoint": round(a.adjoint_s + b.adjoint_s, 3), "differences": round(ended - confirmed, 3),
            },
        )  # fmt: skip


def _evidence(a: Computation, b: Computation, confirmation: Confirmation) -> dict[str, object]:
    return {
        "proof": TWO_METHODS if confirmation.proved is None else ENCLOSED, "solution": [a.described(), b.described()],
        "second_method": confirmation.described(),
    }  # fmt: skip


def _events(case: Case, a: Computation, b: Computation) -> dict[str, object]:
    """The events with the digits of their times, against the time span."""
    if case.events is None:
        return {}
    problem, jumps = case.problem, b.trajectory.jumps
    digits = matching_times(a.trajectory.jumps, jumps, to_double(problem.t1) - to_double(problem.t0))
    names = [event.name for event in problem.events]
    shown = [{"name": names[jump.event], "t": decimal(jump.t, TIME_DIGITS)} for _, jump in jumps]
    return {"event_digits": round(min(digits - CLAIMED_LESS, FULLY), 1), "events": shown}


def _known(case: Case, rows: list[list[arb]], negligible: FloatArray) -> dict[str, object]:
    """Invariants and the exact solution; both must hold."""
    evidence: dict[str, object] = {}
    refuse_singular(case.problem, rows)
    invariants = case.invariant_digits([tuple(row) for row in rows], negligible)
    if invariants:
        evidence["invariant_digits"] = {name: round(min(value, 60.0), 1) for name, value in invariants.items()}
    truth = case.exact_rows()
    if truth is not None:
        invariants = {**invariants, "exact solution": float(compare(truth, rows, negligible).min())}
        evidence["exact_solution_digits"] = round(invariants["exact solution"], 1)
    for name, value in invariants.items():
        if value < SOLUTION_DIGITS - 1:
            raise ReferenceFailure(
                f"no reference is certified for '{case.problem.name}': '{name}' holds to only {value:.1f} digits."
                " Check the equations against what the file declares to be invariant or exact."
            )
    return evidence
