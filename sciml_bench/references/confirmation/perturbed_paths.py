"""Perturbed trajectories on the mesh of a computed one, many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from flint import arb, arb_mat

from sciml_bench.references.engine.dynamics import Dynamics, FloatArray
from sciml_bench.references.engine.newton_matrix import NewtonMatrix
from sciml_bench.references.engine.numbers import precision
from sciml_bench.references.engine.predictor import Change, Tangent
from sciml_bench.references.engine.step import Place, StepFailure, newton_matrix, solve_stages, to_balls, to_doubles
from sciml_bench.references.engine.tableau import radau
from sciml_bench.references.engine.trajectory import Start, Step, Trajectory

#: What may be left of a correction, relative to the perturbation itself; and what arithmetic can resolve at all.
_TOLERANCE = 1e-24

_RESOLVED = 1e-50

#: Contraction differs from direction to direction.
_CAUTION = 10.0

#: Corrections that are larger, relative to the perturbation, are of a bad guess: doubles do not hold enough of them.
_SMALL = 1e-8

_SWEEPS = 3

#: Products of doubles, whose sums are needed to the digits that doubles have.
_RESIDUAL_BITS = 128

#: Directions that are taken through a step together.
_TOGETHER = 64


@dataclass
class Path:
    """A perturbed trajectory: its parameters, its present state, and its states at the saved times so far."""

    p: list[arb]
    y: list[arb]
    saved: list[list[arb]] = field(default_factory=list)


Pair = tuple[Path, Path]


class Mesh:
    """The steps of a trajectory, at a higher precision."""

    def __init__(self, dynamics: Dynamics, trajectory: Trajectory, start: Start, bits: int, perturbation: float):
        """Take a trajectory whose steps were kept; ``perturbation`` is the approximate size of the paths'
        perturbations.
        """
        self._tableau = radau(trajectory.settings.stages, bits)
        # The trajectory's own segments, at the higher precision.
        originals: list[object] = []
        for step in trajectory.steps:
            if not originals or originals[-1] is not step.place.segment:
                originals.append(step.place.segment)
        both = zip(dynamics.segments(), dynamics.in_complex(), strict=True)
        self._segments = dict(zip(map(id, originals), both, strict=False))
        self._p = start.p
        self._p_d = np.array([float(x) for x in start.p])
        # A perturbation spreads to components that are still much smaller than itself.
        self._perturbation, self._smallest = perturbation, perturbation * start.scale
        self._curved = False

    def advance(self, step: Step, pairs: Sequence[Pair]) -> None:
        """Take one step of the mesh along every path.

        Raises:
            StepFailure: the stage equations of some path cannot be solved.
        """
        segment, in_complex = self._segments[id(step.place.segment)]
        place = Place(segment, step.place.t, step.place.h, self._tableau)
        base = _Base(place, step, self._p, self._p_d, np.maximum(step.scale, self._smallest))
        tangent = Tangent(
            in_complex, base.times_d, base.states_d, self._p_d, base.h_a_d, base.scale, base.matrix, self._perturbation
        )
        repeated = False
        for first in range(0, len(pairs), _TOGETHER):
            part = pairs[first : first + _TOGETHER]
            u = np.array([[float(a - b) / 2 for a, b in zip(x.y, y.y, strict=True)] for x, y in part])
            q = np.array([[float(a - b) / 2 for a, b in zip(x.p, y.p, strict=True)] for x, y in part])
            odd, even = tangent.first(u, q), None
            if self._curved:
                v = [[float((a + b) / 2 - c) for a, b, c in zip(x.y, y.y, step.y, strict=True)] for x, y in part]
                even = tangent.second(odd, u, q, np.array(v))
            repeated |= _Stretch(base, part, odd, even, tangent.sizes(u + odd.w)).take()
        # If one sweep was not enough, the next steps start from better guesses.
        self._curved |= repeated
        if step.saved is not None:
            for path in (path for pair in pairs for path in pair):
                path.saved.append(path.y)


class _Base:
    """The known step, its factorised matrix and its residual."""

    def __init__(self, place: Place, step: Step, p: Sequence[arb], p_d: FloatArray, scale: FloatArray):
        s, n = place.tableau.stages, len(step.y)
        self.place, self.z, self.scale, self.shape = place, step.z, scale, (s, n)
        self.times = place.times
        self.h_a = place.tableau.a * place.h
        states = (arb_mat(s, n, list(step.y) * s) + step.z).mid().entries()
        self.matrix: NewtonMatrix = newton_matrix(place, states, p_d, scale)
        self.f = arb_mat([place.segment.rhs(self.times[i], states[i * n : i * n + n], p) for i in range(s)]).mid()
        self.residual = to_doubles((self.h_a * self.f - step.z).mid(), scale).reshape(s, n)
        self.times_d = np.array([float(t) for t in self.times])
        self.states_d = np.array([float(x) for x in states]).reshape(s, n)
        self.h_a_d = place.tableau.a_d * float(place.h)


@dataclass(frozen=True)
class _Part:
    """One pair's change of stage increments and slopes (s × n), and its residual in scaled variables, (s, n)."""

    w: arb_mat
    slopes: arb_mat
    residual: FloatArray


class _Stretch:
    """One step of some pairs of paths."""

    def __init__(self, base: _Base, pairs: Sequence[Pair], first: Change, second: Change | None, sizes: FloatArray):
        """Take the changes of the step along the pairs, to first and second order, and the first's sizes."""
        self._base = base
        self._paths = [path for pair in pairs for path in pair]
        self._sizes = np.repeat(sizes, 2)
        s, n = base.shape
        odd, even = self._parts(first), None if second is None else self._parts(second)
        self._states: list[arb_mat] = []
        self._f: list[list[arb]] = []
        self._ends: list[list[arb]] = []
        self._residuals = np.empty((len(self._paths), s, n))
        for k, pair in enumerate(pairs):
            z, f, residual = base.z, base.f, base.residual
            if even is not None:
                z, f, residual = z + even[k].w, f + even[k].slopes, residual + even[k].residual
            for side, path in enumerate(pair):
                sign, part = (1, -1)[side], odd[k]
                increments, slopes = (z + part.w, f + part.slopes) if sign > 0 else (z - part.w, f - part.slopes)
                self._states.append((arb_mat(s, n, path.y * s) + increments).mid())
                self._f.append(slopes.mid().entries())
                self._ends.append(increments.entries()[(s - 1) * n :])
                self._residuals[2 * k + side] = residual + sign * part.residual

    def _parts(self, change: Change) -> list[_Part]:
        """The change of each pair, and by how much its increments W miss h A times its slopes: with balls."""
        s, count, n = change.w.shape
        w, slopes = (arb_mat(s, count * n, values.ravel().tolist()) for values in (change.w, change.slopes))
        with precision(_RESIDUAL_BITS):
            missed = self._base.h_a * slopes - w
        residuals = np.array([float(x) for x in missed.entries()]).reshape(s, count, n) / self._base.scale
        return [
            _Part(
                arb_mat(s, n, change.w[:, k].ravel().tolist()),
                arb_mat(s, n, change.slopes[:, k].ravel().tolist()),
                residuals[:, k],
            )
            for k in range(count)
        ]

    def take(self) -> bool:
        """Solve the stage equations and move every path to the end of the step; whether one sweep did not do."""
        every = list(range(len(self._paths)))
        corrections = np.zeros((len(every), *self._base.shape))
        tolerances = np.maximum(_TOLERANCE * self._sizes, _RESOLVED)
        found = self._correct(corrections, every)
        worst = int(np.argmax(found))
        again = self._correct(corrections, [worst])[0]
        contractions = np.full(len(every), _contraction(found[worst], again))
        # It is the perturbation's own size, if that is more than rounding.
        contractions *= np.maximum(1.0, self._sizes / max(self._sizes[worst], _RESOLVED))
        full = [k for k in every if not found[k] <= _SMALL * max(self._sizes[k], _RESOLVED)]
        found[worst] = again
        repeated = left = [k for k in every if found[k] * contractions[k] > tolerances[k] and k not in full]
        for _ in range(_SWEEPS):
            if not left:
                break
            before, found[left] = found[left], self._correct(corrections, left)
            contractions[left] = [_contraction(*pair) for pair in zip(before, found[left], strict=True)]
            left = [k for k in left if found[k] * contractions[k] > tolerances[k]]
        full += left
        for k, path in enumerate(self._paths):
            path.y = self._solved(k, corrections[k], tolerances[k]) if k in full else self._end(k, corrections[k])
        return bool(repeated or full)

    def _correct(self, corrections: FloatArray, chosen: Sequence[int]) -> FloatArray:
        """Add a correction of Newton's method to the corrections of the chosen paths; returns the size of each."""
        base = self._base
        (s, n), rhs = base.shape, base.place.segment.rhs
        excess = np.empty((len(chosen), s, n))
        for row, k in zip(excess, chosen, strict=True):
            path, f = self._paths[k], self._f[k]
            states = self._states[k]
            if np.any(corrections[k]):
                states = (states + to_balls(corrections[k].ravel(), base.scale, s)).mid()
            entries = states.entries()
            for i in range(s):
                part = slice(i * n, i * n + n)
                found = rhs(base.times[i], entries[part], path.p)
                row[i] = [float(a - b) for a, b in zip(found, f[part], strict=True)]
        image = np.einsum("ij,kjn->kin", base.h_a_d, excess) / base.scale
        residual = image + self._residuals[list(chosen)] - corrections[list(chosen)]
        if not np.all(np.isfinite(residual)):
            raise StepFailure("the right-hand side is not finite")
        more = base.matrix.solve_many(residual.reshape(len(chosen), s * n).T).T.reshape(len(chosen), s, n)
        corrections[list(chosen)] += more
        return np.max(np.abs(more), axis=(1, 2))

    def _end(self, k: int, correction: FloatArray) -> list[arb]:
        last = to_balls(correction[-1], self._base.scale, 1).entries()
        return [(y + z + c).mid() for y, z, c in zip(self._paths[k].y, self._ends[k], last, strict=True)]

    def _solved(self, k: int, correction: FloatArray, tolerance: float) -> list[arb]:
        """The end of the step by Newton's method with all digits, where the first guess was a bad one."""
        base, path = self._base, self._paths[k]
        s, n = base.shape
        guess = self._states[k] - arb_mat(s, n, path.y * s)
        if float(np.max(np.abs(correction))) < 1.0:
            guess = guess + to_balls(correction.ravel(), base.scale, s)
        z = solve_stages(base.place, path.y, path.p, guess.mid(), base.scale, tolerance, base.matrix).z
        return [(a + b).mid() for a, b in zip(path.y, z.entries()[(s - 1) * n :], strict=True)]


def _contraction(before: float, after: float) -> float:
    """The factor by which the next correction is expected to be smaller, at least the rounding of doubles."""
    return max(_CAUTION * after / before if before > 0 else 0.0, 1e-15)
