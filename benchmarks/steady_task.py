"""The task of one cell at one tolerance, sampled as long as a benchmark of ours asks for."""

from __future__ import annotations

from sciml_bench.adapters import registry
from sciml_bench.emit import source
from sciml_bench.record.task import Cell, Point, Sampling, Task
from sciml_bench.spec import catalog

RTOL = 1e-6


def steady_task(label: str, seconds: float) -> Task:
    """The task of the cell ``problem/adapter/method/sensitivity/mode``, with steady loops of so many seconds."""
    cell = Cell(*label.split("/"))
    adapter = registry.adapter(cell.adapter)
    problem = catalog.load(cell.problem)
    return Task(
        cell=cell,
        program=adapter.program,
        source=source(problem, adapter.target_of(cell)),
        numbers=problem.numbers(),
        points=(Point(RTOL, RTOL),),
        sampling=Sampling(
            warm_up_calls=5, steady_calls=30, steady_s=seconds, max_steady_calls=20_000, perturbation=1e-6
        ),
        seed=0,
        threads=1,
        error_bound=0.1,
        gradient_error_bound=0.1,
    )
