"""Loads events: conditions on state and time, or scheduled times, with the values of states after them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from sciml_bench.record.text import printable
from sciml_bench.spec.event import DIRECTIONS, Event
from sciml_bench.spec.keys import A_NUMBER, EXPRESSION, Choice, Key, Table
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import to_double
from sciml_bench.spec.quantities import Definition, State
from sciml_bench.spec.reader import Reader

DIRECTION = Choice("direction", tuple(DIRECTIONS), "direction", "both")
EVENT = Table(
    Key("when", EXPRESSION), DIRECTION, Key("at", {"type": "array", "items": A_NUMBER, "minItems": 1}),
    Key("reset", {"type": "object", "additionalProperties": EXPRESSION, "minProperties": 1}, required=True),
)  # fmt: skip
MAX_EVENTS = 20


def load_events(
    reader: Reader, states: Sequence[State], definitions: Sequence[Definition], t0: Node, t1: Node
) -> tuple[Event, ...]:
    """The events in the order of the file, which is their order where several happen at one scheduled time.

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
    return tuple(_event(reader, name, data, states, t0, t1) for name, data in tables.items())


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
    given = _reset(reader, data, table)
    texts = {f"{name}.{key}": str(text) for key, text in given.items()}
    names = {state.name for state in states}
    reset: dict[str, Node] = {}
    for key, text in given.items():
        if key not in names:
            raise document.error(f"'{key}' is not a state.", table, "reset", f"States: {', '.join(names)}.")
        reset[key] = reader.fits(reader.expression(text, table, "reset"), (), table, "reset")
    if "at" in data:
        return Event(name, None, 0, _times(reader, data["at"], table, t0, t1), reset, texts)
    when = reader.fits(reader.expression(data["when"], table, "when"), (), table, "when")
    if not when.free_symbols:
        raise document.error(f"'{data['when']}' is a constant, which never passes zero.", table, "when")
    return Event(name, when, DIRECTIONS[DIRECTION.read(document, data, table)], (), reset, texts | {name: data["when"]})


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
