"""What carries out units of work, wherever it does so: the local engine, or one that hands units to other machines.

An engine gets units (:meth:`Engine.submit`), says what becomes of them (:meth:`Engine.wait`), and ends them
(:meth:`Engine.cancel`). Who submits does not know where a unit runs. What an engine says comes as *happenings*: a job
reported an event, a job was measured, a unit was handed over or ended.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from sciml_bench.engine.unit import Unit
from sciml_bench.measure.protocol import Event
from sciml_bench.record.record import Record


@dataclass(frozen=True)
class Told:
    """The worker of a job reported an event; ``index`` is the job's in its unit. Some engines see no workers."""

    unit: Unit
    index: int
    event: Event


@dataclass(frozen=True)
class Measured:
    """A job was measured."""

    unit: Unit
    record: Record


@dataclass(frozen=True)
class Ended:
    """A unit ended. ``lost`` says why jobs of it were not measured; it is empty when all were."""

    unit: Unit
    lost: str = ""


@dataclass(frozen=True)
class HandedOver:
    """A unit is a file now, and is carried out later and elsewhere; what that leaves is merged into the run."""

    unit: Unit
    path: Path


Happening = Told | Measured | Ended | HandedOver
OnHappening = Callable[[Happening], None]


class Engine(ABC):
    """Carries out units. A context manager: what still runs at its end is cancelled, unless it was left running."""

    name: str
    room = 1
    """How many units it wants at once; with more, later blocks do not wait for what earlier ones show."""
    finishes_groups = True
    """Whether it can go on with a group of cells that this machine began."""

    @abstractmethod
    def submit(self, unit: Unit) -> None:
        """Take a unit over. :class:`EngineError` when it cannot be."""

    @abstractmethod
    def wait(self, on: OnHappening) -> None:
        """Report what happens until at least one unit has ended or was handed over; return at once when none is there.

        What ``on`` raises ends the unit that it was called for, and is raised here, as is ``KeyboardInterrupt``.
        """

    @abstractmethod
    def cancel(self) -> None:
        """End what runs and forget what waits. What was measured has been reported."""

    def resume(self) -> Sequence[Unit]:
        """Units that an earlier process submitted and that still run or wait: they need not be submitted again."""
        return ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.cancel()


class OneByOne(Engine):
    """An engine that carries out its units one after the other, in this process."""

    def __init__(self) -> None:
        self._waiting: deque[Unit] = deque()

    def submit(self, unit: Unit) -> None:
        self._waiting.append(unit)

    def wait(self, on: OnHappening) -> None:
        if self._waiting:
            self.carry_out(self._waiting.popleft(), on)

    @abstractmethod
    def carry_out(self, unit: Unit, on: OnHappening) -> None:
        """Carry out a unit and report all that happens, its end last."""

    def cancel(self) -> None:
        # The workers of the unit at hand ended when its measurements were closed.
        self._waiting.clear()
