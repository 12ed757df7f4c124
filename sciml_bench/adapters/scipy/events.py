"""Worker side of the SciPy adapter for problems with events: ``solve_ivp`` stops at each, and starts again after it.

Sensitivities jump with the state. With S = dy/dtheta before an event at time τ, R the state after it and g what passes
zero, dτ/dtheta = -(g_y S + g_p)/(g_y f⁻ + g_t), and S becomes R_y S + R_p + (R_y f⁻ + R_t - f⁺) dτ/dtheta.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from sciml_bench.adapters.event_list import MOST_EVENTS, NEAR, EventList
from sciml_bench.adapters.program import Vector
from sciml_bench.adapters.scipy.failures import raised, unfinished
from sciml_bench.adapters.scipy.program import METHODS, Counts, Inputs, SciPyProgram, Solved
from sciml_bench.adapters.scipy.solve_ivp import counting_steps
from sciml_bench.adapters.scipy.system import System
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Numbers, Point, Task


class EventProgram(SciPyProgram):
    """Solves from event to event."""

    def __init__(self, task: Task):
        super().__init__(task)
        # The stubs of SciPy name methods only.
        self.counting: Any = counting_steps(METHODS[task.cell.method])
        source = self.source = self._source
        self.events = EventList.of(source)
        self.reset_slopes = [getattr(source, f"reset_slopes__{name}") for name, _, _ in source.EVENTS]
        self.scale = np.asarray(self._trajectories[0].atol_scale)
        self.wrt_parameters = task.numbers.wrt == "parameters"
        self.n_states = self._n_states

    def _prepared(self, numbers: Numbers, values: Vector, given: tuple[Any, ...] | None, point: Point) -> Inputs:
        made = super()._prepared(numbers, values, given, point)
        state = made.state._replace(p=made.p)
        return Inputs(made.p, given, state, lambda: ([system._replace(p=made.p) for system in made.augmented], None))

    def _segments_in_turn(self, system: System, said: list[Any]) -> Solved:
        solve = _Solve(self, system)
        z, saved, counts = system.start, [], Counts(0, 0, 0, 0)
        for segment, times in zip(self._segments, self._evaluate_at, strict=True):
            rows, z, told = solve.segment(segment.start, segment.end, times, z)
            saved.append(rows[: segment.n_saved])
            counts = Counts(*map(operator.add, counts, told))
            for event in self.events.scheduled.get(segment.end, ()):
                z = solve.jumped(event, segment.end, z, at_condition=None)
        return Solved(np.concatenate(saved), counts)


class _Solve:
    """One solve of a system: the state alone, or followed by its sensitivities."""

    def __init__(self, program: EventProgram, system: System):
        self.program, self.system = program, system
        self.p = system.p
        self.n = program.n_states
        self._count = 0
        self._follows_event = False

    def segment(self, start: float, end: float, times: Vector, z: Vector) -> tuple[Vector, Vector, Counts]:
        """Solve between two breakpoints: values at the times (in our order), the last state, and SciPy's counts."""
        counts, rows, t = Counts(0, 0, 0, 0), [], start
        while True:
            left = times[times > t]
            found = self._until(t, end, left, z)
            self._follows_event = False
            # Without a saved time before the event SciPy returns an empty list.
            rows.append(np.reshape(np.transpose(found.y), (-1, len(z))))
            here = (self.program.counting.steps, found.nfev, found.njev, found.nlu)
            counts = Counts(*map(operator.add, counts, here))
            if found.status == 0:
                # The segment's end is the last of its times.
                values = np.concatenate(rows)
                return self._ours(values), values[-1], counts
            if found.status < 0:
                raise unfinished(found.message, [], t)
            j = next(j for j, at in enumerate(found.t_events) if len(at))
            t, z = float(found.t_events[j][0]), found.y_events[j][0]
            z = self.jumped(self.program.events.conditions[j], t, z, at_condition=j)
            self._count += 1
            if self._count > MOST_EVENTS:
                raise SolverFailure(Outcome.MAX_STEPS, f"more than {MOST_EVENTS} events until t = {t:g}")

    def _until(self, t: float, end: float, times: Vector, z: Vector) -> Any:
        system, program = self.system, self.program
        program.counting.steps, program.counting.ends = 0, []
        watched = [self._watched(j, t, z) for j in range(len(program.events.conditions))]
        try:
            return solve_ivp(
                system.rhs, (t, end), z, method=program.counting, t_eval=times, rtol=system.rtol, atol=system.atol,
                args=system.args or None, events=watched,
                **system.options,
            )  # fmt: skip
        except (ValueError, RuntimeError, np.linalg.LinAlgError) as error:
            known = raised(error)
            if known is None:
                raise
            raise known from error

    def _watched(self, j: int, start: float, z: Vector) -> Callable[..., float]:
        """A condition as ``solve_ivp`` takes it; right after its event rounding may have given it either sign."""
        source, p, n = self.program.source, self.p, self.n
        at_start = self._sign_after(j, start, self._ours(z)[:n]) if self._follows_event else None

        def condition(t: float, z: Vector, *_: Any) -> float:
            if at_start is not None and t == start:
                return at_start
            return source.events(t, self._ours(z)[:n], p)[j]

        condition.terminal = True  # pyright: ignore[reportFunctionMemberAccess]
        condition.direction = self.program.events.directions[j]  # pyright: ignore[reportFunctionMemberAccess]
        return condition

    def _sign_after(self, j: int, t: float, y: Vector) -> float:
        source, p = self.program.source, self.p
        value = source.events(t, y, p)[j]
        by_state, by_time, _ = source.event_slopes(t, y, p)
        slope = float(by_state[j] @ np.asarray(source.rhs(t, y, p)) + by_time[j, 0])
        near = NEAR * float(np.abs(by_state[j]) @ np.maximum(np.abs(y), self.program.scale))
        return value if abs(value) > near else slope

    def jumped(self, event: int, t: float, z: Vector, at_condition: int | None) -> Vector:
        """The system after an event; ``at_condition`` is the number of the condition that decided its time."""
        self._follows_event = True
        source, p, n = self.program.source, self.p, self.n
        z = self._ours(z)
        before = z[:n]
        after = np.asarray(self.program.events.resets[event](t, before, p), dtype=np.float64)
        if len(z) == n:
            return self._solvers(after)
        sensitivities = z[n:].reshape(-1, n).T
        by_state, by_time, by_parameters = self.program.reset_slopes[event](t, before, p)
        jumped = by_state @ sensitivities
        columns = self.system.columns
        of_parameters = self.program.wrt_parameters
        if of_parameters:
            jumped += by_parameters[:, columns]
        if at_condition is not None:
            g_state, g_time, g_parameters = (part[at_condition] for part in source.event_slopes(t, before, p))
            left, right = (np.asarray(source.rhs(t, y, p)) for y in (before, after))
            speed = g_state @ left + g_time[0]
            moved = g_state @ sensitivities + (g_parameters[columns] if of_parameters else 0.0)
            jumped -= np.outer(by_state @ left + by_time[:, 0] - right, moved / speed)
        return self._solvers(np.concatenate([after, jumped.T.ravel()]))

    def _ours(self, values: Vector) -> Vector:
        place = self.system.place
        return values if place is None else values[..., place]

    def _solvers(self, values: Vector) -> Vector:
        place = self.system.place
        return values if place is None else values[np.argsort(place)]
