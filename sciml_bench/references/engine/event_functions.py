"""Conditions and resets of events as functions on balls, and the jump of the adjoint at an event.

The state after an event at time τ is y⁺ = R(y⁻, τ, p) with g(y⁻, τ, p) = 0. A change of y⁻ or p moves τ by
δτ = −(g_y δy⁻ + g_p δp)/ġ with ġ = g_y f⁻ + g_t, and y⁺ at a fixed time by R_y δy⁻ + R_p δp + (R_y f⁻ + R_t − f⁺) δτ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy
from flint import arb

from sciml_bench.emit.flint import FlintSource
from sciml_bench.emit.symbolic.scalar import scalarise_events
from sciml_bench.references.engine.dynamics import BALLS, Dynamics, Segment, compiled
from sciml_bench.references.engine.numbers import exact
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.spec.model import Problem, to_double

#: What the state at a located event may be off, relative to the size of a component.
_LOCATED = 1e-22


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
