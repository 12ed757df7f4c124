"""Events that always happen at once: all events of one condition become one event, in the order of their priorities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import sympy

from sciml_bench.spec.event import EITHER, FALLING, RISING, RUNNING, Event
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import symbol, written_out
from sciml_bench.spec.quantities import Definition


def in_one(events: Sequence[Event], definitions: Sequence[Definition]) -> tuple[Event, ...]:
    """The events, in their order, with one for all of the same condition; a name joins theirs by two underscores.

    Conditions are the same if one is a multiple of the other. Each reset takes the values that earlier ones leave.
    """
    plain = written_out(definitions)
    classes: list[list[tuple[Event, int]]] = []
    for event in events:
        for members in classes:
            sign = _sign_between(members[0][0], event, plain)
            if sign:
                members.append((event, sign))
                break
        else:
            classes.append([(event, 1)])
    return tuple(event for members in classes for event in _joined(members, plain))


def _joined(members: list[tuple[Event, int]], plain: dict[Node, Node]) -> Iterator[Event]:
    first = members[0][0]
    ways = {
        way: [event for event, sign in members if event.direction in (EITHER, sign * way)] for way in (FALLING, RISING)
    }
    if not any(len(happening) > 1 for happening in ways.values()):
        yield from (event for event, _ in members)
    elif ways[FALLING] == ways[RISING]:
        yield _after_each_other(ways[FALLING], first.when, EITHER, plain)
    else:
        for way, happening in ways.items():
            if happening:
                yield _after_each_other(happening, first.when, way, plain)


def _after_each_other(events: Sequence[Event], when: Node | None, direction: int, plain: dict[Node, Node]) -> Event:
    name = "__".join(event.name for event in events)
    reset: dict[str, Node] = {}
    texts = {name: events[0].texts[events[0].name]}
    for event in events:
        # Nothing happens after the end of the solve.
        if RUNNING in reset:
            break
        now = {symbol(state): value for state, value in reset.items()}
        reset |= {state: value.xreplace(plain).xreplace(now) for state, value in event.reset.items()}
        texts |= {f"{name}.{state}": event.texts[f"{event.name}.{state}"] for state in event.reset}
    return replace(events[0], name=name, when=when, direction=direction, reset=reset, texts=texts)


def _sign_between(first: Event, second: Event, plain: dict[Node, Node]) -> int:
    """The sign of the number by which one condition is a multiple of the other; 0 if it is none."""
    if first.when is None or second.when is None:
        return 0
    terms, others = (
        sympy.expand(event.when.xreplace(plain)).as_coefficients_dict()
        for event in (first, second) if event.when is not None
    )  # fmt: skip
    if set(terms) != set(others) or not all(terms.values()):
        return 0
    ratios = {others[term] / coefficient for term, coefficient in terms.items()}
    return 0 if len(ratios) != 1 else 1 if ratios.pop() > 0 else -1
