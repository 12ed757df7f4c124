"""Certified references: the agreement of two methods of different families, and the engine's own checks.

The engine solves every problem twice, with different stage counts, arithmetic and meshes; the digits of a certificate
are those that both runs have in common at every saved time. Both look for what might happen between their stages, and
push components that are too small to be followed to opposite sides. A method of another family then confirms the
solution, or an enclosure proves it, to digits which are then those of the certificate: see
:mod:`sciml_bench.references.confirmation.second_method`. The gradient is certified to the digits that central
differences on one mesh and the adjoint on the other have in common, each component by itself; one that all of them hold
to be as small as rounding is next to the loss has none in common, and is zero. Invariants and an exact solution, where
the problem declares them, must agree; published digits are compared and reported.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from flint import arb

from sciml_bench.references.attempts import FIELD_FLOOR, LOWER_FLOOR, NEGLIGIBLE, opening_settings, tightened
from sciml_bench.references.confirmation.agreement import (
    COMPARE_BITS,
    FULLY,
    ROUNDING,
    compare,
    directional_digits,
    gradient_digits,
    slope_digits,
    theta_part,
)
from sciml_bench.references.confirmation.differences import central_differences
from sciml_bench.references.confirmation.event_checks import separate_differences
from sciml_bench.references.confirmation.proof import LIMIT_SHARE, MOST_S
from sciml_bench.references.confirmation.second_method import Confirmation, Disagreement, confirm
from sciml_bench.references.engine.adjoint import Derivatives, gradient
from sciml_bench.references.engine.case import LARGE, Case
from sciml_bench.references.engine.dynamics import FloatArray
from sciml_bench.references.engine.events import matching_times
from sciml_bench.references.engine.numbers import decimal, matching_digits, precision
from sciml_bench.references.engine.radau import BLOWS_UP, solve
from sciml_bench.references.engine.trajectory import Settings, Trajectory
from sciml_bench.references.failures import LimitReached, ReferenceFailure
from sciml_bench.references.progress import Say, Watch
from sciml_bench.references.regularity import refuse_singular
from sciml_bench.spec.model import to_double

#: What certified means: one of these two.
ENCLOSED, TWO_METHODS = "enclosed", "two methods agree"
SOLUTION_DIGITS = 20.0
GRADIENT_DIGITS = 12.0
#: Up to this many components of theta are differenced one by one; of more, the largest and the smallest ones, and
#: random directions.
SINGLE_DIRECTIONS = 200
RANDOM_DIRECTIONS = 8
#: Digits of the times of events as they are kept.
TIME_DIGITS = 25
EXTREMES = 2
SEED = 20_001
#: Two computations differ by the sum of their errors; either may have most of it.
_CLAIMED_LESS = 1.0
_MARGIN = 1.4
#: Attempts at a certificate, and how many of them may stop on the way.
_ATTEMPTS, _STOPS = 6, 3
#: Against the loss, derivatives this small are below the noise of the differences; the adjoint follows them still.
_BELOW_DIFFERENCES, _NOISE = 1e-9, 1e-21


@dataclass(frozen=True)
class Computation:
    """One trajectory, its gradient by the adjoint, and the time each took."""

    settings: Settings
    trajectory: Trajectory
    solve_s: float
    derivatives: Derivatives
    adjoint_s: float


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


@dataclass(frozen=True)
class _Gradient:
    """Values, digits, and the magnitudes below which components are zero; all of shape (n_theta,)."""

    values: list[arb]
    digits: FloatArray
    negligible: FloatArray


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
            missing = followed = GRADIENT_DIGITS + _MARGIN - _least_gradient_digits(case, a, b)
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


def compute(case: Case, settings: Settings, watch: Watch, gradients: bool) -> Computation:
    """One solution, and the gradient of the loss by the adjoint on its mesh."""
    problem, name = case.problem, f"{settings.stages} stages"
    began = time.process_time()
    trajectory = solve(
        case.dynamics, case.start, problem.t0, problem.save_times, settings, gradients, watch.during(f"{name}, t"),
        case.events,
    )  # fmt: skip
    solved = time.process_time()
    if gradients:
        adjoint = watch.during(f"{name}, adjoint, t")
        derivatives = gradient(trajectory, case.start, case.objective, adjoint, case.events)
    else:
        with precision(settings.bits):
            derivatives = Derivatives(case.objective.value(trajectory.saved, case.start.p), (), ())
    return Computation(settings, trajectory, solved - began, derivatives, time.process_time() - solved)


def _adjoint_digits(case: Case, a: Computation, b: Computation) -> FloatArray:
    pair = theta_part(case, a.derivatives), theta_part(case, b.derivatives)
    with precision(COMPARE_BITS):
        digits = gradient_digits(*pair)
    if a.derivatives.lost or b.derivatives.lost:
        digits[[x == 0 and y == 0 for x, y in zip(*pair, strict=True)]] = 0.0
    return digits


def _least_gradient_digits(case: Case, a: Computation, b: Computation) -> float:
    """The fewest digits of a component by the adjoint on both meshes; components as small as rounding do not count."""
    digits, loss = _adjoint_digits(case, a, b), abs(b.derivatives.value)
    with precision(COMPARE_BITS):
        pairs = zip(theta_part(case, a.derivatives), theta_part(case, b.derivatives), case.theta_sizes, strict=True)
        counted = [max(abs(x), abs(y)) * size > ROUNDING * loss for x, y, size in pairs]
    return float(np.min(digits[counted], initial=FULLY))


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
    found, evidence = _Gradient([], np.zeros(0), np.zeros(0)), {}
    if gradients:
        found, evidence = _certified_gradient(case, a, b, watch, every_component)
    ended = time.process_time()
    claimed = confirmation.proved if confirmation.proved is not None else np.maximum(digits - _CLAIMED_LESS, 0.0)
    with precision(COMPARE_BITS):
        rows = [
            [arb(0) if abs(float(x)) <= negligible[i] else x for i, x in enumerate(row)] for row in b.trajectory.saved
        ]
        return Certified(
            rows=rows, row_digits=claimed, negligible=negligible,
            loss=b.derivatives.value, loss_digits=min(matching_digits(a.derivatives.value, b.derivatives.value), FULLY),
            gradient=found.values, gradient_digits=found.digits, gradient_negligible=found.negligible,
            evidence={
                **_evidence(a, b, confirmation), **_events(case, a, b), **_known(case, rows, negligible), **evidence,
            },
            seconds={
                "solve": round(a.solve_s + b.solve_s, 3), "second_method": round(confirmed - began, 3),
                "adjoint": round(a.adjoint_s + b.adjoint_s, 3), "differences": round(ended - confirmed, 3),
            },
        )  # fmt: skip


def _evidence(a: Computation, b: Computation, confirmation: Confirmation) -> dict[str, object]:
    return {
        "proof": TWO_METHODS if confirmation.proved is None else ENCLOSED, "solution": [_described(a), _described(b)],
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
    return {"event_digits": round(min(digits - _CLAIMED_LESS, FULLY), 1), "events": shown}


def _described(computation: Computation) -> dict[str, object]:
    settings, trajectory = computation.settings, computation.trajectory
    return {
        "method": "Radau IIA", "stages": settings.stages, "tail": settings.tail, "arithmetic_digits": settings.digits,
        "floor": settings.floor, "negligible": settings.negligible, "steps": trajectory.n_steps,
        "rejected_steps": trajectory.n_rejected, "newton_iterations": trajectory.n_iterations,
    }  # fmt: skip


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


def _certified_gradient(
    case: Case, a: Computation, b: Computation, watch: Watch, every_component: bool
) -> tuple[_Gradient, dict[str, object]]:
    """Central differences on the second mesh against the adjoint on the first, component by component."""
    adjoint_digits = _adjoint_digits(case, a, b)
    fine = list(theta_part(case, b.derivatives))
    units = case.unit_directions() if every_component else []
    single = every_component and len(units) <= SINGLE_DIRECTIONS
    chosen = list(range(len(units))) if single else _extremes(case, fine) if every_component else []
    directions = [units[i] for i in chosen]
    if not single:
        directions += case.random_directions(RANDOM_DIRECTIONS if every_component else 1, SEED)
    watch.say(f"central differences along {len(directions)} directions")
    progress = watch.during("central differences, t")
    if case.events is None:
        found = central_differences(case.dynamics, b.trajectory, case.start, directions, case.objective, progress)
    else:
        found = separate_differences(case, b.trajectory, directions)
    with precision(COMPARE_BITS):
        coarse, loss = theta_part(case, a.derivatives), b.derivatives.value
        largest = [max(abs(x), abs(y)) for x, y in zip(coarse, fine, strict=True)]
        digits, by_adjoint = adjoint_digits.copy(), []
        for i, along in zip(chosen, found, strict=False):
            value = along.value / case.theta_sizes[i]
            largest[i] = max(largest[i], abs(value))
            # A component that is zero in both is zero only if nothing was lost on the way.
            none = coarse[i] == 0 and value == 0
            matching = adjoint_digits[i] if none else float(gradient_digits([coarse[i]], [value])[0])
            if matching >= GRADIENT_DIGITS:
                digits[i] = min(digits[i], matching) if not single else matching
                fine[i] = value if single else fine[i]
            elif digits[i] >= GRADIENT_DIGITS + _CLAIMED_LESS and _is_below_differences(case, i, fine[i], value, loss):
                by_adjoint.append(case.problem.theta_labels[i])
            else:
                digits[i] = 0.0
        kinked = [i for i, along in zip(chosen, found, strict=False) if along.kinked]
        # Neither the adjoint nor differences on one mesh see a jump move.
        jumping = [i for i, label in enumerate(case.problem.theta_labels) if label in case.jump_movers]
        evidence: dict[str, object] = {
            "method": "central differences on the second mesh, adjoint on the first"
            if case.events is None
            else "central differences of separate solutions, adjoint with the jumps of the events",
            "directions": len(directions),
            "kind": "components of theta"
            if single
            else f"random, seed {SEED}" + (", and the largest and smallest components" if chosen else ""),
        }  # fmt: skip
        if not single:
            agreement = min(
                directional_digits(case, along.direction, along.value, fine, loss) for along in found[len(chosen) :]
            )
            evidence["directional_digits"] = round(agreement, 1)
            if agreement < GRADIENT_DIGITS:
                raise ReferenceFailure(
                    f"no gradient is certified for '{case.problem.name}': along random directions central differences"
                    f" and the adjoint agree to only {agreement:.1f} digits"
                )
            if any(along.kinked for along in found[len(chosen) :]):
                raise ReferenceFailure(
                    f"no gradient is certified for '{case.problem.name}': the loss has a kink at these values of theta,"
                    " so that its derivatives to either side differ; look for abs, max, min and where"
                )
        if by_adjoint:
            evidence["by_the_adjoint_on_both_meshes_alone"] = by_adjoint
        determined = slope_digits(case, b.trajectory.saved, b.trajectory.largest)
        digits = _or_none(digits) if determined >= GRADIENT_DIGITS else np.zeros_like(digits)
        digits[[*kinked, *jumping]] = 0.0
        rounding = np.array([float(ROUNDING * abs(loss) / size) for size in case.theta_sizes])
        # A component that is exactly zero on both meshes and has no digits was lost on the way.
        zero = (digits == 0) & [bool(0 < one <= least) for one, least in zip(largest, rounding, strict=True)]
        zero[[*kinked, *jumping]] = False
        fine = [arb(0) if none else value for none, value in zip(zero, fine, strict=True)]
        digits, negligible = np.where(zero, FULLY - _CLAIMED_LESS, digits), np.where(zero, rounding, 0.0)
        if np.any(zero):
            evidence["zero_but_for_rounding"] = [case.problem.theta_labels[i] for i in np.flatnonzero(zero)]
        if kinked:
            # To either side the derivatives differ.
            evidence["kinks"] = [case.problem.theta_labels[i] for i in kinked]
        if jumping:
            evidence["jumps"] = list(case.jump_movers)
        uncertified = [label for label, good in zip(case.problem.theta_labels, digits, strict=True) if good == 0]
        if uncertified:
            evidence["uncertified"] = uncertified
    return _Gradient(fine, digits, negligible), {"gradient": evidence}


def _or_none(digits: FloatArray) -> FloatArray:
    """Digits of components that have enough of them, 0 for the others."""
    return np.where(digits >= GRADIENT_DIGITS + _CLAIMED_LESS, digits - _CLAIMED_LESS, 0.0)


def _extremes(case: Case, gradient_values: Sequence[arb]) -> list[int]:
    """The components with the largest and the smallest derivatives, relative to the size of their parameters."""
    sizes = [float(abs(g) * size) for g, size in zip(gradient_values, case.theta_sizes, strict=True)]
    order = [i for i in np.argsort(sizes).tolist() if sizes[i] > 0]
    return sorted({*order[:EXTREMES], *order[-EXTREMES:]})


def _is_below_differences(case: Case, i: int, adjoint: arb, difference: arb, loss: arb) -> bool:
    """Return whether a derivative is too small against the loss to be seen beyond the agreement of differences."""
    size = case.theta_sizes[i]
    noise = abs(adjoint - difference) * size
    return bool(abs(adjoint) * size <= _BELOW_DIFFERENCES * abs(loss)) and bool(noise <= _NOISE * abs(loss))
