"""Certified gradients: each component has the digits that differences and the adjoint on another mesh share.

A component that is as small as the rounding of the loss in all of them has no digits in common, and is zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from flint import arb

from sciml_bench.references.computation import Computation
from sciml_bench.references.confirmation.agreement import (
    COMPARE_BITS,
    FULLY,
    ROUNDING,
    directional_digits,
    gradient_digits,
    slope_digits,
    theta_part,
)
from sciml_bench.references.confirmation.differences import Difference, central_differences
from sciml_bench.references.confirmation.event_checks import separate_differences
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.dynamics import FloatArray
from sciml_bench.references.engine.numbers import precision
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.references.progress import Watch

GRADIENT_DIGITS = 12.0
#: Up to this many components of theta are differenced one by one; of more, the largest and the smallest ones, and
#: random directions.
SINGLE_DIRECTIONS = 200
RANDOM_DIRECTIONS = 8
EXTREMES = 2
SEED = 20_001
#: Two computations differ by the sum of their errors; either may have most of it.
CLAIMED_LESS = 1.0
#: Against the loss, derivatives this small are below the noise of the differences; the adjoint follows them still.
_BELOW_DIFFERENCES, _NOISE = 1e-9, 1e-21


@dataclass(frozen=True)
class CertifiedGradient:
    """Values, digits, and the magnitudes below which components are zero, of shape (n_theta,), with their evidence."""

    values: list[arb]
    digits: FloatArray
    negligible: FloatArray
    evidence: dict[str, object] = field(default_factory=dict)


NO_GRADIENT = CertifiedGradient([], np.zeros(0), np.zeros(0))


def least_gradient_digits(case: Case, a: Computation, b: Computation) -> float:
    """The fewest digits of a component by the adjoint on both meshes; components as small as rounding do not count."""
    digits, loss = _adjoint_digits(case, a, b), abs(b.derivatives.value)
    with precision(COMPARE_BITS):
        pairs = zip(theta_part(case, a.derivatives), theta_part(case, b.derivatives), case.theta_sizes, strict=True)
        counted = [max(abs(x), abs(y)) * size > ROUNDING * loss for x, y, size in pairs]
    return float(np.min(digits[counted], initial=FULLY))


def certified_gradient(
    case: Case, a: Computation, b: Computation, watch: Watch, every_component: bool
) -> CertifiedGradient:
    """The gradient, by central differences on the second mesh against the adjoint on the first.

    ``every_component`` compares each component (the extremes of many) with its difference; without it the whole
    gradient is compared along one random direction.

    Raises:
        ReferenceFailure: they disagree along random directions.
    """
    return _Comparison(case, a, b, every_component).result(watch)


class _Comparison:
    """The gradient while its components are compared: values, digits and largest magnitudes, (n_theta,) each."""

    def __init__(self, case: Case, a: Computation, b: Computation, every_component: bool):
        self.case, self.mesh, self.loss = case, b.trajectory, b.derivatives.value
        self.coarse, self.values = theta_part(case, a.derivatives), list(theta_part(case, b.derivatives))
        self.adjoint_digits = _adjoint_digits(case, a, b)
        self.digits = self.adjoint_digits.copy()
        units = case.unit_directions() if every_component else []
        # Either each component is differenced, or a few of them and random directions.
        self.single = every_component and len(units) <= SINGLE_DIRECTIONS
        self.chosen: list[int] = []
        if every_component:
            self.chosen = list(range(len(units))) if self.single else _extremes(case, self.values)
        self.directions = [units[i] for i in self.chosen]
        if not self.single:
            self.directions += case.random_directions(RANDOM_DIRECTIONS if every_component else 1, SEED)

    def result(self, watch: Watch) -> CertifiedGradient:
        """Difference the loss along the directions, and claim the digits that agree."""
        found = self._differences(watch)
        single, random = found[: len(self.chosen)], found[len(self.chosen) :]
        with precision(COMPARE_BITS):
            largest = [max(abs(x), abs(y)) for x, y in zip(self.coarse, self.values, strict=True)]
            by_adjoint = []
            for i, difference in zip(self.chosen, single, strict=True):
                value = difference.value / self.case.theta_sizes[i]
                largest[i] = max(largest[i], abs(value))
                if self._held_by_the_adjoint_alone(i, value):
                    by_adjoint.append(i)
            evidence = self._described()
            if not self.single:
                evidence["directional_digits"] = round(self._directional_agreement(random), 1)
            evidence |= self._labels("by_the_adjoint_on_both_meshes_alone", by_adjoint)
            return self._claimed(
                largest, [i for i, one in zip(self.chosen, single, strict=True) if one.kinked], evidence
            )

    def _differences(self, watch: Watch) -> Sequence[Difference]:
        case = self.case
        watch.say(f"central differences along {len(self.directions)} directions")
        if case.events is not None:
            return separate_differences(case, self.mesh, self.directions)
        progress = watch.during("central differences, t")
        return central_differences(case.dynamics, self.mesh, case.start, self.directions, case.objective, progress)

    def _held_by_the_adjoint_alone(self, i: int, value: arb) -> bool:
        """Compare a component with its difference; return whether only the adjoint can follow it."""
        # A component that is zero in both is zero only if nothing was lost on the way.
        none = self.coarse[i] == 0 and value == 0
        matching = self.adjoint_digits[i] if none else float(gradient_digits([self.coarse[i]], [value])[0])
        if matching >= GRADIENT_DIGITS:
            self.digits[i] = matching if self.single else min(self.digits[i], matching)
            self.values[i] = value if self.single else self.values[i]
        elif self.digits[i] >= GRADIENT_DIGITS + CLAIMED_LESS and self._is_below_differences(i, value):
            return True
        else:
            self.digits[i] = 0.0
        return False

    def _is_below_differences(self, i: int, difference: arb) -> bool:
        """Return whether a derivative is too small against the loss to be seen beyond the agreement of differences."""
        adjoint, size, loss = self.values[i], self.case.theta_sizes[i], abs(self.loss)
        noise = abs(adjoint - difference) * size
        return bool(abs(adjoint) * size <= _BELOW_DIFFERENCES * loss) and bool(noise <= _NOISE * loss)

    def _directional_agreement(self, random: Sequence[Difference]) -> float:
        """The fewest digits along random directions."""
        name = self.case.problem.name
        agreement = min(
            directional_digits(self.case, along.direction, along.value, self.values, self.loss) for along in random
        )
        if agreement < GRADIENT_DIGITS:
            raise ReferenceFailure(
                f"no gradient is certified for '{name}': along random directions central differences and the adjoint"
                f" agree to only {agreement:.1f} digits"
            )
        if any(along.kinked for along in random):
            raise ReferenceFailure(
                f"no gradient is certified for '{name}': the loss has a kink at these values of theta, so that its"
                " derivatives to either side differ; look for abs, max, min and where"
            )
        return agreement

    def _claimed(self, largest: list[arb], kinked: list[int], evidence: dict[str, object]) -> CertifiedGradient:
        """The components with enough digits; components as small as rounding are zero."""
        case = self.case
        # Neither the adjoint nor differences on one mesh see a jump move.
        jumping = [i for i, label in enumerate(case.problem.theta_labels) if label in case.jump_movers]
        determined = slope_digits(case, self.mesh.saved, self.mesh.largest) >= GRADIENT_DIGITS
        enough = determined & (self.digits >= GRADIENT_DIGITS + CLAIMED_LESS)
        digits = np.where(enough, self.digits - CLAIMED_LESS, 0.0)
        digits[[*kinked, *jumping]] = 0.0
        rounding = np.array([float(ROUNDING * abs(self.loss) / size) for size in case.theta_sizes])
        # A component that is exactly zero on both meshes and has no digits was lost on the way.
        zero = (digits == 0) & [bool(0 < one <= least) for one, least in zip(largest, rounding, strict=True)]
        zero[[*kinked, *jumping]] = False
        values = [arb(0) if none else value for none, value in zip(zero, self.values, strict=True)]
        digits, negligible = np.where(zero, FULLY - CLAIMED_LESS, digits), np.where(zero, rounding, 0.0)
        evidence |= self._labels("zero_but_for_rounding", np.flatnonzero(zero).tolist())
        # To either side the derivatives differ.
        evidence |= self._labels("kinks", kinked)
        if jumping:
            evidence["jumps"] = list(case.jump_movers)
        evidence |= self._labels("uncertified", np.flatnonzero(digits == 0).tolist())
        return CertifiedGradient(values, digits, negligible, {"gradient": evidence})

    def _labels(self, key: str, components: Sequence[int]) -> dict[str, object]:
        labels = [self.case.problem.theta_labels[i] for i in components]
        return {key: labels} if labels else {}

    def _described(self) -> dict[str, object]:
        more = ", and the largest and smallest components" if self.chosen else ""
        return {
            "method": "central differences on the second mesh, adjoint on the first"
            if self.case.events is None
            else "central differences of separate solutions, adjoint with the jumps of the events",
            "directions": len(self.directions),
            "kind": "components of theta" if self.single else f"random, seed {SEED}{more}",
        }


def _adjoint_digits(case: Case, a: Computation, b: Computation) -> FloatArray:
    pair = theta_part(case, a.derivatives), theta_part(case, b.derivatives)
    with precision(COMPARE_BITS):
        digits = gradient_digits(*pair)
    if a.derivatives.lost or b.derivatives.lost:
        digits[[x == 0 and y == 0 for x, y in zip(*pair, strict=True)]] = 0.0
    return digits


def _extremes(case: Case, gradient_values: Sequence[arb]) -> list[int]:
    """The components with the largest and the smallest derivatives, relative to the size of their parameters."""
    sizes = [float(abs(g) * size) for g, size in zip(gradient_values, case.theta_sizes, strict=True)]
    order = [i for i in np.argsort(sizes).tolist() if sizes[i] > 0]
    return sorted({*order[:EXTREMES], *order[-EXTREMES:]})
