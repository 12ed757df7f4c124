"""Triggers of SBML's events: the expression that passes zero when one becomes true, or the time at which it does."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sciml_bench.importing.python.traced import is_traced
from sciml_bench.importing.sbml.mathematics import Functions, Resolve, comparison_of

#: The direction in which left - right passes zero when a comparison becomes true.
_DIRECTIONS = {"GT": "rising", "GEQ": "rising", "LT": "falling", "LEQ": "falling"}


class NoEvent(ValueError):
    """An event says what events of problem files cannot."""


@dataclass(frozen=True)
class Trigger:
    """``when`` passes zero in the direction; or it becomes true ``at`` a time, which is infinite if it never does.

    With ``holds_at_zero`` it is true at zero, too.
    """

    when: Any = None
    direction: str = ""
    at: float | None = None
    holds_at_zero: bool = False


def trigger_of(event: Any, resolve: Resolve, functions: Functions, t_span: tuple[float, float]) -> Trigger:
    """Read the trigger of an event of libSBML.

    Raises:
        NoEvent: it is not a single comparison, may fire at the start, or has what problem files do not.
        NoFormula: a part of it has no counterpart.
    """
    if event.isSetDelay():
        raise NoEvent("it has a delay")
    trigger = event.getTrigger()
    if trigger is None or not trigger.isSetMath():
        raise NoEvent("it has no trigger")
    found = comparison_of(trigger.getMath(), resolve, functions)
    if found is None or found[0] not in _DIRECTIONS:
        raise NoEvent("its trigger is not a single comparison of two values by <, <=, > or >=")
    kind, left, right = found
    # Only level 3 can say that it was false before the start.
    fires_at_start = trigger.isSetInitialValue() and not trigger.getInitialValue()
    rising, time = _DIRECTIONS[kind] == "rising", resolve("")
    if left is time and not is_traced(right):
        return _at(float(right), rising, fires_at_start, t_span)
    if right is time and not is_traced(left):
        return _at(float(left), not rising, fires_at_start, t_span)
    if fires_at_start:
        raise NoEvent("its trigger counts as false before the start, so that it may happen at the start itself")
    if not is_traced((left, right)):
        return Trigger(at=math.inf)
    return Trigger(left - right, _DIRECTIONS[kind], holds_at_zero=kind.endswith("EQ"))


def _at(time: float, later: bool, fires_at_start: bool, t_span: tuple[float, float]) -> Trigger:
    """A comparison with a time holds after it if it is ``later``, and otherwise before it."""
    if fires_at_start and (time <= t_span[0] if later else time > t_span[0]):
        raise NoEvent("it happens at the start: write its values as initial ones")
    return Trigger(at=time if later and t_span[0] < time < t_span[1] else math.inf)
