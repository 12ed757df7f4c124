"""What carries out units of work, wherever it does so: the local engine, or one that hands units to other machines.

An engine gets units (:meth:`Engine.submit`), says what becomes of them (:meth:`Engine.wait`), and ends them
(:meth:`Engine.cancel`). Who submits does not know where a unit runs. What an engine says comes as *happenings*: a job
reported an event, a job was measured, a unit was handed over or ended.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from sciml_bench.adapters import registry
from sciml_bench.engine.unit import Unit
from sciml_bench.errors import UsageError
from sciml_bench.measure.protocol import Event
from sciml_bench.record.record import Record
from sciml_bench.record.task import Task


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


# What a worker may use before it is ended.

_DEFAULT_MEMORY_SHARE = 0.8

COMPILING_S = 240.0
"""What a framework may take to compile a model, or Julia an adjoint: half a minute to two, in every process."""

_FIRST = ("build", "first_solve", "first_gradient", "training_build", "training_first_step")


@dataclass(frozen=True)
class Limits:
    """Limits of one worker.

    ``timeout_s`` bounds each phase, and each loop of calls at a point, in seconds in which the worker's processors were
    its own (:mod:`sciml_bench.measure.patience`). ``memory_bytes`` bounds the resident memory of the worker and its
    children; ``None`` for no limit but the machine's.
    ``import_s`` bounds the import of the framework where it is larger: from a cold disk or on a busy machine that
    takes long, and says nothing about a solver. ``first_s`` bounds the phases that compile where it is larger: building
    and the first solve, gradient and step of training.
    """

    timeout_s: float
    memory_bytes: int | None = None
    import_s: float = 60.0
    first_s: float = 0.0

    def of_phase(self, phase: str) -> float:
        """The limit of this phase in seconds."""
        longer_s = {"import": self.import_s}.get(phase, self.first_s if phase in _FIRST else 0.0)
        return max(self.timeout_s, longer_s)

    def of_task(self, task: Task) -> Limits:
        """The limits of the worker of a task: a slow compiler says nothing of a model, nor of Julia's solvers.

        Elsewhere a solver that does not get through its first gradient within the limit is taken for hopeless.
        """
        try:
            compiles = task.learning is not None or registry.adapter(task.cell.adapter).compiles_long
        except UsageError:
            return self
        return replace(self, first_s=COMPILING_S) if compiles else self


def memory_limit_bytes() -> int:
    """The limit to take when the user names none: most of this host's memory, so that the host itself lives on."""
    return int(_DEFAULT_MEMORY_SHARE * psutil.virtual_memory().total)


def adapter_variables(adapter: str) -> dict[str, str]:
    """What the adapter of this name wants in its workers' environment; empty for a program without an adapter."""
    try:
        return registry.adapter(adapter).variables()
    except UsageError:
        return {}
