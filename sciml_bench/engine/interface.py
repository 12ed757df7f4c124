"""The interface of engines, which run units of work on this machine or on others.

An engine accepts units (:meth:`Engine.submit`), reports their progress (:meth:`Engine.wait`), and ends them
(:meth:`Engine.cancel`). The caller does not know where a unit runs. Progress comes as *happenings*: a job reported an
event, a job was measured, a unit was handed over or ended.
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
class WorkerReported:
    """The worker of job ``index`` of a unit reported an event. Some engines see no workers."""

    unit: Unit
    index: int
    event: Event


@dataclass(frozen=True)
class JobMeasured:
    """A job was measured."""

    unit: Unit
    record: Record


@dataclass(frozen=True)
class UnitEnded:
    """A unit ended. ``lost`` is the reason why some of its jobs were not measured, empty if all were."""

    unit: Unit
    lost: str = ""


@dataclass(frozen=True)
class HandedOver:
    """A unit was written to a file, to be run later and elsewhere; its shard is then merged into the run."""

    unit: Unit
    path: Path


EngineEvent = WorkerReported | JobMeasured | UnitEnded | HandedOver
EventCallback = Callable[[EngineEvent], None]


class Engine(ABC):
    """Runs units. A context manager, which cancels running units at its end."""

    name: str
    room = 1
    """Number of units it accepts at once; with more than one, later blocks do not see results of earlier ones."""
    finishes_groups = True
    """True if it can continue a group of cells that this machine began."""

    @abstractmethod
    def submit(self, unit: Unit) -> None:
        """Accept a unit. Raises :class:`EngineError` if it cannot."""

    @abstractmethod
    def wait(self, on: EventCallback) -> None:
        """Report happenings until at least one unit has ended or was handed over; return at once without units.

        An exception from ``on`` ends the unit of the happening and is raised here, like ``KeyboardInterrupt``.
        """

    @abstractmethod
    def cancel(self) -> None:
        """End running units and forget waiting ones. All measurements have been reported."""

    def resume(self) -> Sequence[Unit]:
        """Return units of an earlier process that still run or wait, and need not be submitted again."""
        return ()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.cancel()


class OneByOne(Engine):
    """An engine that runs its units one after the other, in this process."""

    def __init__(self) -> None:
        self._waiting: deque[Unit] = deque()

    def submit(self, unit: Unit) -> None:
        self._waiting.append(unit)

    def wait(self, on: EventCallback) -> None:
        if self._waiting:
            self.carry_out(self._waiting.popleft(), on)

    @abstractmethod
    def carry_out(self, unit: Unit, on: EventCallback) -> None:
        """Run a unit and report its happenings, its end last."""

    def cancel(self) -> None:
        # The workers of the unit at hand ended when its measurements were closed.
        self._waiting.clear()
