"""The interface of schedulers: they start tasks on machines, and report their states."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sciml_bench.execution.cluster.task import Order


class Phase(StrEnum):
    """The state of a task, by its scheduler's word; a held one does not start unless somebody changes something."""

    WAITING = "waiting"
    HELD = "held"
    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True)
class State:
    """A task, by its scheduler's word: its phase, the word itself, and the node if it has one."""

    phase: Phase
    word: str
    node: str = ""


class Scheduler(ABC):
    """Starts tasks on the machines of a cluster.

    ``room`` is how many it accepts at once; without ``keeps_tasks`` they end with the command that submitted them.
    """

    name: str
    room: int
    keeps_tasks = True

    @abstractmethod
    def check(self) -> None:
        """Raise :class:`EngineError` with what to do if it cannot be used, before anything is submitted."""

    @abstractmethod
    def submit(self, orders: Sequence[Order], without: Sequence[str] = (), active: Sequence[str] = ()) -> list[str]:
        """Have tasks carried out on any nodes but those in ``without``; returns the name of each.

        ``active`` are earlier tasks, which count under a limit of nodes, too. :class:`EngineError` if it refuses them.
        """

    @abstractmethod
    def states(self) -> Mapping[str, State]:
        """The tasks of this user that it knows of. One that is missing ended, or was never there.

        :class:`EngineError` if it cannot be reached.
        """

    @abstractmethod
    def cancel(self, tasks: Sequence[str]) -> None:
        """End tasks; ended ones are passed over."""

    @abstractmethod
    def close(self) -> None:
        """Leave the scheduler; its tasks stay."""
