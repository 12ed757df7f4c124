"""The second method of a certificate: what the engine computed is compared with a method of another family.

Where it can be had, that is a proved enclosure, see :mod:`sciml_bench.references.confirmation.proof`. Other small
systems are solved again by the implicit Taylor method of :mod:`sciml_bench.references.confirmation.hermite_obreshkov`,
in ball arithmetic. Larger ones, or such as it cannot follow, are solved by multistep methods (LSODA, BDF) or an
explicit Runge–Kutta method (DOP853) in double precision, on NumPy code from another emitter.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb

from sciml_bench.references.confirmation.agreement import COMPARE_BITS, FULLY, compare
from sciml_bench.references.confirmation.event_checks import follow_events, look_between
from sciml_bench.references.confirmation.hermite_obreshkov import Care, Witness, witness
from sciml_bench.references.confirmation.proof import LARGEST_SYSTEM, PROVED_DIGITS, Proof, prove
from sciml_bench.references.double_precision import emitted_numpy, integrate
from sciml_bench.references.engine.case import LARGE, Case
from sciml_bench.references.engine.dynamics import FloatArray
from sciml_bench.references.engine.numbers import precision
from sciml_bench.references.engine.trajectory import Trajectory
from sciml_bench.references.failures import LimitReached, ReferenceFailure
from sciml_bench.references.progress import Watch
from sciml_bench.spec.model import to_double

#: The two must have so many digits in common: as many as doubles hold; in doubles what they can be trusted with.
WITNESS_DIGITS = 15.0
DOUBLE_DIGITS = 7.0
ENCLOSURE = "proved enclosure (Taylor series, Lohner's method)"
#: Runs of the Taylor method, each more careful: where it goes astray, two of them go different ways.
_CARES = (Care(), Care(1e-20, 0.1, 512), Care(1e-21, 0.03, 512))
#: Digits by which two of its runs must agree better than either does with the engine for it to be the engine's error.
_SETTLED = 2.0
_OPERATIONS = 2000
_DOUBLES = (("LSODA", 1e-12, 1e-14), ("BDF", 1e-11, 1e-13), ("DOP853", 1e-12, 1e-14))
_DOUBLE_LIMIT_S = 30.0
_MOST_DOUBLE_DIGITS = 14.0


class Disagreement(ReferenceFailure):
    """A second method came to another solution."""


@dataclass(frozen=True)
class Confirmation:
    """The second method and its common digits with the engine, (n_states,).

    ``proved`` holds the digits of a proof if there is one, (n_times, n_states).
    """

    method: str
    arithmetic: str
    digits: FloatArray
    details: dict[str, object]
    proved: FloatArray | None = None

    def described(self) -> dict[str, object]:
        """As the certificate keeps it."""
        return {
            "method": self.method,
            "arithmetic": self.arithmetic,
            "digits": round(float(self.digits.min()), 1),
            **self.details,
        }


def confirm(
    case: Case, trajectory: Trajectory, negligible: FloatArray, watch: Watch, proof_s: float = 0.0
) -> Confirmation:
    """Solve a problem by a second method and hold it against the engine's states at the saved times.

    Args:
        case: the problem.
        trajectory: what the engine computed.
        negligible: magnitudes that count as zero, (n_states,).
        watch: progress and limit.
        proof_s: seconds that a proof may cost, as counted.

    Raises:
        ReferenceFailure: the two disagree, or no second method can follow the solution.
    """
    if case.events is not None:
        return _held(case, _between_events(case, trajectory, negligible, watch), WITNESS_DIGITS, "")
    proof = prove(case, trajectory, negligible, proof_s, watch)
    if proof is not None:
        return _held(case, _enclosed(proof), PROVED_DIGITS, "")
    reason = ""
    if case.problem.n_states <= LARGEST_SYSTEM and case.dynamics.operations <= _OPERATIONS:
        found, reason = _by_taylor(case, trajectory, negligible, watch)
        if found is not None:
            return _held(case, found, WITNESS_DIGITS, "")
    return _held(case, _in_doubles(case, trajectory.saved, negligible), DOUBLE_DIGITS, reason)


def _held(case: Case, found: Confirmation, least: float, reason: str) -> Confirmation:
    if found.digits.min() >= least:
        return found
    label = case.problem.state_labels[int(found.digits.argmin())]
    raise Disagreement(
        f"no reference is certified for '{case.problem.name}': two runs of the engine agree, but a second method"
        f" ({found.method}) agrees with them to only {found.digits.min():.1f} digits, in {label}"
        + (f"; {reason}" if reason else "")
    )


def _enclosed(proof: Proof) -> Confirmation:
    enclosure = proof.enclosure
    details: dict[str, object] = {
        "order": enclosure.order, "tolerance": enclosure.tolerance, "steps": enclosure.n_steps,
    }  # fmt: skip
    return Confirmation(ENCLOSURE, "balls", proof.digits.min(axis=0), details, proof.digits)


def _by_taylor(
    case: Case, trajectory: Trajectory, negligible: FloatArray, watch: Watch
) -> tuple[Confirmation | None, str]:
    """The Taylor method against the engine; ``None``, with the reason, if it cannot follow the solution."""
    last: Witness | None = None
    reason = ""
    for care in _CARES:
        try:
            other = witness(
                case.dynamics, case.start, case.problem.t0, case.problem.save_times, care, negligible / 10,
                trajectory.mesh, watch.during("implicit Taylor method, t"), trajectory.settings.bits,
            )  # fmt: skip
        except LimitReached:
            raise
        except ReferenceFailure as failure:
            return None, str(failure)
        digits = _common(other.saved, trajectory.saved, negligible)
        details: dict[str, object] = {"tolerance": care.tolerance, "steps": other.n_steps}
        found = Confirmation("implicit Taylor (Hermite-Obreshkov)", "balls", digits, details)
        settled = last is not None and _common(last.saved, other.saved, negligible).min() > digits.min() + _SETTLED
        if digits.min() >= WITNESS_DIGITS or settled:
            return found, ""
        last = other
        reason = (
            f"runs of the implicit Taylor method agree with it to {digits.min():.1f} digits, and not with each other"
        )
    return None, reason


def _between_events(case: Case, trajectory: Trajectory, negligible: FloatArray, watch: Watch) -> Confirmation:
    """The Taylor method from event to event: it must come to each event's threshold at the engine's time."""
    look_between(case, trajectory)
    saved, time_digits, n_steps = follow_events(case, trajectory, negligible, watch)
    digits = np.minimum(_common(saved, trajectory.saved, negligible), time_digits)
    details: dict[str, object] = {
        "tolerance": Care().tolerance,
        "steps": n_steps,
        "times_of_events": round(time_digits, 1),
    }
    return Confirmation("implicit Taylor (Hermite-Obreshkov)", "balls", digits, details)


def _common(a: Sequence[Sequence[arb]], b: Sequence[Sequence[arb]], negligible: FloatArray) -> FloatArray:
    with precision(COMPARE_BITS):
        return np.minimum(compare(a, b, negligible).min(axis=0), FULLY)


def _in_doubles(case: Case, rows: Sequence[Sequence[arb]], negligible: FloatArray) -> Confirmation:
    """The best of the double-precision methods; digits are relative to the largest value of each component.

    Components of a field that are zero throughout, by symmetry, count against the field: doubles do not keep them zero.
    """
    problem = case.problem
    truth = np.array([[float(value) for value in row] for row in rows])
    size = _sizes(case, truth, negligible)
    ends = [to_double(end) for end in case.dynamics.ends[:-1]]
    best: Confirmation | None = None
    failures: list[str] = []
    try:
        functions = emitted_numpy(problem)
    except (ValueError, SyntaxError, ArithmeticError) as error:
        raise ReferenceFailure(f"'{problem.name}' has no NumPy form to compare with: {error}") from error
    for method, rtol, atol in _DOUBLES:
        try:
            found, _ = integrate(
                problem, functions, method, rtol, atol, time.process_time() + _DOUBLE_LIMIT_S, stops=ends
            )
        except ReferenceFailure as failure:
            failures.append(str(failure))
            continue
        error = np.max(np.abs(found - truth), axis=0)
        counted = np.maximum(size, np.maximum(negligible, atol * np.array(problem.numbers().atol_scale)))
        with np.errstate(divide="ignore"):
            digits = np.clip(-np.log10(error / counted), 0.0, _MOST_DOUBLE_DIGITS)
        confirmation = Confirmation(method, "double precision", digits, {"rtol": rtol})
        if best is None or digits.min() > best.digits.min():
            best = confirmation
        if digits.min() >= DOUBLE_DIGITS:
            break
    if best is None:
        raise ReferenceFailure(
            f"no reference is certified for '{problem.name}': no second method follows the solution"
            f" ({'; '.join(failures)})"
        )
    return best


def _sizes(case: Case, truth: FloatArray, negligible: FloatArray) -> FloatArray:
    """The sizes that the digits of a component are relative to, (n_states,)."""
    size = np.max(np.abs(truth), axis=0)
    if case.problem.n_states > LARGE:
        first = 0
        for state in case.problem.states:
            part = slice(first, first + len(state.scale))
            size[part] = np.where(size[part] <= negligible[part], size[part].max(), size[part])
            first = part.stop
    return size
