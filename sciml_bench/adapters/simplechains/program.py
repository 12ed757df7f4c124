"""Worker side of the adapter of SimpleChains: its gradients in Julia, and steps of Optimisers.jl on flat parameters."""

from __future__ import annotations

from typing import Any

from sciml_bench.adapters.julia.models import JuliaModelProgram, included
from sciml_bench.record.task import Task

BENCH: Any = included("simplechains.jl", "SciMLBenchSimpleChains")


class SimpleChainsProgram(JuliaModelProgram):
    """A model as a ``SimpleChain``."""

    def build_network(self, task: Task, slots: tuple[list[Any], ...], classes: int) -> Any:
        return self.bench.build(task.source, task.cell.precision, slots, self.weights, classes)


def build(task: Task) -> SimpleChainsProgram:
    """The program of a task."""
    return SimpleChainsProgram(task, BENCH)
