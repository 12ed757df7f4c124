"""Checks of results: scores against their bounds, and recomputed from the record."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from sciml_bench.measure.scoring.gradient import gradient_scores
from sciml_bench.measure.scoring.solution import solve_scores
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import PointResult, Scores
from sciml_bench.record.record import Record
from sciml_bench.record.scoring_rules import BY_COMPONENT, CHECKED_WITHOUT_REFERENCE
from sciml_bench.record.task import (
    ERROR_BOUND_FACTOR,
    GRADIENT_ERROR_BOUND,
    LARGEST_ERROR_BOUND,
    Point,
)
from sciml_bench.record.theta import Theta
from sciml_bench.verification import models
from sciml_bench.verification.evidence import Intent
from sciml_bench.verification.known_problem import KnownProblem

# A solver is granted the reference's own uncertainty; without the reference, this share of the bound.
_GRANTED = 0.1

# Scores travel through JSON as doubles, but another processor may round the last digits of a logarithm differently.
_DIGITS_TOLERANCE = 1e-3
_ERROR_TOLERANCE = 1e-2


def accuracy(record: Record, intent: Intent) -> Iterator[str]:
    """Halves that are ok have scores within their bounds, if there is a reference."""
    if record.points and record.points[0].batch is not None:
        if record.reference_kind is not None:
            yield from models.accuracy(record)
        return
    yield from _checked(record)
    if record.reference_kind is None:
        return
    bound = _error_bound(record, intent)
    for point in record.points:
        if point.solve.outcome is Outcome.OK:
            yield from _within(point, "solution", point.solve.scores, _solution_error(point.solve.scores), bound)
        if point.gradient.outcome is Outcome.OK and point.gradient.scores is not None:
            yield from _gradient_within(point, point.gradient.scores, record.scoring_rules)


def _checked(record: Record) -> Iterator[str]:
    """Gradients without a reference are ok only after differences of the loss; earlier rules took none."""
    if record.scoring_rules < CHECKED_WITHOUT_REFERENCE:
        return
    for point in record.points:
        scores = point.gradient.scores or {}
        if point.gradient.outcome is not Outcome.OK or "error" in scores:
            continue
        error = scores.get("tightest_error")
        if "difference_error" not in scores:
            yield f"at rtol {point.rtol:g} the gradient is ok, but nothing has checked it"
        elif not isinstance(error, int | float) or error > GRADIENT_ERROR_BOUND:
            yield f"at rtol {point.rtol:g} the gradient is ok, {error} off the one at the tightest tolerance"


def scores(record: Record, intent: Intent, known: KnownProblem) -> Iterator[str]:
    """Recomputed scores equal the record's, and are within the bounds."""
    if known.model_truth is not None and record.reference_kind == known.model_truth.kind:
        yield from models.scores(record, known.model_truth)
    if known.reference is None or record.reference_kind != known.reference.kind:
        return
    bound = _error_bound(record, intent)
    for point in record.points:
        if point.solve.outcome is Outcome.OK:
            yield from _solution(point, known, bound)
        if point.gradient.outcome is Outcome.OK:
            yield from _gradient(point, record, known)


def catalog(record: Record, _intent: Intent, known: KnownProblem) -> Iterator[str]:
    """Problem and source are unchanged."""
    if record.spec_hash != known.spec_hash:
        yield f"the problem has changed: {record.spec_hash[:12]}… then, {known.spec_hash[:12]}… now"
        return
    now = known.source_hash(record.cell)
    if now is not None and record.source_hash != now:
        yield f"the emitted source has changed: {record.source_hash[:12]}… then, {now[:12]}… now"


def recomputable(record: Record, known: KnownProblem) -> str:
    """Return why scores cannot be computed again for this record; empty when they can."""
    if record.spec_hash != known.spec_hash:
        return "the problem has changed since"
    stored = known.reference or known.model_truth
    if stored is None:
        return "no reference is stored"
    if record.reference_kind != stored.kind:
        return f"it was scored against a {record.reference_kind} reference, stored is a {stored.kind} one"
    if known.reference is None:
        return ""
    if any(point.solve.state_size > len(point.solve.end_state) for point in record.points):
        return "only the first components of its end states are kept"
    return ""


def _error_bound(record: Record, intent: Intent) -> float:
    """The bound of a solution's mixed error under the run's profile, or at looser tolerances of the cell's own."""
    own = (rtol for rtol, _ in intent.tolerances(record.cell.label))
    return min(LARGEST_ERROR_BOUND, ERROR_BOUND_FACTOR * max(*own, *intent.plan.profile.rtols))


def _within(point: PointResult, what: str, given: Scores | None, error: object, bound: float) -> Iterator[str]:
    if given is None or not isinstance(error, int | float):
        yield f"at rtol {point.rtol:g} the {what} is ok without a score"
    elif error > bound * (1.0 + _GRANTED) and not given.get("below_reference"):
        yield f"at rtol {point.rtol:g} the {what} is ok with an error of {error:.1e}, its bound is {bound:.1e}"


def _gradient_within(point: PointResult, given: Scores, rules: int) -> Iterator[str]:
    error = given.get("error")
    if "error" not in given and "difference_error" in given:
        return
    # Nothing to be relative to: no component is resolved, or, by earlier rules, all of theta is zero.
    if error is None and (rules < BY_COMPONENT or given.get("unresolved_count") or given.get("uncertified_count")):
        return
    yield from _within(point, "gradient", given, error, GRADIENT_ERROR_BOUND)


def _solution_error(given: Scores | None) -> float | None:
    """The mixed error that the bound is about: at the end time, or over all times where the end is not covered."""
    if given is None:
        return None
    mescd = given.get("mescd")
    # A stranger's record may have a power here that no double can hold.
    return 10.0 ** min(-mescd, 300.0) if mescd is not None else given.get("trajectory_error")


def _solution(point: PointResult, known: KnownProblem, bound: float) -> Iterator[str]:
    reference = known.reference
    numbers = known.numbers
    if reference is None or not reference.rows or reference.rows[-1] != len(numbers.save_times) - 1:
        return
    end_state, size = point.solve.end_state, point.solve.state_size
    if len(end_state) != len(numbers.y0) or None in end_state:
        if size <= len(end_state):
            yield f"at rtol {point.rtol:g} the solution is ok, but its end state has {size} finite values"
        return
    last = dataclasses.replace(reference, rows=(0,), solution=reference.solution[-1:])
    ys = np.asarray([end_state], dtype=np.float64)
    again, reason = solve_scores(ys, last, numbers.atol_scale, bound)
    given = point.solve.scores or {}
    for name in ("scd", "mescd"):
        if _differ(given.get(name), again.get(name), _DIGITS_TOLERANCE):
            yield f"at rtol {point.rtol:g} {name} {_number(given.get(name))}, computed again {_number(again.get(name))}"
    trajectory, at_end = given.get("trajectory_error"), again.get("trajectory_error")
    if trajectory is not None and at_end is not None and trajectory < at_end * (1.0 - _ERROR_TOLERANCE):
        yield f"at rtol {point.rtol:g} the error over all times is {trajectory:.1e}, at the end alone {at_end:.1e}"
    if reason:
        yield f"at rtol {point.rtol:g} the solution is ok, but {reason}"


def _gradient(point: PointResult, record: Record, known: KnownProblem) -> Iterator[str]:
    reference = known.reference
    if reference is None or reference.gradient is None or point.gradient.size > len(point.gradient.values):
        return
    if len(point.gradient.values) != len(reference.gradient) or None in point.gradient.values:
        yield f"at rtol {point.rtol:g} the gradient is ok, but {len(reference.gradient)} finite values are needed"
        return
    values = np.asarray(point.gradient.values, dtype=np.float64)
    theta, precision = known.theta or Theta.unnamed(known.numbers.theta), record.cell.precision
    at = Point(point.rtol, point.atol)
    again, reason = gradient_scores(values, theta, reference, at, precision, GRADIENT_ERROR_BOUND)
    # Records of earlier rules only share the error of the raw gradient with present ones.
    name = "norm_error" if record.scoring_rules < BY_COMPONENT else "error"
    given, computed = ((scores or {}).get(name) for scores in (point.gradient.scores, again))
    # Near zero the sum of cancelled digits depends on the processor; a relative error of the error is enough.
    if _far(given, computed):
        yield f"at rtol {point.rtol:g} gradient error {_number(given)}, computed again {_number(computed)}"
    if reason:
        yield f"at rtol {point.rtol:g} the gradient is ok, but {reason}"


def _far(given: float | None, again: float | None) -> bool:
    if given is None or again is None:
        return (given is None) != (again is None)
    return abs(given - again) > _ERROR_TOLERANCE * max(given, again)


def _differ(given: float | None, again: float | None, tolerance: float) -> bool:
    if given is None or again is None:
        return (given is None) != (again is None)
    return abs(given - again) > tolerance


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g}"
