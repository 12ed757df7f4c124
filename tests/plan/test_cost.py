"""What a cell is expected to cost before it was ever run."""

from __future__ import annotations

from sciml_bench.adapters.julia.declaration import ADAPTER
from sciml_bench.plan.cost import estimate_s
from sciml_bench.plan.profiles import profile_named
from sciml_bench.task import CALLS, Cell


def cost_s(sensitivity: str, took_s: float | None = None, calls: tuple[str, ...] = CALLS) -> float:
    cell = Cell("any", "julia", "rodas5p", sensitivity, "compiled")
    known = {} if took_s is None else {cell.label: took_s}
    return estimate_s(
        cell, ADAPTER.method("rodas5p"), stiff=True, profile=profile_named("quick"), timeout_s=30.0, earlier=known,
        calls=calls, n_points=3,
    )  # fmt: skip


def test_an_adjoint_of_julia_compiles_longer_than_dual_numbers():
    assert cost_s("gauss-reversediff") > 3 * cost_s("forward") > 40


def test_an_adjoint_that_is_not_taken_is_not_compiled():
    assert cost_s("gauss-reversediff", calls=("solve",)) == cost_s("forward", calls=("solve",)) < cost_s("forward")


def test_what_a_cell_took_is_what_it_will_take():
    assert cost_s("gauss-reversediff", took_s=7.0) == 7.0
