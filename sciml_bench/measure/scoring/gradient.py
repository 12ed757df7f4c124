"""Scores of a gradient against the reference's, in which no component can hide behind a larger one.

Parameters span decades, so a norm of the raw gradient may see a single one of them. The error of d loss / d log p is
taken instead: every component times the size of its parameter. Two numbers are compared with the bound:

- the *headline*, the relative error of a group of components in the 2-norm. Parameters and initial values are one
  group, each kernel and each bias of a network is another; the worst group counts. A mean over groups, or one norm of
  all of them, would let a small layer be wrong behind a large one.
- the *worst component*: the error of a component relative to its own size.

Three things limit the judgement of a component, and each is reported by name or number, never left out silently:

- Rounding. A gradient is the end of a long chain of operations, of which the errors add up like a random walk: a
  million of them lose a factor of ``ROUNDINGS`` against one. Nothing below so many roundings of the largest of the
  loss and all d loss / d log p is resolved. A component of which the bound is below that (one that is zero, too) is
  ``unresolved``: its error is compared with what rounding and tolerance explain, not with its own size.
- Tolerance, for the weights of networks. Among thousands of weights a right solver at a loose tolerance has some whose
  derivative is small by chance and off by more than itself. What is off by no more than ``ERROR_BOUND_FACTOR``
  tolerances of the root mean square of its group passes, as the solution's error does, and is counted in ``excused``.
- The reference. A component with fewer than ``LEAST_DIGITS`` digits is ``uncertified`` and not judged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sciml_bench.adapters.program import FloatArray
from sciml_bench.record.point import MAX_STORED_COMPONENTS, Scores, finite
from sciml_bench.record.task import ERROR_BOUND_FACTOR, LARGEST_ERROR_BOUND, Point, Reference
from sciml_bench.record.theta import Theta

LEAST_DIGITS = 3.0
"""A component of the reference with fewer digits is not a truth: at three it is off by a hundredth of the bound."""

ROUNDINGS = 1000.0
"""Arithmetic leaves a gradient uncertain by this many roundings of the largest of loss and d loss / d log p."""

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "bfloat16": 2.0**-7}
"""One rounding, of each precision."""

_PARAMETERS = "parameters"


@dataclass(frozen=True)
class _Group:
    """Components that are judged together; ``weights`` is true if they are weights of a network."""

    name: str
    members: np.ndarray
    weights: bool


@dataclass(frozen=True)
class _Judging:
    """Errors, truth and limits of all components in units of d loss / d log p, and which of them are what."""

    error: np.ndarray
    truth: np.ndarray
    uncertainty: np.ndarray
    limit: np.ndarray
    certified: np.ndarray
    resolved: np.ndarray
    groups: tuple[_Group, ...]


def gradient_scores(
    gradient: FloatArray, theta: Theta, reference: Reference, point: Point, precision: str, bound: float
) -> tuple[Scores | None, str]:
    """Scores of a gradient (n_theta,) against the reference's, and the reason why they miss the bound.

    The scores are ``error``, the headline, with ``worst_group``, the group that it is of; ``worst_component_error`` and
    ``worst_component``, its name; ``norm_error``, the relative error of the raw gradient in the 2-norm, which mostly
    sees the largest components; ``below_reference``, that the headline is no better than the reference; ``unresolved``
    and ``uncertified``, names of components (at most 100, ``..._count`` has all); and ``excused``. Errors are ``None``
    if nothing is large enough to be relative to. All are ``None`` where the reference has no gradient.
    """
    if reference.gradient is None:
        return None, ""
    found = _judging(np.asarray(gradient, dtype=np.float64), theta, reference, point, precision, bound)
    headline = max(_headlines(found), default=None)
    worst, worst_error = _worst_component(found)
    unresolved = found.certified & ~found.resolved
    scores: Scores = {
        "error": None if headline is None else finite(headline[0]),
        "worst_group": None if headline is None else found.groups[headline[2]].name,
        "worst_component_error": worst_error,
        "worst_component": None if worst is None else theta.labels[worst],
        "norm_error": _norm_error(np.asarray(gradient, dtype=np.float64), reference),
        "below_reference": headline is not None and headline[0] <= headline[1],
        "excused": _excused(found, bound),
        "unresolved": _first_labels(theta, unresolved),
        "unresolved_count": int(np.count_nonzero(unresolved)),
        "uncertified": _first_labels(theta, ~found.certified),
        "uncertified_count": int(np.count_nonzero(~found.certified)),
    }
    return scores, _reason(found, theta, headline, bound)


def _first_labels(theta: Theta, chosen: np.ndarray) -> list[str]:
    return [theta.labels[i] for i in np.flatnonzero(chosen)[:MAX_STORED_COMPONENTS]]


def _judging(
    gradient: np.ndarray, theta: Theta, reference: Reference, point: Point, precision: str, bound: float
) -> _Judging:
    raw = np.asarray(reference.gradient, dtype=np.float64)
    sizes = np.asarray(theta.sizes, dtype=np.float64)
    digits = np.asarray(reference.gradient_digits, dtype=np.float64)
    # Gradients of stiff problems reach 1e200 and more: both factors are scaled before they are multiplied.
    per_gradient, per_size = _largest(raw) or 1.0, _largest(sizes)
    truth = (sizes / per_size) * (raw / per_gradient)
    with np.errstate(over="ignore", invalid="ignore"):
        error = (sizes / per_size) * np.abs(gradient / per_gradient - raw / per_gradient)
    loss = abs(reference.loss or 0.0) / per_gradient / per_size
    largest = max(_largest(truth), loss)
    floor = ROUNDINGS * EPSILON[precision] * largest
    # The solution's bound: the number of tolerances that a correct solver may be off by.
    explained = min(LARGEST_ERROR_BOUND, ERROR_BOUND_FACTOR * max(point.rtol, point.atol))
    magnitude = np.abs(truth)
    uncertainty = magnitude * np.maximum(10.0**-digits, EPSILON["float64"])
    certified = digits >= LEAST_DIGITS
    resolved = bound * magnitude >= floor if largest > 0 else np.zeros(len(raw), dtype=bool)
    limit = np.where(resolved, bound * magnitude, floor + explained * largest)
    groups = tuple(_groups(theta))
    for group in groups:
        if group.weights:
            # If a whole layer is zero except for rounding, the rest of the gradient gives the scale.
            typical = _root_mean_square(truth[group.members]) if np.any(resolved[group.members]) else largest
            limit[group.members] = explained * typical + np.maximum(bound * magnitude[group.members], floor)
    return _Judging(error, truth, uncertainty, limit + uncertainty, certified, certified & resolved, groups)


def _groups(theta: Theta) -> list[_Group]:
    named = np.ones(len(theta.labels), dtype=bool)
    blocks: list[_Group] = []
    for block in theta.blocks:
        named[block.start : block.stop] = False
        blocks.append(_Group(block.name, np.arange(block.start, block.stop), weights=True))
    first = [_Group(_PARAMETERS, np.flatnonzero(named), weights=False)] if np.any(named) else []
    return [*first, *blocks]


def _headlines(found: _Judging) -> list[tuple[float, float, int]]:
    """Relative error and uncertainty of each group that has a component to be relative to, with its number."""
    errors: list[tuple[float, float, int]] = []
    for number, group in enumerate(found.groups):
        members = group.members[found.certified[group.members]]
        if np.any(found.resolved[members]):
            largest = _largest(found.truth[members])
            truth = np.linalg.norm(found.truth[members] / largest)
            error = float(np.linalg.norm(found.error[members] / largest) / truth)
            error = math.inf if math.isnan(error) else error
            floor = float(np.linalg.norm(found.uncertainty[members] / largest) / truth)
            errors.append((max(error, floor), floor, number))
    return errors


def _worst_component(found: _Judging) -> tuple[int | None, float | None]:
    judged = np.flatnonzero(found.resolved)
    if not len(judged):
        return None, None
    errors = np.maximum(found.error, found.uncertainty)[judged] / np.abs(found.truth[judged])
    worst = int(np.argmax(errors))
    return int(judged[worst]), finite(errors[worst])


def _excused(found: _Judging, bound: float) -> int:
    """Return how many weights exceed their own bound, but not what the tolerance explains."""
    weights = np.zeros(len(found.truth), dtype=bool)
    for group in found.groups:
        weights[group.members] = group.weights
    past = found.error > bound * np.abs(found.truth) + found.uncertainty
    return int(np.count_nonzero(weights & found.resolved & past & (found.error <= found.limit)))


def _reason(found: _Judging, theta: Theta, headline: tuple[float, float, int] | None, bound: float) -> str:
    # Not "greater than": NaN misses its limit as well.
    missed = np.flatnonzero(found.certified & ~(found.error <= found.limit))
    reasons: list[str] = []
    if headline is not None and not headline[0] <= bound + headline[1]:
        group = found.groups[headline[2]]
        where = f" in {group.name}" if group.weights else ""
        reasons.append(f"the gradient error{where} is {headline[0]:.1e}, its bound {bound:.1e}")
    if len(missed):
        with np.errstate(divide="ignore"):
            excess = found.error[missed] / found.limit[missed]
        reasons.append(_component_reason(found, theta, int(missed[np.argmax(excess)]), bound))
        if len(missed) > 1:
            reasons[-1] += f" (and {len(missed) - 1} more components miss theirs)"
    return "; ".join(reasons)


def _component_reason(found: _Judging, theta: Theta, i: int, bound: float) -> str:
    label = theta.labels[i]
    if found.resolved[i]:
        own = found.error[i] / abs(found.truth[i])
        return f"the gradient's component {label} is off by {own:.1e} of its size, the bound is {bound:.1e}"
    times = found.error[i] / found.limit[i] if found.limit[i] else np.inf
    explained = "as rounding and tolerance explain"
    return f"the gradient's component {label}, zero except for rounding, is {times:.1e} times as far off {explained}"


def _norm_error(gradient: np.ndarray, reference: Reference) -> float | None:
    truth = np.asarray(reference.gradient, dtype=np.float64)
    largest = _largest(truth)
    if largest == 0.0:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.linalg.norm(gradient / largest - truth / largest) / np.linalg.norm(truth / largest)
    return finite(float(error))


def _root_mean_square(values: np.ndarray) -> float:
    largest = _largest(values) or 1.0
    return largest * float(np.sqrt(np.mean((values / largest) ** 2)))


def _largest(values: np.ndarray) -> float:
    return float(np.max(np.abs(values), initial=0.0))
