"""Events: changes of the state at times that the solution decides, or that the file gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sciml_bench.spec.language.operators import Node

RISING, FALLING, EITHER = 1, -1, 0
DIRECTIONS = {"rising": RISING, "falling": FALLING, "both": EITHER}
"""The ways in which an expression may pass zero."""

RUNNING = "running__0"
"""The state that an event which ends the solve sets from 1 to 0."""


@dataclass(frozen=True)
class Event:
    """A change of the state.

    ``when`` is the expression that passes zero in the ``direction``; an event without it is scheduled, at the times
    ``at``. ``reset`` maps states to their values after the event, as expressions of the values before it; other states
    keep theirs. ``texts`` are the expressions as in the file.
    """

    name: str
    when: Node | None
    direction: int
    at: tuple[Node, ...]
    reset: Mapping[str, Node]
    texts: Mapping[str, str]

    @property
    def expressions(self) -> tuple[Node, ...]:
        """All that it reads: what passes zero, and the states after it."""
        return (*(() if self.when is None else (self.when,)), *self.reset.values())

    @property
    def way(self) -> str:
        """The direction in a word."""
        return next(word for word, way in DIRECTIONS.items() if way == self.direction)
