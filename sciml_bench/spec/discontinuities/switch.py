"""The times at which a problem's right-hand side is not smooth."""

from __future__ import annotations

from dataclasses import dataclass

from sciml_bench.spec.language.operators import Node


@dataclass(frozen=True)
class Switch:
    """A time that was found in an expression; ``origin`` says in which, as ``where(…) of y``."""

    time: Node
    origin: str


@dataclass(frozen=True)
class Unsettled:
    """A condition that may change at times that depend on the solution or on parameters.

    ``place`` is the file and line, ``text`` the surrounding expression, ``names`` its dependencies. ``jumps`` is false
    for ``max`` and ``min``, which bend there.
    """

    place: str
    text: str
    names: tuple[str, ...]
    of_states: bool
    jumps: bool = True

    @property
    def sentence(self) -> str:
        """The effect of a moving switch on gradients, in one line."""
        names = ", ".join(self.names)
        if self.of_states:
            return f"switches when a state does ('{self.text}' depends on {names}): solvers get no time to step on"
        if not self.jumps:
            return f"bends at a time that depends on {names} ('{self.text}'): solvers get no time to step on"
        return (
            f"switches at a time that depends on {names} ('{self.text}'): automatic differentiation misses how the "
            "switch moves, so gradients are checked by differences"
        )

    def __str__(self) -> str:
        return f"{self.place}: the condition in '{self.text}' depends on {', '.join(self.names)}"


@dataclass(frozen=True)
class Switching:
    """The breakpoints that the file declares, the switches that were found, and the conditions that move."""

    declared: tuple[Node, ...] = ()
    found: tuple[Switch, ...] = ()
    unsettled: tuple[Unsettled, ...] = ()


NO_SWITCHES = Switching()


def shown(time: Node) -> str:
    """An exact time as text: its form if that is short, otherwise fifteen digits."""
    text = str(time)
    return text if len(text) <= 24 else f"{time.evalf(15)}"
