"""Tasks of catalog problems for adapters' programs."""

from __future__ import annotations

from sciml_bench.adapters import registry
from sciml_bench.emit import source
from sciml_bench.problem import catalog
from sciml_bench.task import Cell, Numbers, Point, Sampling, Task


def catalog_task(problem: str, adapter: str, method: str, sensitivity: str, mode: str, precision="float64") -> Task:
    """One cell on a problem of the catalog. The point is given to ``prepare``, so the task's own is any."""
    loaded = catalog.load(problem)
    cell = Cell(problem, adapter, method, sensitivity, mode, precision)
    return source_task(source(loaded, registry.adapter(adapter).target), loaded.numbers(), cell)


def source_task(text: str, numbers: Numbers, cell: Cell) -> Task:
    """One cell on emitted, or hand-made, source."""
    return Task(
        cell=cell,
        program=registry.adapter(cell.adapter).program,
        source=text,
        numbers=numbers,
        points=(Point(1e-6, 1e-8),),
        sampling=Sampling(warm_up_calls=1, steady_calls=1, steady_s=0.0, max_steady_calls=1, perturbation=0.0),
        seed=0,
        threads=1,
        error_bound=1e-3,
        gradient_error_bound=1e-2,
    )
