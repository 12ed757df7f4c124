"""Loads events: conditions on state and time, or scheduled times, with the values of states after them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import sympy

from sciml_bench.record.text import printable
from sciml_bench.spec.event import DIRECTIONS, RUNNING, Event
from sciml_bench.spec.keys import A_NUMBER, EXPRESSION, Choice, Flag, Key, Table, Whole
from sciml_bench.spec.language.expression import Typed
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import symbol, to_double
from sciml_bench.spec.quantities import Definition, State
from sciml_bench.spec.reader import Reader
from sciml_bench.spec.tables.simultaneous import in_one

DIRECTION = Choice("direction", tuple(DIRECTIONS), "direction", "both")
END = Flag("end")
PRIORITY = Whole("priority", -1000, 1000, 0)
EVENT = Table(
    Key("when", EXPRESSION), DIRECTION, Key("at", {"type": "array", "items": A_NUMBER, "minItems": 1}),
    Key("reset", {"type": "object", "additionalProperties": EXPRESSION, "minProperties": 1}), END, PRIORITY,
)  # fmt: skip
MAX_EVENTS = 20


_NOT_WITH_END = {
    "parameters": ("and the problem has no parameters to take gradients by", "Make a number a parameter."),
    "loss": ("and the loss has data of all states", "Write [[observables]] with the data of each quantity."),
    "exact": ("and [exact] has no solution after it", "Leave [exact] out."),
}


def load_events(
    reader: Reader, states: Sequence[State], definitions: Sequence[Definition], t0: Node, t1: Node
) -> tuple[Event, ...]:
    """The events in their order where several happen at once: of descending priority, then as in the file.

    All events of one condition are one event. One that ends the solve sets the state :data:`RUNNING` to 0, see
    :func:`frozen_after_end`.

    Raises:
        ProblemError: an event is neither a condition nor scheduled, or changes nothing; or the problem has vectors,
            fields, or tables that do not go with events.
    """
    document = reader.document
    tables = document.table("events")
    if not tables:
        return ()
    for table, why in (("batch", "a batch"), ("control", "a path through data"), ("implicit", "an implicit part")):
        if table in document.data:
            raise document.error(f"events and {why} cannot be in one problem.", "events", cure=f"Leave out [{table}].")
    if any(item.shape for item in (*states, *definitions)):
        cure = "Write every component as a separate state or definition."
        raise document.error("events need states and definitions that are single numbers.", "events", cure=cure)
    if len(tables) > MAX_EVENTS:
        raise document.error(f"there are {len(tables)} events; at most {MAX_EVENTS} are taken.", "events")
    events = [_event(reader, name, data, states, t0, t1) for name, data in tables.items()]
    first = {name: -PRIORITY.read(document, data, f"events.{name}") for name, data in tables.items()}
    return in_one(sorted(events, key=lambda event: first[event.name]), definitions)


def _event(reader: Reader, name: str, data: Any, states: Sequence[State], t0: Node, t1: Node) -> Event:
    name = printable(name)
    document, table = reader.document, f"events.{name}"
    if not isinstance(data, dict):
        cure = 'As in [events.bounce] with when = "x" and reset = { v = "-0.9*v" }.'
        raise document.error(f"the event '{name}' must be a table.", "events", name, cure)
    EVENT.check(document, data, table)
    reader.claim(name, "events")
    if ("when" in data) == ("at" in data):
        raise document.error(
            f"the event '{name}' needs either 'when' or 'at'.", table, "when" if "when" in data else "",
            '`when = "x"` for an expression that passes zero, `at = [12, 24]` for times.',
        )  # fmt: skip
    if "direction" in data and "at" in data:
        raise document.error("a scheduled event has no direction.", table, "direction", "Leave it out.")
    ends = END.read(document, data, table)
    given = {} if ends and "reset" not in data else _reset(reader, data, table)
    texts = {f"{name}.{key}": str(text) for key, text in given.items()}
    names = {state.name for state in states}
    reset: dict[str, Node] = {}
    for key, text in given.items():
        if key not in names:
            raise document.error(f"'{key}' is not a state.", table, "reset", f"States: {', '.join(names)}.")
        reset[key] = reader.fits(reader.expression(text, table, "reset"), (), table, "reset")
    if ends:
        reset[RUNNING] = sympy.S.Zero
        texts[f"{name}.{RUNNING}"] = "0"
    if "at" in data:
        return Event(name, None, 0, _times(reader, data["at"], table, t0, t1), reset, texts)
    when = reader.fits(reader.expression(data["when"], table, "when"), (), table, "when")
    if not when.free_symbols:
        raise document.error(f"'{data['when']}' is a constant, which never passes zero.", table, "when")
    return Event(name, when, DIRECTIONS[DIRECTION.read(document, data, table)], (), reset, texts | {name: data["when"]})


def frozen_after_end(
    reader: Reader, states: tuple[State, ...], equations: dict[str, Node], events: tuple[Event, ...]
) -> tuple[tuple[State, ...], dict[str, Node], tuple[Event, ...]]:
    """The problem in which nothing changes once an event has ended the solve; the same one without such an event.

    A further state is 1 until then and 0 from then on. Derivatives are multiplied by it; from then on conditions are
    1, so that none passes zero, and scheduled events change nothing.

    Raises:
        ProblemError: the problem names values of all its states, among which this one would be.
    """
    ending = next((event.name for event in events if RUNNING in event.reset), None)
    if ending is None:
        return states, equations, events
    document = reader.document
    for table, is_there in (
        ("parameters", not document.table("parameters")),
        ("loss", "data" in document.table("loss")),
        ("exact", bool(document.table("exact"))),
    ):
        if is_there:
            message, cure = _NOT_WITH_END[table]
            raise document.error(f"the event '{ending}' ends the solve, {message}.", f"events.{ending}", "end", cure)
    running = symbol(RUNNING)
    reader.scope.names[RUNNING] = Typed(running)
    one = (sympy.S.One,)
    further = State(RUNNING, (), (), one, (1.0,), (1.0,))
    slopes = {name: running * slope for name, slope in equations.items()} | {RUNNING: sympy.S.Zero}
    return (*states, further), slopes, tuple(_while_running(event, running) for event in events)


def _while_running(event: Event, running: Node) -> Event:
    if event.when is not None:
        return replace(event, when=running * event.when + 1 - running)
    kept = {name: symbol(name) + running * (value - symbol(name)) for name, value in event.reset.items()}
    return replace(event, reset=kept)


def _reset(reader: Reader, data: dict[str, Any], table: str) -> dict[str, Any]:
    reset = data.get("reset")
    if not isinstance(reset, dict) or not reset:
        cure = 'As in reset = { v = "-0.9*v" }.'
        raise reader.document.error("'reset' must say the values of states after the event.", table, "reset", cure)
    return reset


def _times(reader: Reader, values: Any, table: str, t0: Node, t1: Node) -> tuple[Node, ...]:
    if not isinstance(values, list) or not values:
        raise reader.document.error("'at' must be a list of times.", table, "at")
    times = reader.constants(values, table, "at")
    doubles = [to_double(t) for t in (t0, *times, t1)]
    if any(not a < b for a, b in pairwise(doubles)):
        raise reader.document.error("the times of 'at' must increase and lie inside (t0, t1).", table, "at")
    return times


def refuse_saved_events(reader: Reader, events: Sequence[Event], save_times: Sequence[Node]) -> None:
    """Refuse a scheduled event at a saved time: the state there would be that before it or that after it.

    Raises:
        ProblemError: there is one.
    """
    saved = {to_double(t) for t in save_times}
    for event in events:
        for t in event.at:
            if to_double(t) in saved:
                raise reader.document.error(
                    f"the event '{event.name}' happens at t = {t}, which is a saved time: the state there is not"
                    " defined.", f"events.{event.name}", "at", "Save a little before or after it.",
                )  # fmt: skip
