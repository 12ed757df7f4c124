"""Events in Julia: their conditions, the state after each of them, and a table of both."""

from __future__ import annotations

from sciml_bench.emit.context import Context
from sciml_bench.emit.julia.scalar_function import giving, number
from sciml_bench.spec.event import Event
from sciml_bench.spec.model import symbol, to_double


def event_functions(context: Context, *, static: bool) -> list[str]:
    """``EVENTS``, a tuple with an entry for each event: ``condition(y, p, t)``, which passes zero, or ``nothing``; the
    ``direction`` in which it does (1, -1, or 0 for both); the ``times`` of a scheduled event; and ``reset(y, p, t)``,
    the state after it.
    """
    events = context.problem.events
    if not events:
        return []
    functions = [number(context, f"when__{event.name}", event.when) for event in events if event.when is not None]
    states = context.problem.states
    for event in events:
        after = [event.reset.get(state.name, symbol(state.name)) for state in states]
        functions.append(giving(context, f"reset__{event.name}", after, static=static))
    return [*functions, "\n".join(["const EVENTS = (", *map(_entry, events), ")", ""])]


def _entry(event: Event) -> str:
    condition = "nothing" if event.when is None else f"when__{event.name}"
    times = ", ".join(repr(to_double(t)) for t in event.at)
    return (
        f"    (condition = {condition}, direction = {event.direction}, times = Float64[{times}],"
        f" reset = reset__{event.name}),"
    )
