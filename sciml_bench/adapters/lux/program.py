"""Worker side of the adapter of Lux: its own ``Training`` in Julia, for gradients and for steps."""

from __future__ import annotations

from typing import Any

from sciml_bench.adapters.julia.models import JuliaModelProgram, included
from sciml_bench.record.task import Task

BENCH: Any = included("lux.jl", "SciMLBenchLux")


class LuxProgram(JuliaModelProgram):
    """A model of Lux's layers."""

    def build_network(self, task: Task, slots: tuple[list[Any], ...], classes: int) -> Any:
        cell = task.cell
        return self.bench.build(
            task.source, cell.sensitivity, cell.precision, slots, self.weights, classes, task.threads
        )


def build(task: Task) -> LuxProgram:
    """The program of a task."""
    return LuxProgram(task, BENCH)
