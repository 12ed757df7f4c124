"""Certified references: computed twice with different stage counts and meshes, and held against all that is known.

The solution is certified to the digits that two computations have in common at every saved time. The gradient is
certified to the digits that central differences on one mesh and the adjoint on the other have in common. Invariants
and an exact solution, where the problem declares them, must agree; published digits are compared and reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from flint import arb

from sciml_bench.reference.adjoint import Derivatives, gradient
from sciml_bench.reference.case import LARGE, Case
from sciml_bench.reference.differences import Direction, central_differences
from sciml_bench.reference.dynamics import FloatArray
from sciml_bench.reference.engine import NEGLIGIBLE, Settings, Trajectory, solve
from sciml_bench.reference.failure import LimitReached, ReferenceFailure
from sciml_bench.reference.numbers import exact, matching_digits, precision

SOLUTION_DIGITS = 20.0
GRADIENT_DIGITS = 12.0
#: Up to this many components of theta are differenced one by one; more along random directions.
SINGLE_DIRECTIONS = 30
RANDOM_DIRECTIONS = 8
SEED = 20_001
_MARGIN = 0.4
#: Components of a field share their units: small ones need not be followed as closely as large ones at first.
_FIELD_FLOOR = 1e-6
_ATTEMPTS = 6
_COMPARE_BITS = 256
#: Digits of two values that are both negligible.
_FULLY = 32.0
#: A derivative this small against the loss, whose digits do not agree, is zero.
_ZERO_DERIVATIVE = 1e-18

Say = Callable[[str], object]


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
    ``gradient_digits``. Components whose magnitude is below ``negligible`` are zero. ``evidence`` says what was
    compared, ``seconds`` the processor time it took.
    """

    rows: list[list[arb]]
    row_digits: FloatArray
    negligible: FloatArray
    loss: arb
    loss_digits: float
    gradient: list[arb]
    gradient_digits: FloatArray
    evidence: dict[str, object] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


def certify(
    case: Case,
    say: Say = lambda _: None,
    limit_s: float = float("inf"),
    gradients: bool = True,
    differences: bool = True,
) -> Certified:
    """Compute the reference of a problem with its certificate.

    Args:
        case: the problem.
        say: called with a line of progress now and then.
        limit_s: give up when the computation has taken longer, in processor time of this process.
        gradients: also certify the gradient of the declared loss.
        differences: hold that gradient against central differences, beside the adjoint on two meshes.

    Raises:
        ReferenceFailure: the solution cannot be followed, or the certificate cannot be given; nothing is certified.
    """
    watch = Watch(say, limit_s, case)
    first, second = opening_settings(case)
    digits = np.zeros((1, 1))
    for attempt in range(_ATTEMPTS):
        try:
            a, b = (compute(case, settings, watch, gradients) for settings in (first, second))
        except LimitReached:
            raise
        except ReferenceFailure:
            # A looser run may meet a singularity that a tighter one shows to be none.
            if attempt > 0:
                raise
            first, second = (replace(_tightened(s, 2.0), floor=_FIELD_FLOOR) for s in (first, second))
            continue
        with precision(_COMPARE_BITS):
            negligible = 10 * (NEGLIGIBLE * b.trajectory.largest + case.smallest * case.scale)
            digits = compare(a.trajectory.saved, b.trajectory.saved, negligible)
        missing = SOLUTION_DIGITS + _MARGIN - float(digits.min())
        if missing <= 0 and gradients:
            rough = _adjoint_digits(case, a, b)
            missing = GRADIENT_DIGITS + 1 + _MARGIN - float(rough.min())
        if missing <= 0:
            return _certified(case, a, b, digits, negligible, watch, gradients, differences)
        watch.say(f"{digits.min():.1f} digits agree; computing again with smaller steps")
        first, second = _tightened(first, missing), _tightened(second, missing)
    raise ReferenceFailure(
        f"no reference is certified for '{case.problem.name}': after {_ATTEMPTS} attempts two computations agree to"
        f" {digits.min():.1f} digits only"
    )


def opening_settings(case: Case) -> tuple[Settings, Settings]:
    """The first pair of settings, in different arithmetic too, so that nothing is rounded alike.

    Many unknowns get fewer stages, because there the linear algebra is the cost.
    """
    if case.problem.n_states > LARGE:
        return Settings(12, 1e-15, 38, _FIELD_FLOOR), Settings(15, 1e-16, 45, _FIELD_FLOOR)
    return Settings(18, 5e-19), Settings(22, 2e-19, 45)


def _tightened(settings: Settings, missing: float) -> Settings:
    """Settings for more digits: the tail of a step's polynomial buys a little more than its own size."""
    return replace(
        settings,
        stages=settings.stages + (2 if missing > 2 else 0),
        tail=settings.tail * 10 ** -(0.7 * min(missing, 12.0) + 0.3),
        digits=settings.digits + (19 if settings.digits < 57 else 10),
        floor=settings.floor * 10**-missing,
    )


class Watch:
    """Progress on the way, and a limit of processor time: what others do on the machine does not count."""

    def __init__(self, say: Say, limit_s: float, case: Case):
        self.say, self.limit_s = say, limit_s
        self.t0, self.t1 = (float(exact(value)) for value in (case.problem.t0, case.problem.t1))
        self.started = self.spoken = time.process_time()

    def during(self, what: str) -> Callable[..., None]:
        """A progress callback that speaks every two seconds and enforces the limit."""

        def progress(at: float, steps: int = 0) -> None:
            now = time.process_time()
            if now - self.started > self.limit_s:
                limit = f"its limit of {self.limit_s:.4g} s of processor time"
                raise LimitReached(f"the reference was given up at {limit} ({what} = {at:.6g})")
            if now - self.spoken > 2.0:
                self.spoken = now
                self.say(f"{what}: {at:.6g}" + (f", {steps} steps" if steps else ""))

        return progress


def compute(case: Case, settings: Settings, watch: Watch, gradients: bool) -> Computation:
    """One solution, and the gradient of the loss by the adjoint on its mesh."""
    problem, name = case.problem, f"{settings.stages} stages"
    began = time.process_time()
    trajectory = solve(
        case.dynamics, case.start, problem.t0, problem.save_times, settings, gradients, watch.during(f"{name}, t")
    )
    solved = time.process_time()
    if gradients:
        derivatives = gradient(trajectory, case.start, case.objective, watch.during(f"{name}, adjoint, t"))
    else:
        with precision(settings.bits):
            derivatives = Derivatives(case.objective.value(trajectory.saved, case.start.p), (), ())
    return Computation(settings, trajectory, solved - began, derivatives, time.process_time() - solved)


def compare(a: Sequence[Sequence[arb]], b: Sequence[Sequence[arb]], negligible: FloatArray) -> FloatArray:
    """Matching digits of two solutions, shape (n_times, n_states); what both hold to be negligible matches fully."""
    digits = np.empty((len(b), len(negligible)))
    for k, (row_a, row_b) in enumerate(zip(a, b, strict=True)):
        for i, (x, y) in enumerate(zip(row_a, row_b, strict=True)):
            none = abs(float(x)) <= negligible[i] and abs(float(y)) <= negligible[i]
            digits[k, i] = _FULLY if none else matching_digits(x, y)
    return digits


def theta_part(case: Case, derivatives: Derivatives) -> tuple[arb, ...]:
    """The derivatives with respect to theta."""
    return derivatives.p if case.problem.wrt == "parameters" else derivatives.y0


def _adjoint_digits(case: Case, a: Computation, b: Computation) -> FloatArray:
    with precision(_COMPARE_BITS):
        coarse, fine = theta_part(case, a.derivatives), theta_part(case, b.derivatives)
        return gradient_digits(case, coarse, fine, b.derivatives.value)


def gradient_digits(case: Case, a: Sequence[arb], b: Sequence[arb], loss: arb) -> FloatArray:
    """Matching digits of two gradients, shape (n_theta,); a component that is noise in both is zero and matches."""
    digits = np.empty(len(b))
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        zero = all(_is_noise(case, i, value, loss) for value in (x, y))
        matching = matching_digits(x, y)
        digits[i] = SOLUTION_DIGITS if zero and matching < GRADIENT_DIGITS + 2 else matching
    return digits


def _is_noise(case: Case, i: int, value: arb, loss: arb) -> bool:
    return bool(abs(value) * case.theta_sizes[i] <= _ZERO_DERIVATIVE * abs(loss))


def _certified(
    case: Case,
    a: Computation,
    b: Computation,
    digits: FloatArray,
    negligible: FloatArray,
    watch: Watch,
    gradients: bool,
    differences: bool,
) -> Certified:
    began = time.process_time()
    values, theta_digits, evidence = [], np.zeros(0), {}
    if gradients:
        values, theta_digits, evidence = _certified_gradient(case, a, b, watch, differences)
    differences_s = time.process_time() - began
    with precision(_COMPARE_BITS):
        rows = [
            [arb(0) if abs(float(x)) <= negligible[i] else x for i, x in enumerate(row)] for row in b.trajectory.saved
        ]
        evidence = {"solution": [_described(a), _described(b)], **_known(case, rows, negligible), **evidence}
        return Certified(
            rows=rows, row_digits=digits, negligible=negligible,
            loss=b.derivatives.value, loss_digits=matching_digits(a.derivatives.value, b.derivatives.value),
            gradient=values, gradient_digits=theta_digits, evidence=evidence,
            seconds={
                "solve": round(a.solve_s + b.solve_s, 3), "adjoint": round(a.adjoint_s + b.adjoint_s, 3),
                "differences": round(differences_s, 3),
            },
        )  # fmt: skip


def _described(computation: Computation) -> dict[str, object]:
    settings, trajectory = computation.settings, computation.trajectory
    return {
        "method": "Radau IIA", "stages": settings.stages, "tail": settings.tail, "arithmetic_digits": settings.digits,
        "floor": settings.floor, "steps": trajectory.n_steps, "rejected_steps": trajectory.n_rejected,
        "newton_iterations": trajectory.n_iterations,
    }  # fmt: skip


def _known(case: Case, rows: list[list[arb]], negligible: FloatArray) -> dict[str, object]:
    """Invariants and the exact solution; both must hold."""
    evidence: dict[str, object] = {}
    invariants = case.invariant_digits([tuple(row) for row in rows])
    if invariants:
        evidence["invariant_digits"] = {name: round(min(value, 60.0), 1) for name, value in invariants.items()}
    truth = case.exact_rows()
    if truth is not None:
        invariants = {**invariants, "exact solution": float(compare(truth, rows, negligible).min())}
        evidence["exact_solution_digits"] = round(invariants["exact solution"], 1)
    for name, value in invariants.items():
        if value < SOLUTION_DIGITS - 1:
            raise ReferenceFailure(
                f"no reference is certified for '{case.problem.name}': '{name}' holds to {value:.1f} digits only."
                " Check the equations against what the file declares to be invariant or exact."
            )
    return evidence


def _certified_gradient(
    case: Case, a: Computation, b: Computation, watch: Watch, differences: bool
) -> tuple[list[arb], FloatArray, dict[str, object]]:
    """Central differences on the second mesh against the adjoint on the first; or the adjoint on both."""
    if not differences:
        values = list(theta_part(case, b.derivatives))
        return values, _adjoint_digits(case, a, b), {"gradient": {"method": "adjoint on both meshes"}}
    single = len(case.theta_sizes) <= SINGLE_DIRECTIONS
    directions = case.unit_directions() if single else case.random_directions(RANDOM_DIRECTIONS, SEED)
    watch.say(f"central differences along {len(directions)} directions")
    loss_function, progress = case.objective, watch.during("differences, t")
    found = central_differences(case.dynamics, b.trajectory, case.start, directions, loss_function, progress)
    with precision(_COMPARE_BITS):
        loss, adjoint = b.derivatives.value, theta_part(case, a.derivatives)
        evidence: dict[str, object] = {
            "method": "central differences on the second mesh, adjoint on the first",
            "directions": len(directions), "kind": "components of theta" if single else f"random, seed {SEED}",
        }  # fmt: skip
        if single:
            values = [found[i].value / size for i, size in enumerate(case.theta_sizes)]
            digits = gradient_digits(case, adjoint, values, loss)
        else:
            values = list(theta_part(case, b.derivatives))
            digits = gradient_digits(case, adjoint, values, loss)
            agreement = min(directional_digits(case, along.direction, along.value, values, loss) for along in found)
            evidence["directional_digits"] = round(agreement, 1)
            digits = np.minimum(digits, max(agreement, 0.0))
        if digits.min() < GRADIENT_DIGITS:
            raise ReferenceFailure(
                f"no reference is certified for '{case.problem.name}': central differences and the adjoint agree to"
                f" {digits.min():.1f} digits only, in d loss / d {case.problem.theta_labels[int(digits.argmin())]}"
            )
        values = [arb(0) if _is_noise(case, i, value, loss) else value for i, value in enumerate(values)]
    return values, digits, {"gradient": evidence}


def directional_digits(
    case: Case, direction: Direction, value: arb, gradient_values: Sequence[arb], loss: arb
) -> float:
    """Matching digits of a directional derivative and a gradient, relative to the magnitudes of its terms."""
    parts = direction.p if case.problem.wrt == "parameters" else direction.y0
    terms = [a * b for a, b in zip(parts, gradient_values, strict=True)]
    magnitude = sum((abs(term) for term in terms), arb(0))
    if max(float(magnitude), abs(float(value))) <= _ZERO_DERIVATIVE * abs(float(loss)):
        return SOLUTION_DIGITS
    return matching_digits(sum(terms, arb(0)), value, float(magnitude))
