"""The high-precision solver: Radau IIA collocation with many stages and variable steps, in python-flint.

The step size follows the highest Legendre coefficient of each step's polynomial, relative to the size of each
component. What accuracy that gives is not estimated but measured: see :mod:`sciml_bench.references.certificate`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from flint import arb, arb_mat
from sympy import Expr

from sciml_bench.references.engine.dynamics import Dynamics, FloatArray, Segment
from sciml_bench.references.engine.event_functions import Events, Jump
from sciml_bench.references.engine.events import Cut, Watcher
from sciml_bench.references.engine.numbers import exact, precision
from sciml_bench.references.engine.resolution import Resolution
from sciml_bench.references.engine.step import Place, Stages, StepFailure, solve_stages
from sciml_bench.references.engine.stops import stops
from sciml_bench.references.engine.tableau import Tableau, radau
from sciml_bench.references.engine.trajectory import Settings, Start, Step, Trajectory
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.spec.model import to_double

_UNKNOWN_SIZE = 1e-8
#: A state so many times larger than the initial one has blown up, when the steps end there.
_GROWN = 1e8
_SAFETY = 0.8
_GROWTH = 4.0
_SHRINK = 0.15
#: Steps shorter than this fraction of the time reached (and of the span) mean that the solution does not exist further.
_SHORTEST = 1e-26
_SEED = 7
#: How much of what the tail allows a component is moved by: more would be a transient that the steps have to resolve.
_SHAKE = 1e-3
#: The largest h·Re λ of a step, for each stage: the method's exp(z) is right to one part in 1e8 there.
_GROWTH_OF_STEP = 0.5
#: Of more components the eigenvalues are computed only every twentieth step: their cost grows with the cube.
_MANY, _RATE_STEPS = 64, 20


Progress = Callable[[float, int], Any]


def solve(
    dynamics: Dynamics,
    start: Start,
    t0: Expr,
    save_times: Sequence[Expr],
    settings: Settings,
    keep_steps: bool = False,
    progress: Progress | None = None,
    events: Events | None = None,
) -> Trajectory:
    """Integrate from t0 over every saved time; breakpoints and saved times are stepped on exactly.

    Args:
        dynamics: the right-hand side.
        start: initial state and parameters.
        t0: start of the time span.
        save_times: increasing times after t0; the last ends the integration.
        settings: stages, tolerance, precision.
        keep_steps: keep every step, for gradients on the same mesh.
        progress: called with the time reached and the number of steps taken.
        events: what changes the state on the way.

    Raises:
        ReferenceFailure: the solution blows up, or cannot be followed; the message says where and why.
    """
    with precision(settings.bits):
        return _March(dynamics, start, t0, save_times, settings, keep_steps, progress, events).run()


class _March:
    def __init__(
        self,
        dynamics: Dynamics,
        start: Start,
        t0: Expr,
        save_times: Sequence[Expr],
        settings: Settings,
        keep_steps: bool,
        progress: Progress | None,
        events: Events | None,
    ):
        self.settings, self.keep_steps, self.progress = settings, keep_steps, progress
        self.tableau: Tableau = radau(settings.stages, settings.bits)
        self.start = start
        self.t, self.y = exact(t0), [(+value).mid() for value in start.y0]
        self.dynamics, self.segments = dynamics, list(dynamics.segments())
        self.resolutions = [Resolution(source, keep_steps) for source in dynamics.sources] if settings.resolved else []
        self.targets = stops(dynamics.ends, save_times)
        self.span = to_double(save_times[-1]) - to_double(t0)
        self.h = settings.first_step * (to_double(save_times[0]) - to_double(t0))
        self.largest = np.array([abs(float(value)) for value in self.y])
        self.first = self.largest
        self.p_d = np.array([float(value) for value in start.p])
        self.rate, self.rate_at = 0.0, -_RATE_STEPS
        self.has_moved = np.zeros(len(self.y), dtype=bool)
        self._signs = random.Random(_SEED)
        self.sides = [self._sign() for _ in self.y]
        self.cause = "the solution is not smooth"
        self.last: tuple[float, FloatArray] | None = None
        self.trajectory = Trajectory(settings, largest=self.largest)
        self.scheduled = {} if events is None else events.scheduled
        self.watcher = None if events is None else Watcher(events, start.p, self.span)
        self.has_jumped = False

    def run(self) -> Trajectory:
        if self.watcher is not None:
            self.watcher.begin(self.t, self.y)
        for target, saved, ends_segment in self.targets:
            self._reach(target, saved)
            if saved is not None:
                self.trajectory.saved.append(tuple(self.y))
            if ends_segment and len(self.segments) > 1:
                self.segments.pop(0)
                self.resolutions[:1] = []
                self._start_again()
                for event in self.scheduled.get(float(target), ()):
                    self._jump(event, self.segments[0], scheduled=True)
        self.trajectory.largest = self.largest
        return self.trajectory

    def _reach(self, target: arb, saved: int | None) -> None:
        while self.t < target:
            left = float(target - self.t)
            self.h = min(self.h, self._longest())
            proposed = self.h
            final = self.h >= 0.999 * left
            h = target - self.t if final else arb(min(self.h, left / 2 if self.h > left / 2 else self.h))
            accepted, factor = self._step(h.mid(), saved if final else None)
            if self.has_jumped:
                self.has_jumped = False
                continue
            taken = float(h)
            # A step may be cut as short as two times are apart.
            if not (accepted and final):
                self._guard(taken * factor)
            if accepted:
                self.t = target if final else (self.t + h).mid()
                # A step that was cut to reach a time says little against the length proposed before.
                self.h = max(taken * factor, proposed) if taken < 0.9 * proposed and factor > 1 else taken * factor
            else:
                self.h = taken * factor
                self.trajectory.n_rejected += 1

    def _longest(self) -> float:
        """The step over which the fastest growth here is still reproduced."""
        n_steps = self.trajectory.n_steps
        if n_steps != self.rate_at and (len(self.y) <= _MANY or n_steps >= self.rate_at + _RATE_STEPS):
            here = np.array([float(value) for value in self.y])
            self.rate, self.rate_at = growth_rate(self.segments[0], float(self.t), here, self.p_d), n_steps
        return _GROWTH_OF_STEP * self.tableau.stages / self.rate if self.rate > 0 else np.inf

    def _step(self, h: arb, saved: int | None) -> tuple[bool, float]:
        place = Place(self.segments[0], self.t, h, self.tableau)
        s = self.tableau.stages
        try:
            stages, scale = self._solve(place)
        except StepFailure as failure:
            self.cause = str(failure)
            self.last = None
            return False, 0.3
        tail = self._tail(stages, h, scale)
        factor = _SAFETY * (self.settings.tail / max(tail, 1e-300)) ** (1 / s)
        if tail > 3 * self.settings.tail:
            self.cause = "the step's polynomial does not resolve the solution"
            return False, max(_SHRINK, min(factor, 0.9))
        if self.resolutions:
            try:
                missed = self.resolutions[0].unresolved(
                    place, self.y, stages.z, stages.f, self.start.p, scale, self.settings.tail
                )
            except StepFailure as failure:
                self.cause = str(failure)
                return False, 0.5
            if missed is not None:
                self.cause = f"something narrow happens near t = {float(place.t) + missed * float(h):.12g}"
                return False, 0.5
        if self.watcher is not None:
            try:
                cut = self.watcher.cut(place, self.y, stages, scale, self.settings.tail, self.settings.newton_tolerance)
            except StepFailure as failure:
                self.cause = str(failure)
                return False, 0.5
            if cut is not None:
                self._accept_cut(cut, scale)
                return True, 1.0
            self.watcher.moved_on()
        self._accept(place, stages, scale, saved)
        return True, min(_GROWTH, max(factor, _SHRINK))

    def _solve(self, place: Place) -> tuple[Stages, FloatArray]:
        """The step, and the size of each component over it."""
        s, n = self.tableau.stages, len(self.y)
        guess = self._guess(float(place.h))
        scale = self._scale(guess)
        if self.last is None:
            # Components that start from zero have no size yet: the first guess is a step of Euler's method.
            slope = np.array([float(x) for x in place.segment.rhs(place.t, self.y, self.start.p)])
            scale = np.maximum(scale, np.abs(float(place.h) * slope))
            scale = np.maximum(scale, _UNKNOWN_SIZE * scale.max())
        if not np.all(np.isfinite(scale)):
            raise StepFailure("the solution leaves the range of doubles")
        tolerance = self.settings.newton_tolerance
        stages = solve_stages(place, self.y, self.start.p, arb_mat(s, n, guess.ravel().tolist()), scale, tolerance)
        size = self._scale(_doubles(stages.z))
        if np.any(size < 0.1 * scale):
            stages = solve_stages(place, self.y, self.start.p, stages.z, size, tolerance)
        return stages, size

    def _accept(self, place: Place, stages: Stages, scale: FloatArray, saved: int | None) -> None:
        s, n = self.tableau.stages, len(self.y)
        trajectory = self.trajectory
        if self.keep_steps:
            trajectory.steps.append(Step(place, tuple(self.y), stages.z, scale, saved))
        entries = stages.z.entries()
        self.last = (float(place.h), _doubles(stages.z))
        end = [(a + b).mid() for a, b in zip(self.y, entries[(s - 1) * n :], strict=True)]
        self.y = self._moved(end, stages, scale) if self.settings.push or self.settings.shaken else end
        here = np.array([float(value) for value in self.y])
        self.largest = np.maximum(self.largest, np.abs(here))
        trajectory.mesh.append(float(place.t + place.h))
        trajectory.path.append(here)
        trajectory.n_steps += 1
        trajectory.n_iterations += stages.iterations
        if self.progress is not None:
            self.progress(float(place.t + place.h), trajectory.n_steps)
        if trajectory.n_steps >= self.settings.max_steps:
            raise ReferenceFailure(
                f"the reference solution reached only t = {float(self.t):.6g} in {trajectory.n_steps} steps:"
                " the problem is too long or too irregular for the reference engine"
            )

    def _accept_cut(self, cut: Cut, scale: FloatArray) -> None:
        """Take a step that ends in an event, and continue from the state after it."""
        self._accept(cut.place, cut.stages, scale, None)
        self.t = (cut.place.t + cut.place.h).mid()
        self._start_again()
        self._jump(cut.event, cut.place.segment, scheduled=False)
        self.has_jumped = True

    def _start_again(self) -> None:
        self.last = None
        self.h = min(self.h, self.settings.first_step * self.span)

    def _jump(self, event: int, left: Segment, *, scheduled: bool) -> None:
        assert self.watcher is not None
        before = tuple(self.y)
        if any(source.conditions for source in self.dynamics.sources):
            # A jump may take a condition of the equations to its other side.
            self.segments = list(self.dynamics.segments())[-len(self.segments) :]
        after = self.watcher.functions.after(event, self.t, before, self.start.p)
        if not all(value.is_finite() for value in after):
            raise ReferenceFailure(f"an event leaves no finite state at t = {float(self.t):.12g}", float(self.t))
        jump = Jump(event, self.t, before, after, left, self.segments[0], scheduled)
        self.trajectory.jumps.append((self.trajectory.n_steps, jump))
        self.y = list(after)
        self.watcher.fired(event, self.t, before, self.y, self.segments[0])

    def _guess(self, h: float) -> FloatArray:
        s, n = self.tableau.stages, len(self.y)
        if self.last is None:
            return np.zeros((s, n))
        h_last, z_last = self.last
        with np.errstate(all="ignore"):
            return self.tableau.extrapolation(h / h_last, max(1, s // 2)) @ z_last

    def _scale(self, increments: FloatArray) -> FloatArray:
        """Size of each component over the step: of its end points and stages, but not below what counts."""
        y = np.array([float(value) for value in self.y])
        sizes = np.maximum(np.abs(y), np.max(np.abs(y + increments), axis=0))
        return np.maximum(sizes, self._floor())

    def _floor(self) -> FloatArray:
        return np.maximum(self.settings.negligible * self.largest, self.settings.floor * self.start.scale)

    def _moved(self, end: list[arb], stages: Stages, scale: FloatArray) -> list[arb]:
        """The state with every component moved by an error that it may have.

        A component that is zero and whose slope is zero stays, and so does one that has never moved: nothing says that
        it is anything else.
        """
        n, floor, settings = len(end), self._floor(), self.settings
        slopes = stages.f.entries()
        moved = list(end)
        for i, value in enumerate(end):
            slides = any(x != 0 for x in slopes[i::n])
            self.has_moved[i] |= slides
            if abs(float(value)) >= floor[i]:
                error = self._sign() * settings.newton_tolerance if settings.shaken and self.has_moved[i] else 0.0
            else:
                error = settings.push * self.sides[i] * _SHAKE * settings.tail if value != 0 or slides else 0.0
            if error:
                moved[i] = (value + arb(error) * arb(float(scale[i]))).mid()
        return moved

    def _sign(self) -> int:
        return 1 if self._signs.random() < 0.5 else -1

    def _tail(self, stages: Stages, h: arb, scale: FloatArray) -> float:
        return float(np.max(np.abs(_doubles((self.tableau.tail * stages.f) * h)) / scale))

    def _guard(self, h: float) -> None:
        here = float(self.t)
        if np.isfinite(h) and h > _SHORTEST * max(self.span * 1e-6, abs(here)):
            return
        sizes = ", ".join(f"{float(value):.3g}" for value in self.y[:4])
        more = ", …" if len(self.y) > 4 else ""
        grown = max(abs(float(value)) for value in self.y) > _GROWN * max(self.first.max(), self.start.scale.max())
        raise ReferenceFailure(
            f"the reference solution stops at t = {here:.12g}: the step size fell to {h:.2g} because {self.cause};"
            f" the state there is ({sizes}{more})." + (BLOWS_UP if grown else f" {_STUCK}"),
            here,
        )


def growth_rate(segment: Segment, t: float, y: FloatArray, p: FloatArray) -> float:
    """The largest real part of an eigenvalue of the Jacobian at a point, if it is positive, or 0."""
    entries = segment.jacobian(np.array([t]), y[:, None], p)[:, 0]
    if not np.all(np.isfinite(entries)):
        return 0.0
    matrix = np.zeros((len(y), len(y)))
    np.add.at(matrix, (segment.rows, segment.columns), entries)
    # Gershgorin's circles are quickly drawn, and often enough.
    diagonal = np.diag(matrix)
    if np.max(diagonal + np.sum(np.abs(matrix), axis=1) - np.abs(diagonal)) <= 0:
        return 0.0
    return max(0.0, float(np.max(np.linalg.eigvals(matrix).real)))


BLOWS_UP = " The solution blows up."
_STUCK = (
    "The state does not grow there: look for a formula that is 0/0, a kink, or a change that is too fast for the time "
    "span."
)


def _doubles(matrix: arb_mat) -> FloatArray:
    return np.array([float(x) for x in matrix.entries()]).reshape(matrix.nrows(), matrix.ncols())
