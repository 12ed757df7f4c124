"""Events along a solution: the zeros of their conditions, proved step by step.

Inside a step the solution is its collocation polynomial, within the tail that the step may leave. A condition is
evaluated over pieces of the step in ball arithmetic: on a piece over which it cannot be zero, or only passes zero in
the other direction, nothing happens; on one over which its derivative has one sign there is one crossing or none, and
the signs at both ends say which. Other pieces are halved. So no event is missed between the steps, and a condition that
touches zero without passing it is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from flint import arb, arb_mat, arb_poly

from sciml_bench.references.engine.dynamics import FloatArray, Segment
from sciml_bench.references.engine.event_functions import EventFunctions, Events, Jump
from sciml_bench.references.engine.numbers import precision
from sciml_bench.references.engine.step import Place, Stages, solve_stages
from sciml_bench.references.engine.tableau import radau
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.spec.event import RUNNING

#: Precision at which conditions are enclosed, and the tails of a step by which its polynomial may be off.
_BITS, _TAILS = 160, 100.0
#: A piece of a step this short on which nothing is decided: the condition touches zero, or stays there.
_SHORTEST_PIECE = 2.0**-40
#: Where pieces are cut; another place if the condition is about zero there.
_CUTS = (0.4975, 0.4625, 0.5375)
#: Two events closer than this share of a step happen at once.
_AT_ONCE = 1e-9
_MAX_CORRECTIONS = 12
#: Corrections of an event's time, relative to the step, that may be rounding.
_ROUNDING = 1e-20
#: More jumps are not followed; shorter intervals, against the time span, mean that they accumulate.
MAX_JUMPS, _SHORTEST_INTERVAL = 5000, 1e-10


@dataclass(frozen=True)
class Cut:
    """A step that ends in an event."""

    event: int
    place: Place
    stages: Stages


class Watcher:
    """Looks for events in the steps of a solution."""

    def __init__(self, events: Events, p: Sequence[arb], span: float):
        self.functions, self._p, self._span = events.compiled(), p, span
        with precision(_BITS):
            self._low = events.compiled()
        self._events = events
        self._at_zero: set[int] = set()
        self._last: float | None = None
        self._count = 0
        self._sides: tuple[float, list[int]] = (np.nan, [])

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
            a, b = (self._name(j) for j in sorted(j for _, j in roots[:2]))
            raise ReferenceFailure(
                f"the events '{a}' and '{b}' happen at once, at t = {path.time(roots[0][0]):.12g}: a small change of a"
                " parameter decides which comes first, so that the solution has no derivative there. If they always"
                " happen at once, give both the same 'when'",
                path.time(roots[0][0]),
            )
        theta, j = roots[0]
        return self._located(path, theta, j, place, y, scale, tolerance)

    def fired(self, event: int, t: arb, before: Sequence[arb], y: Sequence[arb], right: Segment) -> None:
        """Refuse events that accumulate, or whose jump takes another condition to its zero or past it."""
        now, self._count = float(t), self._count + 1
        close = self._last is not None and now - self._last < _SHORTEST_INTERVAL * self._span
        if close or self._count > MAX_JUMPS:
            raise ReferenceFailure(
                f"events accumulate near t = {now:.12g}: '{self.functions.names[event]}' is the"
                f" {self._count}th. End the time span before, or write what happens after it as another problem",
                now,
            )
        self._last = now if event in self._events.conditions else self._last
        self._at_zero = {j for j in range(self.functions.m) if self.functions.is_zero(j, t, y, self._p)}
        for j in self._at_zero:
            if not self._is_own(j, event) and not self._leaves(j, t, y, right):
                raise ReferenceFailure(
                    f"the event '{self.functions.names[event]}' at t = {now:.12g} puts the condition of"
                    f" '{self._name(j)}' at zero: whether that happens too is not defined",
                    now,
                )
        if RUNNING not in self._events.problem.events[event].reset:
            self._refuse_passed(event, t, before, y)

    def _refuse_passed(self, event: int, t: arb, before: Sequence[arb], after: Sequence[arb]) -> None:
        """Refuse a jump past the zero of another condition: there are programs that count it, and programs that do not.

        Raises:
            ReferenceFailure: a condition changes its sign in the direction of its event.
        """
        if self._sides[0] != float(t):
            # Of several events at one time the first one finds the conditions as the solution left them.
            self._sides = float(t), self._signs(t, before)
        for j, (left, right) in enumerate(zip(self._sides[1], self._signs(t, after), strict=True)):
            direction = self._events.problem.events[self._events.conditions[j]].direction
            if not self._is_own(j, event) and left * right < 0 and direction in (0, right):
                raise ReferenceFailure(
                    f"the event '{self.functions.names[event]}' at t = {float(t):.12g} jumps over the zero of the"
                    f" condition of '{self._name(j)}': whether that happens too is not defined. If it shall, give the"
                    f" states that it sets in the reset of '{self.functions.names[event]}'; if not, restrict its"
                    " direction, or its condition",
                    float(t),
                )

    def _signs(self, t: arb, y: Sequence[arb]) -> list[int]:
        """The signs of the conditions; 0 for one that is zero to rounding."""
        values = self.functions.values(t, y, self._p)
        return [0 if self.functions.is_zero(j, t, y, self._p) else _sign(value) for j, value in enumerate(values)]

    def _is_own(self, j: int, event: int) -> bool:
        """Return whether a condition is the event's, or the same in another direction."""
        events = self._events.problem.events
        return self._events.conditions[j] == event or events[self._events.conditions[j]].when == events[event].when

    def _leaves(self, j: int, t: arb, y: Sequence[arb], right: Segment) -> bool:
        """Return whether a condition at zero moves to the side on which it is before its event."""
        direction = self._events.problem.events[self._events.conditions[j]].direction
        return bool(self.functions.slope(j, t, y, self._p, right.rhs(t, y, self._p)) * direction < 0)

    def moved_on(self) -> None:
        """A step without an event was taken: no condition is at zero any longer."""
        self._at_zero = set()

    def _name(self, j: int) -> str:
        return self.functions.names[self._events.conditions[j]]

    def _first(self, path: _Path, j: int) -> tuple[float, float] | None:
        """The first piece of a step over which a condition passes zero once, in the direction of its event."""
        event = self._events.conditions[j]
        direction = self._events.problem.events[event].direction
        at_zero = j in self._at_zero
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


def _sign(value: arb) -> int:
    """The sign of a condition; 0 if it is not decided."""
    return 1 if value > 0 else -1 if value < 0 else 0


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
        return _sign(self.value(j, theta, theta))

    def root(self, j: int, a: float, b: float) -> float:
        """The place between two at which a condition is zero, to the precision of doubles, by regula falsi."""
        left, right = (float(self.value(j, x, x).mid()) for x in (a, b))
        last = np.inf
        for _ in range(60):
            middle = (a + b) / 2 if left == right else min(max(a - left * (b - a) / (right - left), a), b)
            found = float(self.value(j, middle, middle).mid())
            # A place that no longer moves is a zero to the rounding of its polynomial.
            if found == 0.0 or abs(middle - last) <= 4e-16 * max(b, 1e-300):
                return middle
            last = middle
            # The side that stays is taken for half as large (Illinois).
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


def matching_times(a: Sequence[tuple[int, Jump]], b: Sequence[tuple[int, Jump]], span: float) -> float:
    """The digits that two computations have in common in the times of their events, against the time span.

    Raises:
        ReferenceFailure: they have different events.
    """
    if [jump.event for _, jump in a] != [jump.event for _, jump in b]:
        raise ReferenceFailure(f"two runs have different events: {len(a)} and {len(b)} of them")
    worst = max((float(abs(x.t - y.t)) / span for (_, x), (_, y) in zip(a, b, strict=True)), default=0.0)
    return -float(np.log10(worst)) if worst > 0 else np.inf
