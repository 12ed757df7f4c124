"""High-precision central differences with Richardson extrapolation, on the mesh of a computed trajectory.

Every perturbed trajectory takes exactly the steps of the unperturbed one, so step-size control adds no noise; the
differences are then those of a smooth function, and with 57-digit arithmetic nothing is lost to cancellation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from flint import arb, arb_mat

from sciml_bench.reference.dynamics import Dynamics
from sciml_bench.reference.engine import Start, Step, Trajectory
from sciml_bench.reference.failure import ReferenceFailure
from sciml_bench.reference.newton import StepFailure
from sciml_bench.reference.numbers import BITS_PER_DIGIT, matching_digits, precision
from sciml_bench.reference.objective import Objective
from sciml_bench.reference.step import Place, newton_matrix, solve_stages
from sciml_bench.reference.tableau import radau

#: Perturbations relative to the size of what is perturbed, and the arithmetic that they need.
PERTURBATION = 1e-13
DIGITS = 57
_GUARD_DIGITS = 20
#: The perturbed trajectories of one direction, as multiples of the perturbation.
_MULTIPLES = (1, -1, 2, -2)


@dataclass(frozen=True)
class Direction:
    """A direction in the space of initial state and parameters (flat lists)."""

    label: str
    y0: tuple[arb, ...]
    p: tuple[arb, ...]


@dataclass(frozen=True)
class Difference:
    """A directional derivative, and how many digits the two step widths of the extrapolation have in common."""

    direction: Direction
    value: arb
    extrapolation_digits: float


def central_differences(
    dynamics: Dynamics,
    trajectory: Trajectory,
    start: Start,
    directions: Sequence[Direction],
    objective: Objective,
    progress: Callable[[int], object] | None = None,
) -> list[Difference]:
    """Differentiate an objective along each direction: (4 D(δ) − D(2δ)) / 3 with central differences D.

    Raises:
        ReferenceFailure: a perturbed trajectory cannot be followed on the given mesh.
    """
    bits = int(DIGITS * BITS_PER_DIGIT) + 1
    with precision(bits):
        mesh = _Mesh(dynamics, trajectory, start, bits)
        paths = [_Paths(start, direction, len(trajectory.saved)) for direction in directions]
        for count, step in enumerate(trajectory.steps):
            try:
                mesh.advance(step, paths)
            except StepFailure as failure:
                place = float(step.place.t)
                raise ReferenceFailure(f"the central differences stop at t = {place:.12g}: {failure}") from failure
            if progress is not None:
                progress(count + 1)
        return [path.difference(objective) for path in paths]


class _Paths:
    """The four perturbed trajectories along one direction."""

    def __init__(self, start: Start, direction: Direction, n_times: int):
        self.direction = direction
        self.p = [_moved(start.p, direction.p, m) for m in _MULTIPLES]
        if start.around is None:
            self.y = [_moved(start.y0, direction.y0, m) for m in _MULTIPLES]
        else:
            self.y = [start.around.initial(p) for p in self.p]
        self.saved: list[list[list[arb]]] = [[] for _ in _MULTIPLES]

    def difference(self, objective: Objective) -> Difference:
        plus, minus, plus2, minus2 = (objective.value(rows, p) for rows, p in zip(self.saved, self.p, strict=True))
        narrow, wide = (plus - minus) / (2 * arb(PERTURBATION)), (plus2 - minus2) / (4 * arb(PERTURBATION))
        return Difference(self.direction, ((4 * narrow - wide) / 3).mid(), matching_digits(narrow, wide))


class _Mesh:
    def __init__(self, dynamics: Dynamics, trajectory: Trajectory, start: Start, bits: int):
        self.tableau = radau(trajectory.settings.stages, bits)
        # The trajectory's own segments, at the higher precision.
        originals: list[object] = []
        for step in trajectory.steps:
            if not originals or originals[-1] is not step.place.segment:
                originals.append(step.place.segment)
        self.segments = dict(zip(map(id, originals), dynamics.segments(), strict=False))
        self.p_d = np.array([float(x) for x in start.p])
        # A perturbation spreads to components that are still much smaller than itself.
        self.smallest = PERTURBATION * start.scale
        self.tolerance = 10.0 ** (_GUARD_DIGITS - DIGITS)

    def advance(self, step: Step, paths: Sequence[_Paths]) -> None:
        """Take one step of the mesh along every path."""
        place: Place = replace(step.place, segment=self.segments[id(step.place.segment)], tableau=self.tableau)
        s, n = self.tableau.stages, len(step.y)
        states = (arb_mat(s, n, list(step.y) * s) + step.z).mid().entries()
        scale = np.maximum(step.scale, self.smallest)
        matrix = newton_matrix(place, states, self.p_d, scale)
        base = step.z
        for path in paths:
            increments: list[arb_mat] = []
            for k in range(len(_MULTIPLES)):
                # Linear in the perturbation: good to its square.
                guess = (base, 2 * base - _at(increments, 0), 2 * _at(increments, 0) - base,
                         2 * _at(increments, 1) - base)[k] if increments else base  # fmt: skip
                stages = solve_stages(place, path.y[k], path.p[k], guess.mid(), scale, self.tolerance, matrix)
                increments.append(stages.z)
                end = stages.z.entries()[(s - 1) * n :]
                path.y[k] = [(a + b).mid() for a, b in zip(path.y[k], end, strict=True)]
                if step.saved is not None:
                    path.saved[k].append(path.y[k])


def _at(increments: list[arb_mat], k: int) -> arb_mat:
    return increments[min(k, len(increments) - 1)]


def _moved(values: Sequence[arb], direction: Sequence[arb], multiple: int) -> list[arb]:
    width = multiple * arb(PERTURBATION)
    return [(a + width * b).mid() for a, b in zip(values, direction, strict=True)]
