"""Worker side of the adapter of SimpleChains: its gradients in Julia, and steps of Optimisers.jl on flat parameters."""

from __future__ import annotations

from typing import Any

from sciml_bench.adapters.julia.models import JuliaModelProgram, included
from sciml_bench.record.task import Task


class SimpleChainsProgram(JuliaModelProgram):
    """A model as a ``SimpleChain``."""

    bench = included("simplechains.jl", "SciMLBenchSimpleChains")

    def build_network(self, task: Task, slots: tuple[list[Any], ...], classes: int) -> Any:
        return self.bench.build(task.source, task.cell.precision, slots, self.weights, classes)
