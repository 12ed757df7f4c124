"""High-precision central differences on the mesh of a computed trajectory.

Every perturbed trajectory takes exactly the steps of the unperturbed one, so step-size control adds no noise; the
function that is differenced is then smooth, and with 57-digit arithmetic nothing is lost to cancellation. A
perturbation of 1e-13 leaves an error near its square.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flint import arb

from sciml_bench.references.confirmation.perturbed_paths import Mesh, Path
from sciml_bench.references.engine.dynamics import Dynamics
from sciml_bench.references.engine.numbers import BITS_PER_DIGIT, precision
from sciml_bench.references.engine.objective import Objective
from sciml_bench.references.engine.step import StepFailure
from sciml_bench.references.engine.trajectory import Start, Trajectory
from sciml_bench.references.failures import ReferenceFailure

#: Perturbations relative to the size of what is perturbed, and the arithmetic that they need.
PERTURBATION = 1e-13
DIGITS = 57
#: A bend is looked at if it is this large against the slope, and against the objective: what rounding leaves of it.
_BENT, _NO_BEND = 1e-6, 1e-18
#: With twice the width the bend of a smooth function doubles, the bend of a kink stays.
_WIDER, _SMOOTH_RATIO = 2, 1.5


@dataclass(frozen=True)
class Direction:
    """A direction in the space of initial state and parameters (flat lists)."""

    label: str
    y0: tuple[arb, ...]
    p: tuple[arb, ...]


@dataclass(frozen=True)
class Difference:
    """A directional derivative.

    ``kinked`` if the objective has different derivatives to either side, so that this is none.
    """

    direction: Direction
    value: arb
    kinked: bool = False


def central_differences(
    dynamics: Dynamics,
    trajectory: Trajectory,
    start: Start,
    directions: Sequence[Direction],
    objective: Objective,
    progress: Callable[[float, int], object] | None = None,
    kinks: bool = True,
) -> list[Difference]:
    """Differentiate an objective along each direction: (value at +δ − value at −δ) / 2δ.

    ``progress`` is called with the time reached and the number of steps taken. ``kinks=False`` skips the search for
    kinks.

    Raises:
        ReferenceFailure: a perturbed trajectory cannot be followed on the given mesh.
    """
    if not directions:
        return []
    bits = int(DIGITS * BITS_PER_DIGIT) + 1

    def follow(pairs: Sequence[_Pair]) -> None:
        mesh = Mesh(dynamics, trajectory, start, bits, PERTURBATION)
        for count, step in enumerate(trajectory.steps):
            try:
                mesh.advance(step, [pair.paths for pair in pairs])
            except StepFailure as failure:
                place = float(step.place.t)
                raise ReferenceFailure(f"the central differences stop at t = {place:.12g}: {failure}") from failure
            if progress is not None:
                progress(float(step.place.t), count + 1)

    with precision(bits):
        pairs = [_Pair(start, direction, arb(PERTURBATION)) for direction in directions]
        # No perturbation: the middle of all pairs on this mesh.
        middle = [_Pair(start, directions[0], arb(0))] if kinks else []
        follow([*pairs, *middle])
        kinked = _kinked(pairs, middle[0].value(objective), start, objective, follow) if middle else set()
        return [
            Difference(direction, pair.difference(objective), index in kinked)
            for index, (direction, pair) in enumerate(zip(directions, pairs, strict=True))
        ]


def _kinked(
    pairs: Sequence[_Pair], middle: arb, start: Start, objective: Objective, follow: Callable[[Sequence[_Pair]], None]
) -> set[int]:
    """The pairs between whose sides the objective has a kink: its bend does not shrink with the width."""
    bends = [pair.bend(objective, middle) for pair in pairs]
    doubtful = [
        index
        for index, (pair, bend) in enumerate(zip(pairs, bends, strict=True))
        if abs(bend) > max(_BENT * abs(pair.difference(objective)), _NO_BEND * abs(middle))
    ]
    if not doubtful:
        return set()
    wider = [_Pair(start, pairs[index].direction, _WIDER * arb(PERTURBATION)) for index in doubtful]
    follow(wider)
    return {
        index
        for index, pair in zip(doubtful, wider, strict=True)
        if abs(pair.bend(objective, middle)) < _SMOOTH_RATIO * abs(bends[index])
    }


class _Pair:
    """The two trajectories on both sides along one direction."""

    def __init__(self, start: Start, direction: Direction, width: arb):
        self._width, self.direction = width, direction
        sides = []
        for signed in (width, -width):
            p = _moved(start.p, direction.p, signed)
            y0 = _moved(start.y0, direction.y0, signed) if start.around is None else start.around.initial(p)
            sides.append(Path(p, y0))
        self.paths: tuple[Path, Path] = (sides[0], sides[1])

    def difference(self, objective: Objective) -> arb:
        """The slope between both sides."""
        plus, minus = (objective.value(path.saved, path.p) for path in self.paths)
        return ((plus - minus) / (2 * self._width)).mid()

    def bend(self, objective: Objective, middle: arb) -> arb:
        """The difference of the slopes to either side of the ``middle``: as small as the width without a kink."""
        plus, minus = (objective.value(path.saved, path.p) for path in self.paths)
        return ((plus - 2 * middle + minus) / self._width).mid()

    def value(self, objective: Objective) -> arb:
        """The objective on one side."""
        return objective.value(self.paths[0].saved, self.paths[0].p)


def _moved(values: Sequence[arb], direction: Sequence[arb], width: arb) -> list[arb]:
    return [(a + width * b).mid() for a, b in zip(values, direction, strict=True)]
