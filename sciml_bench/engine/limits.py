"""Limits of a worker before it is ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import psutil

from sciml_bench.adapters import registry
from sciml_bench.adapters.base import Adapter
from sciml_bench.errors import EngineError, UsageError
from sciml_bench.host.control_groups import memory_limit
from sciml_bench.record.point import REBUILD
from sciml_bench.record.task import AT, Task

_DEFAULT_MEMORY_SHARE = 0.8

COMPILING_S = 240.0
"""Allowance for a framework that compiles a model, or Julia an adjoint: half a minute to two, in every process."""

_FIRST = ("build", REBUILD, "first_solve", "first_gradient", "training_build", "training_first_step")


@dataclass(frozen=True)
class Limits:
    """Limits of one worker.

    ``timeout_s`` bounds each phase, and each loop of calls at a point, in seconds of undisturbed processors
    (:mod:`sciml_bench.measure.deadline`). ``memory_bytes`` bounds the resident memory of the worker and its children;
    ``None`` for only the machine's limit. ``import_s``, if larger, bounds the import of the framework: from a cold
    disk or on a busy machine that takes long, and says nothing about a solver. ``first_s``, if larger, bounds the
    phases that compile: building, also again, and the first solve, gradient and step of training.
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
    """The limit to take when the user names none: most of the memory that this process may use, so that the host and
    the process itself live on.
    """
    total = psutil.virtual_memory().total
    return int(_DEFAULT_MEMORY_SHARE * min(total, memory_limit() or total))


def in_its_interpreter(command: Sequence[str], adapter: str) -> list[str]:
    """The command of a worker, with the interpreter of this adapter in the first place if it has one."""
    declared = _declared(adapter)
    return [(declared and declared.interpreter) or command[0], *command[1:]]


def adapter_variables(adapter: str) -> dict[str, str]:
    """Environment variables of the workers of this adapter; empty for a program without an adapter."""
    declared = _declared(adapter)
    return {} if declared is None else declared.variables()


def _declared(name: str) -> Adapter | None:
    try:
        return registry.adapter(name)
    except UsageError as error:
        if AT in name:
            # Without its environment it would be measured in another one, under this one's name.
            raise EngineError(str(error)) from error
        return None
