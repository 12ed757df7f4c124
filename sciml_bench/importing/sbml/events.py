"""Events of an SBML model: their triggers, and the values of states after them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sciml_bench.errors import ProblemError
from sciml_bench.importing.equations import ModelEvent
from sciml_bench.importing.python.arguments import distinct
from sciml_bench.importing.python.refusals import REFUSALS, Refusal
from sciml_bench.importing.python.traced import is_traced
from sciml_bench.importing.sbml.mathematics import NoFormula
from sciml_bench.importing.sbml.trigger import NoEvent, trigger_of

if TYPE_CHECKING:
    from sciml_bench.importing.sbml.network import Network

_NAMED = 4
AMOUNT = "_amount"
"""The ending of the state of a species that is kept as an amount."""


def events_of(network: Network, t_span: tuple[float, float]) -> tuple[ModelEvent, ...]:
    """The events that can happen; a note names each other one.

    Raises:
        ProblemError: one says what events of problem files cannot.
    """
    found: list[_Imported] = []
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
        if trigger.holds_at_zero:
            network.notes.append(f"{what} does not happen where a jump ends exactly at the threshold of its >= or <=")
        if reset:
            made = ModelEvent(names[key], trigger.when, trigger.direction, trigger.at, reset)
            found.append(_Imported(made, event, _priority(network, event, what)))
    return tuple(_at_once(network, found))


@dataclass(frozen=True)
class _Imported:
    """An event as written, with libSBML's object and its priority."""

    event: ModelEvent
    source: Any
    priority: float | None

    @property
    def moment(self) -> object:
        """Its time, or its trigger: equal for two events that always happen at once."""
        import libsbml

        if self.event.at is not None:
            return self.event.at
        trigger = self.source.getTrigger().getMath()
        if trigger.getType() == libsbml.AST_FUNCTION:
            return libsbml.formulaToL3String(trigger)
        sides = [libsbml.formulaToL3String(trigger.getChild(i)) for i in range(trigger.getNumChildren())]
        rises = trigger.getType() in (libsbml.AST_RELATIONAL_GT, libsbml.AST_RELATIONAL_GEQ)
        return tuple(reversed(sides) if rises else sides)

    @property
    def reads_before(self) -> bool:
        """Return whether its values are taken when it is triggered, and not when it is executed."""
        return bool(self.source.getUseValuesFromTriggerTime())


def _priority(network: Network, event: Any, what: str) -> float | None:
    if not event.isSetPriority() or not event.getPriority().isSetMath():
        return None
    value = network.formula(event.getPriority(), network.now, f"{what}, priority")
    if is_traced(value):
        raise network.error(f"{what}: its priority is not a number.", event, "Write it as events of a problem file.")
    return float(value)


def _at_once(network: Network, found: Sequence[_Imported]) -> list[ModelEvent]:
    """The events in their order where several have one moment; one event where all values are taken before it.

    Raises:
        ProblemError: the order decides, and is not said; or later events depend on earlier ones in another way.
    """
    priorities = sorted({item.priority for item in found if item.priority is not None})
    moments: dict[object, list[_Imported]] = {}
    for item in found:
        moments.setdefault(item.moment, []).append(item)
    result: list[ModelEvent] = []
    for number, items in enumerate(moments.values()):
        if len(items) > 1:
            _refuse_unsaid(network, items)
        if len(items) > 1 and all(item.reads_before for item in items):
            # The last one to set a state decides.
            in_order = sorted(items, key=lambda item: -(item.priority or 0.0))
            together = {name: value for item in in_order for name, value in item.event.reset.items()}
            result.append(replace(items[0].event, reset=together, moment=number))
        else:
            ranks = (0 if item.priority is None else 1 + priorities.index(item.priority) for item in items)
            result += [
                replace(item.event, priority=rank, moment=number) for item, rank in zip(items, ranks, strict=True)
            ]
    return result


def _refuse_unsaid(network: Network, items: Sequence[_Imported]) -> None:
    def refused(why: str, cure: str) -> ProblemError:
        names = ", ".join(f"'{item.event.name}'" for item in items[:_NAMED]) + ", …" * (len(items) > _NAMED)
        return network.error(f"the events {names} happen at once, and {why}.", items[0].source, cure)

    assigned = [name for item in items for name in item.event.reset]
    priorities = {item.priority for item in items}
    if None in priorities or len(priorities) < len(items):
        cure = "Give them different priorities."
        twice = next((name for name in assigned if assigned.count(name) > 1), None)
        if twice is not None:
            raise refused(f"more than one sets '{twice}'", cure)
        if not all(item.reads_before for item in items) and any(is_traced(v) for i in items for v in i.event.formulas):
            raise refused("one may take what another has set", cure)
    if len({item.reads_before for item in items}) > 1:
        cure = "Set useValuesFromTriggerTime to the same value in all of them."
        raise refused("take values at different times", cure)
    if not all(item.source.getTrigger().getPersistent() for item in items):
        raise refused("one may prevent the other", "Make their triggers persistent.")
    if {network.names[name] for name in network.compartments} & {*assigned}:
        raise refused("one of them changes the size of a compartment", "Write them as one event.")


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
            # A concentration refers to the size before the event.
            reset[network.names[f"{name}{AMOUNT}"]] = value * network.now(network.species[name].getCompartment())
        else:
            reset[network.names[name]] = value
    for name, species in network.species.items():
        size = species.getCompartment()
        if name in network.rates and size in values and network.is_density(species):
            # An amount stays as the size changes, and a rate rule is one of the concentration.
            key = network.names[name]
            reset[key] = reset.get(key, network.now(name)) * network.now(size) / values[size]
    return reset
