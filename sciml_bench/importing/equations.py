"""A model as formulas, whatever it was written in."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any


@dataclasses.dataclass(frozen=True)
class ModelEvent:
    """A jump of states when ``when`` passes zero in the direction, or at the time ``at``, to the values of ``reset``.

    ``when`` and the values are formulas or numbers, of the state before. Of several at once the one of the higher
    ``priority`` comes first; events of one ``moment`` are known to happen at once.
    """

    name: str
    when: Any
    direction: str
    at: float | None
    reset: Mapping[str, Any]
    priority: int = 0
    moment: int = 0

    @property
    def formulas(self) -> tuple[Any, ...]:
        """All that it reads: what passes zero, and the states after it."""
        return (self.when, *self.reset.values())


@dataclasses.dataclass(frozen=True)
class Equations:
    """States with their initial values, parameters with their numbers, named formulas and the derivative of each state.

    A formula is a :class:`.Traced` or a number. A definition may use earlier ones, and an initial value may use
    parameters and definitions that depend on parameters alone. ``origin`` ends the title of the problem file.
    ``further`` are lines after its tables, of measurements, at whose times the solution is then saved; they use the
    ``reserved`` names. ``events`` change states at times of the solution, or at known ones. ``parameter_scales`` are
    the scales of parameters that are estimated on another than their own.
    """

    name: str
    states: Mapping[str, Any]
    parameters: Mapping[str, float]
    derivatives: tuple[Any, ...]
    t_span: tuple[float, float]
    saved: Sequence[float] = ()
    definitions: Mapping[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    constants: Mapping[str, float] = dataclasses.field(default_factory=dict[str, float])
    further: Sequence[str] = ()
    parameter_scales: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    reserved: Sequence[str] = ()
    events: Sequence[ModelEvent] = ()
    scales: Mapping[str, float] = dataclasses.field(default_factory=dict[str, float])
    origin: str = "from a Python function"
