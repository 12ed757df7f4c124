"""Worker side of the adapter of Lux: its own ``Training`` in Julia, for gradients and for steps."""

from __future__ import annotations

from typing import Any

from sciml_bench.adapters.julia.models import JuliaModelProgram, included
from sciml_bench.record.task import Task


class LuxProgram(JuliaModelProgram):
    """A model of Lux's layers."""

    bench = included("lux.jl", "SciMLBenchLux")

    def build_network(self, task: Task, slots: tuple[list[Any], ...], classes: int) -> Any:
        cell = task.cell
        return self.bench.build(
            task.source, cell.sensitivity, cell.precision, slots, self.weights, classes, task.threads
        )
