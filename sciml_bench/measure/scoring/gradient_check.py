"""Checks of gradients without a reference: differences of the loss, and the gradients at other tolerances.

The solver's own loss at the tightest tolerance is differenced along directions in log theta: every component
separately if these are few, otherwise seeded random ones. A difference is taken at two step widths; their disagreement
is its uncertainty, and shorter and longer steps are tried before it is given up. The gradient of every tolerance is
judged by these slopes, with the bound that a reference would set, and by the gradient at the tightest tolerance.

Differences see what automatic differentiation misses, a switch at a time that depends on a parameter for instance. They
do not see an error that loss and gradient have in common.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sciml_bench.adapters.program import FloatArray
from sciml_bench.measure.scoring.gradient import EPSILON, LEAST_DIGITS
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import Scores, finite
from sciml_bench.record.task import GRADIENT, Task
from sciml_bench.record.theta import Theta

MOST_SINGLE = 12
"""Up to this many unchecked components each gets a difference; more are checked along ``RANDOM`` directions."""
RANDOM = 6

_LONGEST, _SHORTEST = 0.03, 1e-6
_SHORTENED, _STEPS = 4.0, 4
# Two differences that agree so well are not noise.
_AGREE = 0.01
# A component that noise hides passes if it is this small next to the largest, and has an uncertainty of its size.
_NEGLIGIBLE, _NOISY = 0.01, 0.5


@dataclass(frozen=True)
class Slope:
    """The derivative of the loss along ``direction`` (n_theta,) in units of the sizes, and its uncertainty."""

    name: str
    direction: FloatArray
    value: float
    uncertainty: float


@dataclass(frozen=True)
class Checked:
    """The result of the checks for the gradient of one point; ``scores`` are added to the point's."""

    outcome: Outcome
    message: str
    scores: Scores


def unchecked_components(task: Task) -> list[int]:
    """Return the components of theta whose derivative no reference certifies; none for models and without gradients."""
    if GRADIENT not in task.calls or task.learning is not None:
        return []
    reference = task.reference
    if reference is None or reference.gradient is None:
        return list(range(len(task.numbers.theta)))
    return [i for i, digits in enumerate(reference.gradient_digits) if digits < LEAST_DIGITS]


def directions(task: Task) -> list[tuple[str, FloatArray]]:
    """Return names and vectors (n_theta,) along which the loss is differenced: components, or signs by the seed."""
    components, size = unchecked_components(task), len(task.numbers.theta)
    labels = theta_of(task).labels
    if len(components) <= MOST_SINGLE:
        return [(labels[i], np.eye(1, size, i)[0]) for i in components]
    found: list[tuple[str, FloatArray]] = []
    generator = np.random.Generator(np.random.PCG64(task.seed))
    for number in range(RANDOM):
        direction = np.zeros(size)
        direction[components] = generator.choice((-1.0, 1.0), len(components)) / math.sqrt(len(components))
        found.append((f"random direction {number + 1}", direction))
    return found


def theta_of(task: Task) -> Theta:
    """Return names and sizes of the components of a task's theta."""
    return task.theta or Theta.unnamed(task.numbers.theta)


def slope(
    loss: Callable[[FloatArray], float], task: Task, name: str, direction: FloatArray, rtol: float, value: float
) -> Slope:
    """Difference the loss along a direction, with the pair of step widths that agrees best.

    ``rtol`` is the tolerance and ``value`` the loss at theta: their estimate of its noise sets the first step.
    """
    theta, sizes = np.asarray(task.numbers.theta), np.asarray(theta_of(task).sizes)
    noise = max(rtol, EPSILON[task.cell.precision])
    first = min(_LONGEST, max(_SHORTEST, noise ** (1 / 3)))

    def central(step: float) -> float:
        move = step * sizes * direction
        return (loss(theta + move) - loss(theta - move)) / (2 * step)

    steps = [first / _SHORTENED**k for k in range(_STEPS)]
    found = [central(step) for step in steps[:2]]
    if abs(found[0] - found[1]) <= _AGREE * abs(found[1]):
        return Slope(name, direction, found[1], abs(found[0] - found[1]) + noise * abs(value) / steps[1])
    # Two of several differences of noise agree by chance, three hardly ever.
    found += [central(step) for step in steps[2:]]
    threes = [found[k : k + 3] for k in range(_STEPS - 2)]
    spreads = [max(three) - min(three) for three in threes]
    least = min(range(len(spreads)), key=lambda k: spreads[k] if math.isfinite(spreads[k]) else math.inf)
    return Slope(name, direction, threes[least][1], spreads[least] + noise * abs(value) / steps[least + 1])


def judged(task: Task, gradients: Mapping[int, FloatArray], slopes: Sequence[Slope]) -> dict[int, Checked]:
    """Judge the gradients (n_theta,) of points, by their places; the last place is the tightest tolerance."""
    tightest = max(gradients)
    return {place: _judged(task, gradient, gradients[tightest], slopes) for place, gradient in gradients.items()}


def _judged(task: Task, gradient: FloatArray, tightest: FloatArray, slopes: Sequence[Slope]) -> Checked:
    sizes, bound = np.asarray(theta_of(task).sizes), task.gradient_error_bound
    claimed = [float(np.dot(sizes * slope.direction, gradient)) for slope in slopes]
    scale = [max(abs(c), abs(slope.value)) for c, slope in zip(claimed, slopes, strict=True)]
    largest = max(scale, default=0.0)
    wrong: list[str] = []
    hidden: list[str] = []
    worst = 0.0
    for c, size, slope in zip(claimed, scale, slopes, strict=True):
        if not math.isfinite(slope.value) or slope.uncertainty > _NOISY * size:
            if not size <= _NEGLIGIBLE * largest:
                hidden.append(slope.name)
            continue
        error = abs(c - slope.value)
        worst = max(worst, error / size)
        if error > bound * abs(slope.value) + slope.uncertainty:
            wrong.append(f"{slope.name}: {c:.3g}, differences of the loss give {slope.value:.3g}")
        elif slope.uncertainty > bound * size:
            hidden.append(slope.name)
    neighbour = _relative(sizes * gradient, sizes * tightest)
    scores: Scores = {
        "difference_error": finite(worst),
        "differences": len(slopes),
        "tightest_error": finite(neighbour),
    }
    if wrong:
        return Checked(Outcome.INACCURATE, f"d loss / d log {'; '.join(wrong[:2])}", scores)
    if not neighbour <= bound:
        message = f"the gradient is {neighbour:.1e} off the one at the tightest tolerance, the bound is {bound:.1e}"
        return Checked(Outcome.INACCURATE, message, scores)
    if hidden or not slopes:
        named = f" along {', '.join(hidden[:3])}" if hidden else ""
        return Checked(Outcome.UNCHECKED, f"differences of the loss are too noisy to check the gradient{named}", scores)
    return Checked(Outcome.OK, "", scores)


def _relative(found: FloatArray, truth: FloatArray) -> float:
    # Squares of very large and of very small numbers are none.
    scale = float(np.max(np.abs(truth), initial=0.0))
    if scale == 0:
        return 0.0
    return float(np.linalg.norm((found - truth) / scale) / np.linalg.norm(truth / scale))
