"""Events of an SBML model: their triggers, and the values of states after them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sciml_bench.importing.equations import ModelEvent
from sciml_bench.importing.python.arguments import distinct
from sciml_bench.importing.python.refusals import REFUSALS, Refusal
from sciml_bench.importing.sbml.mathematics import NoFormula
from sciml_bench.importing.sbml.trigger import NoEvent, trigger_of

if TYPE_CHECKING:
    from sciml_bench.importing.sbml.network import Network

AMOUNT = "_amount"
"""The ending of the state of a species that is kept as an amount."""


def events_of(network: Network, t_span: tuple[float, float]) -> tuple[ModelEvent, ...]:
    """The events that can happen; a note names each other one.

    Raises:
        ProblemError: one says what events of problem files cannot.
    """
    found: list[ModelEvent] = []
    keys = {str(i): event.getId() or f"event{i + 1}" for i, event in enumerate(network.events)}
    names = distinct(keys, tuple(network.names.values()), longest=34)
    for key, event in zip(keys, network.events, strict=True):
        what = f"event '{keys[key]}'"
        REFUSALS.clear()
        try:
            trigger = trigger_of(event, network.now, network.functions, t_span)
        except (NoEvent, NoFormula, Refusal) as error:
            raise network.error(f"{what}: {error}.", event, "Write it as events of a problem file.") from error
        if trigger.at is not None and math.isinf(trigger.at):
            network.notes.append(f"{what} never happens in the time span, and is left out")
            continue
        reset = _reset(network, event, what)
        if reset:
            found.append(ModelEvent(names[key], trigger.when, trigger.direction, trigger.at, reset))
    return tuple(found)


def _reset(network: Network, event: Any, what: str) -> dict[str, Any]:
    """The values of states after an event; amounts where a species is kept as such."""
    assignments = [event.getEventAssignment(i) for i in range(event.getNumEventAssignments())]
    values = {
        item.getVariable(): network.formula(item, network.now, f"{what}, '{item.getVariable()}'")
        for item in assignments
        if item.isSetMath()
    }
    reset: dict[str, Any] = {}
    for name, value in values.items():
        if name not in network.names or name in network.reactions or name in network.assigned:
            raise network.error(f"{what} assigns to '{name}', which cannot jump.", event)
        if name in network.amounts:
            # A concentration refers to the size after the event.
            compartment = network.species[name].getCompartment()
            reset[network.names[f"{name}{AMOUNT}"]] = value * values.get(compartment, network.now(compartment))
        else:
            reset[network.names[name]] = value
    return reset
