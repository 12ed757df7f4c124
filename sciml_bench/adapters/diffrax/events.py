"""Worker side of the Diffrax adapter for problems with events: one ``diffeqsolve`` from event to event.

A leg ends at an event, which ``diffrax.Event`` locates with a root finder, or at the time of a scheduled one; the next
starts from the state after it. A solve takes legs until the end. A gradient takes them as the steps of a
``jax.lax.scan``, whose length is the number of events that a solve had, with a few to spare: reverse mode needs a
number that is known before.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import optimistix

from sciml_bench.adapters.diffrax import solvers
from sciml_bench.adapters.diffrax.failures import MAX_STEPS_REACHED, status
from sciml_bench.adapters.diffrax.gradients import Inputs
from sciml_bench.adapters.diffrax.program import N_REPORT, DiffraxProgram, Integrate, Solved, Values
from sciml_bench.adapters.event_list import MOST_EVENTS, NEAR, EventList
from sciml_bench.adapters.program import FloatArray
from sciml_bench.record.task import Point, Task

_SPARE = 2
_DIRECTIONS = {1: True, -1: False, 0: None}
# The root finder is more exact than the solve, so that its error does not count.
_ROOT_SHARE = 1e-3


class Leg(NamedTuple):
    """The state between legs: time, state, values at the saved times before it, and the report."""

    t: jax.Array
    y: jax.Array
    ys: jax.Array
    report: jax.Array


class EventProgram(DiffraxProgram):
    """Solves from event to event."""

    def __init__(self, task: Task):
        super().__init__(task)
        self._events = EventList.of(self._source)
        self._conditions = self._events.conditions
        self._directions = [_DIRECTIONS[direction] for direction in self._events.directions]
        left = tuple(t for t in task.numbers.breakpoints if t not in self._events.scheduled)
        self._smooth = dataclasses.replace(task.numbers, breakpoints=left)
        self._n_legs, self._is_differentiated = 0, True

    def prepare(self, theta: FloatArray, point: Point) -> Inputs:
        inputs = super().prepare(theta, point)
        if not self._n_legs:
            self._n_legs = self._count(inputs)
        return inputs

    def _count(self, inputs: Inputs) -> int:
        """The legs of a solve, and a few more."""
        return int(jax.jit(self._legs_used)(inputs.values)) + _SPARE

    def _legs_used(self, inputs: jax.Array) -> jax.Array:
        values = self._values(inputs[:-2], inputs[-2:])
        taken = solvers.adjoint("checkpointed", solvers.MAX_STEPS)
        return jnp.max(self._each(lambda one: self._looped(one, one.atol * self._scale, taken)[1], values))

    def _integrated(self, integrate: Integrate, values: Values, sensitivity: str, most: int) -> Solved:
        return self._each(lambda one: integrate(one, sensitivity, most), values)

    def _each(self, call: Callable[[Values], Any], values: Values) -> Any:
        """The results of all trajectories, one after the other.

        Side by side, one that has ended would be differentiated through legs of no length.
        """
        if self._numbers.batch == 1:
            return call(values)
        y0 = values.y0.reshape(self._numbers.batch, -1)
        return jax.lax.map(lambda start: call(values._replace(y0=start)), y0)

    def _solve(self, inputs: jax.Array) -> jax.Array:
        self._is_differentiated = False
        try:
            return super()._solve(inputs)
        finally:
            self._is_differentiated = True

    def _run(
        self, terms: diffrax.AbstractTerm, values: Values, atol: jax.Array, taken: tuple[diffrax.AbstractAdjoint, int]
    ) -> Solved:
        legs = self._scanned if self._is_differentiated else self._looped
        last, _ = legs(values, atol, taken)
        done = last.t >= self._numbers.t1
        # A solve with more legs than there are has not ended.
        report = last.report.at[0].set(jnp.where(done | (last.report[0] != 0), last.report[0], MAX_STEPS_REACHED))
        return Solved(last.ys, report.astype(self._dtype))

    def _scanned(
        self, values: Values, atol: jax.Array, taken: tuple[diffrax.AbstractAdjoint, int]
    ) -> tuple[Leg, jax.Array]:
        solve = partial(self._leg, values, atol, taken)

        def step(leg: Leg, _: None) -> tuple[Leg, jax.Array]:
            runs = self._is_under_way(leg)
            return jax.lax.cond(runs, solve, lambda leg: leg, leg), runs

        last, ran = jax.lax.scan(step, self._first(values), None, length=self._n_legs)
        return last, jnp.sum(ran)

    def _looped(
        self, values: Values, atol: jax.Array, taken: tuple[diffrax.AbstractAdjoint, int]
    ) -> tuple[Leg, jax.Array]:
        """Solve with as many legs as it takes, without derivatives; returns the last one and their number."""

        def step(now: tuple[Leg, jax.Array]) -> tuple[Leg, jax.Array]:
            return self._leg(values, atol, taken, now[0]), now[1] + 1

        def runs(now: tuple[Leg, jax.Array]) -> jax.Array:
            return self._is_under_way(now[0]) & (now[1] < MOST_EVENTS)

        return jax.lax.while_loop(runs, step, (self._first(values), jnp.asarray(0)))

    def _first(self, values: Values) -> Leg:
        numbers = self._numbers
        unknown = jnp.zeros((len(numbers.save_times), numbers.n_states), self._dtype)
        return Leg(jnp.asarray(numbers.t0, self._dtype), values.y0, unknown, jnp.zeros(N_REPORT, self._dtype))

    def _is_under_way(self, leg: Leg) -> jax.Array:
        return (leg.t < self._numbers.t1) & (leg.report[0] == 0)

    def _leg(self, values: Values, atol: jax.Array, taken: tuple[diffrax.AbstractAdjoint, int], leg: Leg) -> Leg:
        numbers, (adjoint, max_steps) = self._numbers, taken
        arguments = self._rhs_arguments(values.p)
        saved = jnp.asarray(numbers.save_times, self._dtype)
        times = jnp.asarray([*self._events.scheduled, numbers.t1], self._dtype)
        place = jnp.searchsorted(times, leg.t, side="right")
        end = times[jnp.minimum(place, len(times) - 1)]
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(self._right_hand_side),
            self._solver,
            t0=leg.t,
            t1=end,
            dt0=None,
            y0=leg.y,
            args=arguments,
            # Before the leg they are its start, beyond an event they are not reached; both are left out below.
            saveat=diffrax.SaveAt(subs=(diffrax.SubSaveAt(ts=jnp.clip(saved, leg.t, end)), diffrax.SubSaveAt(t1=True))),
            stepsize_controller=solvers.controller(
                self._cell.method, self._smooth, values.rtol, atol, self._cell.saving
            ),
            adjoint=adjoint,
            max_steps=max_steps,
            throw=False,
            event=self._event(leg, arguments, values, atol) if self._conditions else None,
        )
        assert solution.ts is not None
        assert solution.ys is not None
        t, y = solution.ts[1][-1], solution.ys[1][-1]
        reached = (saved > leg.t) & (saved <= t)
        ys = jnp.where(reached[:, None], solution.ys[0], leg.ys)
        fired = solution.result == diffrax.RESULTS.event_occurred
        code = jnp.where(fired, 0, status(solution.result))
        counts = [jnp.asarray(solution.stats[name]) for name in ("num_steps", "num_accepted_steps")]
        report = jnp.stack([code, *counts]).astype(self._dtype) + leg.report
        after = self._after_scheduled(place, t, y, values.p)
        if self._conditions:
            mask: Any = solution.event_mask
            after = jnp.where(fired, self._after_event(mask, t, y, values.p), after)
        return Leg(t, after, ys, report)

    def _event(self, leg: Leg, arguments: tuple[Any, ...], values: Values, atol: jax.Array) -> diffrax.Event:
        conditions = [partial(self._condition, j, leg.t, self._at_start(j, leg, arguments)) for j in self._numbered]
        # Declared as numbers, they may be traced.
        exact: Any = _ROOT_SHARE * values.rtol
        finder = optimistix.Newton(rtol=exact, atol=exact)
        return diffrax.Event(conditions, finder, self._directions)

    @property
    def _numbered(self) -> range:
        return range(len(self._conditions))

    def _condition(
        self, j: int, start: jax.Array, at_start: jax.Array, t: Any, y: jax.Array, args: Any, **_: Any
    ) -> Any:
        return jnp.where(t == start, at_start, self._source.events(t, y, *args)[j])

    def _at_start(self, j: int, leg: Leg, arguments: tuple[Any, ...]) -> jax.Array:
        """A condition at the start of a leg; its slope, if an event left it as small as rounding."""
        fixed = jax.lax.stop_gradient((leg.t, leg.y, arguments))
        t, y, args = fixed
        f = self._source.rhs(t, y, *args)
        value, slope = jax.jvp(lambda t, y: self._source.events(t, y, *args)[j], (t, y), (jnp.ones_like(t), f))
        by_state = jax.grad(lambda y: self._source.events(t, y, *args)[j])(y)
        near = NEAR * jnp.sum(jnp.abs(by_state) * jnp.maximum(jnp.abs(y), self._scale))
        return jnp.where((leg.t > self._numbers.t0) & (jnp.abs(value) <= near), slope, value)

    def _after_event(self, mask: Any, t: jax.Array, y: jax.Array, p: jax.Array) -> jax.Array:
        (named,) = self._rhs_arguments(p)
        after = y
        for j, event in reversed(list(enumerate(self._conditions))):
            after = jnp.where(mask[j], self._events.resets[event](t, y, named), after)
        return after

    def _after_scheduled(self, place: jax.Array, t: jax.Array, y: jax.Array, p: jax.Array) -> jax.Array:
        (named,) = self._rhs_arguments(p)
        after = y
        for i, (time, events) in enumerate(self._events.scheduled.items()):
            jumped = y
            for event in events:
                jumped = self._events.resets[event](jnp.asarray(time, self._dtype), jumped, named)
            after = jnp.where(place == i, jumped, after)
        return after
