"""Events along a solution: the zeros of their conditions, proved step by step, and the jumps of state and adjoint.

Inside a step the solution is its collocation polynomial, within the tail that the step may leave. A condition is
evaluated over pieces of the step in ball arithmetic: on a piece over which it cannot be zero, or only passes zero in
the other direction, nothing happens; on one over which its derivative has one sign there is one crossing or none, and
the signs at both ends say which. Other pieces are halved. So no event is missed between the steps, and a condition that
touches zero without passing it is refused.

The state after an event at time τ is y⁺ = R(y⁻, τ, p) with g(y⁻, τ, p) = 0. A change of y⁻ or p moves τ by
δτ = −(g_y δy⁻ + g_p δp)/ġ with ġ = g_y f⁻ + g_t, and y⁺ at a fixed time by R_y δy⁻ + R_p δp + (R_y f⁻ + R_t − f⁺) δτ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import sympy
from flint import arb, arb_mat, arb_poly

from sciml_bench.emit.flint import FlintSource
from sciml_bench.emit.symbolic.scalar import scalarise_events
from sciml_bench.references.engine.dynamics import BALLS, Dynamics, FloatArray, Segment, compiled
from sciml_bench.references.engine.numbers import exact, precision
from sciml_bench.references.engine.step import Place, Stages, solve_stages
from sciml_bench.references.engine.tableau import radau
from sciml_bench.references.progress import ReferenceFailure
from sciml_bench.spec.model import Problem, to_double

#: Precision at which conditions are enclosed, and the tails of a step by which its polynomial may be off.
_BITS, _TAILS = 160, 100.0
#: A piece of a step this short on which nothing is decided: the condition touches zero, or stays there.
_SHORTEST_PIECE = 2.0**-40
#: Where pieces are cut; another place if the condition is about zero there.
_CUTS = (0.4975, 0.4625, 0.5375)
#: What the state at a located event may be off, relative to the size of a component.
_LOCATED = 1e-22
#: Two events closer than this share of a step happen at once.
_AT_ONCE = 1e-9
_MAX_CORRECTIONS = 12
#: Corrections of an event's time, relative to the step, that may be rounding.
_ROUNDING = 1e-20
#: More jumps are not followed; shorter intervals, against the time span, mean that they accumulate.
MAX_JUMPS, _SHORTEST_INTERVAL = 5000, 1e-10


@dataclass(frozen=True)
class Jump:
    """An event that happened: its number, its time, the states before and after it, and the equations on both sides."""

    event: int
    t: arb
    before: tuple[arb, ...]
    after: tuple[arb, ...]
    left: Segment
    right: Segment
    scheduled: bool


@dataclass(frozen=True)
class Cut:
    """A step that ends in an event."""

    event: int
    place: Place
    stages: Stages


class Events:
    """The events of a problem; :meth:`compiled` gives their functions at the current precision."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.conditions = [k for k, event in enumerate(problem.events) if event.when is not None]
        self.scheduled = {to_double(t): [] for event in problem.events for t in event.at}
        for k, event in enumerate(problem.events):
            for t in event.at:
                self.scheduled[to_double(t)].append(k)
        # Apart, so that a branch of a reset is not evaluated with the conditions.
        system, m = scalarise_events(problem), len(self.conditions)
        self._sources = [
            Dynamics(replace(system, outputs=outputs), problem.t0, problem.t1, (), problem.p, None).sources[0]
            for outputs in (system.outputs[:m] or (sympy.S.Zero,), system.outputs[m:])
        ]

    def compiled(self) -> EventFunctions:
        """The functions of the events at the current precision."""
        return EventFunctions(self, *self._sources)


class Branches:
    """Branches of conditions and resets as enclosures: one that is undecided on a ball gives the hull of both sides.

    ``jumped`` and ``bent`` are set by an undecided branch that may jump, or that may only bend; :meth:`watch` clears
    them.
    """

    def __init__(self) -> None:
        self.jumped = self.bent = False

    def watch(self) -> Branches:
        """Forget earlier branches."""
        self.jumped = self.bent = False
        return self

    def functions(self) -> dict[str, Callable[..., Any]]:
        """The functions of an emitted module that branch."""
        return {
            "above": lambda x, _: self._side(x, 0, 1), "above_or_at": lambda x, _: self._side(x, 0, 1),
            "sign": lambda x, _: self._side(x, -1, 1), "choose": _either, "absolute": self._absolute,
            "chosen_min": lambda a, b: self._bend(b - a), "chosen_max": lambda a, b: self._bend(a - b),
        }  # fmt: skip

    def _side(self, x: arb, below: int, above: int) -> arb:
        if x > 0 or x < 0:
            return arb(above if x > 0 else below)
        self.jumped = True
        return arb(below).union(arb(above))

    def _bend(self, x: arb) -> arb:
        if x > 0 or x < 0:
            return arb(int(x > 0))
        self.bent = True
        return arb(0).union(arb(1))

    def _absolute(self, x: arb) -> arb:
        self.bent |= not (x > 0 or x < 0)
        return abs(x)


def _either(test: arb, a: Any, b: Any) -> Any:
    return a if test > 0.5 else b if test < 0.5 else arb(a).union(arb(b))


class EventFunctions:
    """Conditions and resets of events on balls. The time is the last component of the state in their derivatives."""

    def __init__(self, events: Events, conditions: FlintSource, resets: FlintSource):
        self.events, self.branches = events, Branches()
        self._conditions, self._resets = self._compiled(conditions), self._compiled(resets)
        self._scale = [value for state in events.problem.states for value in state.scale]
        self.names = [event.name for event in events.problem.events]
        self.n, self.m = events.problem.n_states, len(events.conditions)

    def _compiled(self, source: FlintSource) -> dict[str, Callable[..., Any]]:
        constants = {name: exact(value) for name, value in source.constants.items()}
        return compiled(source, BALLS | self.branches.functions() | constants)

    def values(self, t: arb, y: Sequence[arb], p: Sequence[arb]) -> list[arb]:
        """The conditions, in their order."""
        return self._conditions["rhs"](t, [*y, t], p)[: self.m]

    def after(self, event: int, t: arb, y: Sequence[arb], p: Sequence[arb]) -> tuple[arb, ...]:
        """The state after an event.

        Raises:
            ReferenceFailure: a branch of the reset is at its threshold there, to rounding.
        """
        part = slice(event * self.n, (event + 1) * self.n)
        sizes = [max(float(abs(value)), scale) for value, scale in zip((*y, t), (*self._scale, 1e-3), strict=True)]
        near = [value + arb(0, _LOCATED * size) for value, size in zip((*y, t), sizes, strict=True)]
        branches = self.branches.watch()
        around = self._resets["rhs"](t, near, p)[part]
        if branches.jumped or branches.bent or not all(value.is_finite() for value in around):
            raise ReferenceFailure(
                f"the reset of the event '{self.names[event]}' branches, bends or has no value at t = {float(t):.12g},"
                " at the state of the event: write the values after the event without the branch",
                float(t),
            )
        return tuple(value.mid() for value in self._resets["rhs"](t, [*y, t], p)[part])

    def is_zero(self, j: int, t: arb, y: Sequence[arb], p: Sequence[arb]) -> bool:
        """Return whether a condition is zero, to the rounding of a located event."""
        by_state, _ = self._pulled(j, t, y, p)
        sizes = [max(float(abs(value)), scale) for value, scale in zip(y, self._scale, strict=True)]
        size = sum(float(abs(slope).upper()) * x for slope, x in zip(by_state, [*sizes, abs(float(t))], strict=True))
        return bool(abs(self.values(t, y, p)[j]) <= _LOCATED * size)

    def slope(self, j: int, t: arb, y: Sequence[arb], p: Sequence[arb], f: Sequence[arb]) -> arb:
        """The derivative of condition ``j`` along the solution."""
        by_state, _ = self._pulled(j, t, y, p)
        return _dot(by_state[: self.n], f) + by_state[self.n]

    def pull(self, jump: Jump, adjoint: Sequence[arb], p: Sequence[arb]) -> tuple[list[arb], list[arb]]:
        """The adjoint before a jump, and its share in the derivatives by the parameters."""
        t, before = jump.t, jump.before
        seeds = [arb(0)] * (self.n * len(self.names))
        seeds[jump.event * self.n : (jump.event + 1) * self.n] = adjoint
        by_state, by_p = self._resets["pullback"](t, [*before, t], p, seeds)
        if jump.scheduled:
            return [value.mid() for value in by_state[: self.n]], [value.mid() for value in by_p]
        left, right = jump.left.rhs(t, before, p), jump.right.rhs(t, jump.after, p)
        moved = _dot(by_state[: self.n], left) + by_state[self.n] - _dot(adjoint, right)
        j = self.events.conditions.index(jump.event)
        of_condition, of_p = self._pulled(j, t, before, p)
        factor = -moved / (_dot(of_condition[: self.n], left) + of_condition[self.n])
        state = [(a + factor * b).mid() for a, b in zip(by_state, of_condition, strict=True)][: self.n]
        return state, [(a + factor * b).mid() for a, b in zip(by_p, of_p, strict=True)]

    def _pulled(self, j: int, t: arb, y: Sequence[arb], p: Sequence[arb]) -> tuple[list[arb], list[arb]]:
        """The derivatives of condition ``j`` by the state, then the time, and by the parameters."""
        return self._conditions["pullback"](t, [*y, t], p, [arb(int(i == j)) for i in range(max(1, self.m))])


def _dot(a: Sequence[arb], b: Sequence[arb]) -> arb:
    return sum((x * y for x, y in zip(a, b, strict=True)), arb(0))


class Watcher:
    """Looks for events in the steps of a solution."""

    def __init__(self, events: Events, p: Sequence[arb], span: float):
        self.functions, self._p, self._span = events.compiled(), p, span
        with precision(_BITS):
            self._low = events.compiled()
        self._events = events
        self._at_zero: int | None = None
        self._last: float | None = None
        self._count = 0

    def begin(self, t: arb, y: Sequence[arb]) -> None:
        """Refuse a condition that is zero at the start."""
        for j in range(self.functions.m):
            if self.functions.is_zero(j, t, y, self._p):
                raise ReferenceFailure(
                    f"the condition of the event '{self._name(j)}' is zero at the start, t = {float(t):.6g}: whether"
                    " the event happens there is not defined; start before or after it",
                    float(t),
                )

    def cut(
        self, place: Place, y: Sequence[arb], stages: Stages, scale: FloatArray, tail: float, tolerance: float
    ) -> Cut | None:
        """The step up to the first event in it; ``None`` if there is none.

        Raises:
            ReferenceFailure: an event touches its threshold, or two happen at once.
        """
        if not self.functions.m:
            return None
        with precision(_BITS):
            path = _Path(self._low, place, y, stages, self._p, _TAILS * tail * scale)
            roots = sorted(
                (path.root(j, *piece), j)
                for j in range(self.functions.m)
                if (piece := self._first(path, j)) is not None
            )
        if not roots:
            return None
        if len(roots) > 1 and roots[1][0] - roots[0][0] < _AT_ONCE:
            a, b = self._name(roots[0][1]), self._name(roots[1][1])
            raise ReferenceFailure(
                f"the events '{a}' and '{b}' happen at once, at t = {path.time(roots[0][0]):.12g}: which one comes"
                " first is not defined, and neither is the gradient",
                path.time(roots[0][0]),
            )
        theta, j = roots[0]
        return self._located(path, theta, j, place, y, scale, tolerance)

    def fired(self, event: int, t: arb, y: Sequence[arb]) -> None:
        """Refuse events that accumulate, or that put another condition at zero."""
        now, self._count = float(t), self._count + 1
        close = self._last is not None and now - self._last < _SHORTEST_INTERVAL * self._span
        if close or self._count > MAX_JUMPS:
            raise ReferenceFailure(
                f"events accumulate near t = {now:.12g}: '{self.functions.names[event]}' is the"
                f" {self._count}th. End the time span before, or write what happens after it as another problem",
                now,
            )
        self._last = now if event in self._events.conditions else self._last
        self._at_zero = None
        for j in range(self.functions.m):
            if not self.functions.is_zero(j, t, y, self._p):
                continue
            if self._events.conditions[j] == event:
                self._at_zero = j
            else:
                raise ReferenceFailure(
                    f"the event '{self.functions.names[event]}' at t = {now:.12g} puts the condition of"
                    f" '{self._name(j)}' at zero: whether that happens too is not defined",
                    now,
                )

    def moved_on(self) -> None:
        """A step without an event was taken: no condition is at zero any longer."""
        self._at_zero = None

    def _name(self, j: int) -> str:
        return self.functions.names[self._events.conditions[j]]

    def _first(self, path: _Path, j: int) -> tuple[float, float] | None:
        """The first piece of a step over which a condition passes zero once, in the direction of its event."""
        event = self._events.conditions[j]
        direction = self._events.problem.events[event].direction
        at_zero = self._at_zero == j
        pieces = [(0.0, 1.0)]
        while pieces:
            a, b = pieces.pop()
            if not path.value(j, a, b).contains(0):
                continue
            slope, has_jump = path.slope(j, a, b)
            rises = 0 if has_jump else 1 if slope > 0 else -1 if slope < 0 else 0
            if rises and direction in (0, rises):
                start = 0 if a == 0.0 and at_zero else path.sign(j, a)
                end = path.sign(j, b)
                if end == 0 and b < 1.0:
                    # A crossing is not within rounding at all places where the piece before could be cut.
                    raise self._touching(j, path, b)
                if end == 0:
                    raise ReferenceFailure(
                        f"the event '{self._name(j)}' happens at t = {path.time(b):.12g}, which is a saved time or a"
                        " breakpoint: the state there is not defined; move one of them",
                        path.time(b),
                    )
                if start * rises < 0 < end * rises:
                    return a, b
            if rises:
                continue
            if b - a < _SHORTEST_PIECE:
                raise self._touching(j, path, a)
            cuts = [a + share * (b - a) for share in _CUTS]
            middle = next((cut for cut in cuts if path.sign(j, cut)), cuts[0])
            pieces += [(middle, b), (a, middle)]
        return None

    def _touching(self, j: int, path: _Path, place: float) -> ReferenceFailure:
        t = path.time(place)
        return ReferenceFailure(
            f"the condition of the event '{self._name(j)}' touches zero, or jumps, near t = {t:.12g} without passing it"
            " clearly: a small change of a parameter makes or removes the event, so that the solution has no derivative"
            " there",
            t,
        )

    def _located(
        self, path: _Path, theta: float, j: int, place: Place, y: Sequence[arb], scale: FloatArray, tolerance: float
    ) -> Cut:
        """The step that ends in the event, to the working precision."""
        h = (place.h * arb(theta)).mid()
        guess = path.increments([float(c) * theta for c in place.tableau.nodes_d])
        last = np.inf
        for _ in range(_MAX_CORRECTIONS):
            shorter = Place(place.segment, place.t, h, place.tableau)
            stages = solve_stages(shorter, y, self._p, guess, scale, tolerance)
            guess, n, s = stages.z, len(y), place.tableau.stages
            end = [(a + b).mid() for a, b in zip(y, stages.z.entries()[(s - 1) * n :], strict=True)]
            t = (place.t + h).mid()
            value = self.functions.values(t, end, self._p)[j]
            slope = self.functions.slope(j, t, end, self._p, place.segment.rhs(t, end, self._p))
            more = (-value / slope).mid()
            size, least = float(abs(more)), max(float(abs(h)), 1e-6 * abs(float(t)))
            if not size <= float(abs(h)) / 4:
                break
            # Corrections that no longer shrink are rounding, which a condition that is nearly flat makes large.
            if size <= tolerance * least or (size <= _ROUNDING * least and size >= last / 2):
                return Cut(self._events.conditions[j], shorter, stages)
            last = size
            h = (h + more).mid()
        raise ReferenceFailure(
            f"the time of the event '{self._name(j)}' near t = {path.time(theta):.12g} cannot be located",
            path.time(theta),
        )


class _Path:
    """The polynomial of a step, 0 ≤ θ ≤ 1, and the conditions along it."""

    def __init__(
        self,
        functions: EventFunctions,
        place: Place,
        y: Sequence[arb],
        stages: Stages,
        p: Sequence[arb],
        off: FloatArray,
    ):
        self._functions, self._place, self._p = functions, place, p
        s, n = place.tableau.stages, len(y)
        coefficients = (_monomials(s) * stages.z).mid().tolist()
        self._polynomials = [arb_poly([y[i], *(row[i] for row in coefficients)]) for i in range(n)]
        self._y0 = list(y)
        self._off = [arb(0, float(value)) for value in off]

    def time(self, theta: float) -> float:
        """The time at a place of the step."""
        return float(self._place.t + self._place.h * arb(theta))

    def _at(self, a: float, b: float) -> tuple[arb, list[arb]]:
        middle, radius = arb((a + b) / 2), arb(0, (b - a) / 2)
        t = self._place.t + self._place.h * (middle + radius)
        if a == b:
            return t, [q(middle) + off for q, off in zip(self._polynomials, self._off, strict=True)]
        around = arb_poly([middle, 1])
        return t, [q(around)(radius) + off for q, off in zip(self._polynomials, self._off, strict=True)]

    def value(self, j: int, a: float, b: float) -> arb:
        """A ball that holds a condition over a piece; if it has no value there, one of practically all numbers."""
        t, y = self._at(a, b)
        value = self._functions.values(t, y, self._p)[j]
        return value if value.is_finite() else arb(0, 1e300)

    def slope(self, j: int, a: float, b: float) -> tuple[arb, bool]:
        """A ball that holds the derivative of a condition by the time over a piece, and whether it may jump there."""
        t, y = self._at(a, b)
        branches = self._functions.branches.watch()
        found = self._functions.slope(j, t, y, self._p, self._place.segment.rhs(t, y, self._p))
        return found, branches.jumped

    def sign(self, j: int, theta: float) -> int:
        """The sign of a condition at one place; 0 if it is not decided."""
        value = self.value(j, theta, theta)
        return 1 if value > 0 else -1 if value < 0 else 0

    def root(self, j: int, a: float, b: float) -> float:
        """The place between two at which a condition is zero, to the precision of doubles, by regula falsi."""
        left, right = (float(self.value(j, x, x).mid()) for x in (a, b))
        for _ in range(60):
            middle = (a + b) / 2 if left == right else min(max(a - left * (b - a) / (right - left), a), b)
            # The side that stays is taken for half as large (Illinois).
            found = float(self.value(j, middle, middle).mid())
            if found == 0.0 or b - a <= 4e-16 * max(b, 1e-300):
                return middle
            if (found > 0) == (right > 0):
                b, right, left = middle, found, left / 2
            else:
                a, left, right = middle, found, right / 2
        return (a + b) / 2

    def increments(self, places: Sequence[float]) -> arb_mat:
        """The polynomial at places of the step, without the state at its start: (places × n)."""
        return arb_mat(
            [[(q(arb(x)) - y).mid() for q, y in zip(self._polynomials, self._y0, strict=True)] for x in places]
        )


@cache
def _monomials(stages: int) -> arb_mat:
    """From increments at the nodes to coefficients of θ, θ², …: (s × s)."""
    with precision(2 * _BITS):
        nodes = radau(stages, 2 * _BITS).nodes
        return arb_mat([[c ** (k + 1) for k in range(stages)] for c in nodes]).inv().mid()


def times_of(jumps: Sequence[tuple[int, Jump]], names: Sequence[str]) -> list[tuple[str, arb]]:
    """Name and time of each jump, in order."""
    return [(names[jump.event], jump.t) for _, jump in jumps]


def matching_times(a: Sequence[tuple[int, Jump]], b: Sequence[tuple[int, Jump]], span: float) -> float:
    """The digits that two computations have in common in the times of their events, against the time span.

    Raises:
        ReferenceFailure: they have different events.
    """
    if [jump.event for _, jump in a] != [jump.event for _, jump in b]:
        raise ReferenceFailure(f"two runs have different events: {len(a)} and {len(b)} of them")
    worst = max((float(abs(x.t - y.t)) / span for (_, x), (_, y) in zip(a, b, strict=True)), default=0.0)
    return -float(np.log10(worst)) if worst > 0 else np.inf
