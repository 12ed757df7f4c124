"""Worker side of the torchdiffeq adapter for problems with events: ``odeint_event`` from event to event.

As in the library's example of a bouncing ball, an event is located first, and the part up to it is then solved again
with its saved times. ``odeint_event`` has no end: the time that is left is one more condition. It stops at a condition
that passes zero in either direction; one that passes it in the other direction than its event changes nothing here.

In torchdiffeq 0.2.5 the time of an event has derivatives by time and state alone: parameters that a condition reads get
no gradient through it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torchdiffeq
from torch import Tensor

from sciml_bench.adapters.event_list import MOST_EVENTS, NEAR, EventList
from sciml_bench.adapters.torchdiffeq.equation import Equation
from sciml_bench.adapters.torchdiffeq.program import Inputs, TorchdiffeqProgram
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Task

#: Errors of an event's time within which its condition is taken for zero.
_ERRORS = 10.0


class EventProgram(TorchdiffeqProgram):
    """Solves from event to event."""

    def __init__(self, task: Task):
        super().__init__(task)
        self._events = EventList.of(self._source)
        if self._numbers.batch > 1:
            # Each trajectory has its own events, and is solved separately.
            self._scale = self._scale[0]

    def _outcomes(self, n_accepted: float | None) -> None:
        """Steps are counted for all trajectories together."""

    def _integrate(self, integrate: Callable[..., Any], inputs: Inputs, y0: Tensor, adjoint: dict[str, Any]) -> Tensor:
        if y0.dim() == 1:
            return self._from(y0, integrate, inputs, adjoint)
        return torch.stack([self._from(start, integrate, inputs, adjoint) for start in y0], dim=1)

    def _from(self, y0: Tensor, integrate: Callable[..., Any], inputs: Inputs, adjoint: dict[str, Any]) -> Tensor:
        arguments, p = self._taken(inputs.arguments), inputs.arguments.p
        y, saved = y0, []
        for segment, times, module in zip(self._segments, self._times, inputs.equations, strict=True):
            module.arguments = arguments
            rows, y = self._segment(integrate, inputs, module, times, y, adjoint)
            saved.append(rows[: segment.n_saved])
            for event in self._events.scheduled.get(segment.end, ()):
                y = self._events.resets[event](times[-1], y, p)
        return torch.cat(saved)

    def _segment(
        self,
        integrate: Callable[..., Any],
        inputs: Inputs,
        module: Equation,
        times: Tensor,
        y: Tensor,
        adjoint: dict[str, Any],
    ) -> tuple[Tensor, Tensor]:
        """The values at the times after the first, and the last state, between two breakpoints."""
        p, t, rows, follows = inputs.arguments.p, times[0], list[Tensor](), bool(times[0] > self._numbers.t0)
        options = inputs.tolerances | adjoint
        for _ in range(MOST_EVENTS):
            at, (j, happens) = self._next_event(integrate, inputs, module, t, times[-1], y, adjoint, follows)
            left = times[times > t.detach()]
            ends = left if at is None else torch.cat([left[left < at.detach()], at.reshape(1)])
            ys = integrate(module, y, torch.cat([t.reshape(1), ends]), **options)[1:]
            if at is None:
                rows.append(ys)
                return torch.cat(rows), ys[-1]
            rows.append(ys[:-1])
            t, y, follows = at, ys[-1], True
            if happens:
                y = self._events.resets[self._events.conditions[j]](t, y, p)
        raise SolverFailure(Outcome.MAX_STEPS, f"more than {MOST_EVENTS} events until t = {float(t):g}")

    def _next_event(
        self,
        integrate: Callable[..., Any],
        inputs: Inputs,
        module: Equation,
        t: Tensor,
        end: Tensor,
        y: Tensor,
        adjoint: dict[str, Any],
        follows: bool,
    ) -> tuple[Tensor | None, tuple[int, bool]]:
        """The next condition that passes zero before the end: its time, its place, and whether its event happens."""
        if not self._events.conditions:
            return None, (-1, False)
        p, start = inputs.arguments.p, t.detach()
        # The event is located to the absolute tolerance, which has to be one number.
        least = float(torch.min(inputs.tolerances["atol"]))
        at_start = self._at_start(module, start, y.detach(), p.detach(), least) if follows else None

        def conditions(t: Tensor, y: Tensor) -> Tensor:
            found = self._source.events(t, y, p)
            if at_start is not None and t == start:
                found = at_start
            return torch.cat([found, (end - t).reshape(1).to(found.dtype)])

        options: dict[str, Any] = inputs.tolerances | adjoint | {"atol": least}
        at, states = torchdiffeq.odeint_event(module, y, t, event_fn=conditions, odeint_interface=integrate, **options)
        with torch.no_grad():
            if float(end - at) <= least:
                return None, (-1, False)
            # The one that is nearest to zero, in time.
            values = self._source.events(at, states[-1], p)
            slopes = self._slopes(module, at, states[-1], p)
            j = int(torch.argmin(torch.abs(values / slopes)))
            rises = bool(slopes[j] > 0)
        direction = self._events.directions[j]
        return at, (j, direction in (0, 1 if rises else -1))

    def _at_start(self, module: Equation, t: Tensor, y: Tensor, p: Tensor, least: float) -> Tensor:
        """The conditions after an event; for one that the event left as small as its error of time its slope."""
        values = self._source.events(t, y, p).detach()
        by_state = torch.func.jacrev(lambda y: self._source.events(t, y, p))(y)
        near = NEAR * torch.abs(by_state) @ torch.maximum(torch.abs(y), self._scale)
        slopes = self._slopes(module, t, y, p)
        near = torch.maximum(near, _ERRORS * least * torch.abs(slopes))
        return torch.where(torch.abs(values) <= near, slopes, values)

    def _slopes(self, module: Equation, t: Tensor, y: Tensor, p: Tensor) -> Tensor:
        """The derivatives of the conditions along the solution."""
        with torch.no_grad():
            f = module(t, y)
            tangents = (torch.ones_like(t), f)
            return torch.func.jvp(lambda t, y: self._source.events(t, y, p), (t, y), tangents)[1]
