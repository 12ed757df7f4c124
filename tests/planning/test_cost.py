"""What a cell is expected to cost before it was ever run."""

from __future__ import annotations

from sciml_bench.adapters.base import ProblemTraits
from sciml_bench.adapters.julia import ADAPTER
from sciml_bench.planning.cost import estimate_s
from sciml_bench.planning.profiles import profile_named
from sciml_bench.record.task import CALLS, Cell


def cost_s(
    sensitivity: str,
    took_s: float | None = None,
    calls: tuple[str, ...] = CALLS,
    n_theta: int = 3,
    method: str = "rodas5p",
) -> float:
    cell = Cell("any", "julia", method, sensitivity, "compiled")
    known = {} if took_s is None else {cell.label: took_s}
    facts = ProblemTraits("any", "stiff", 50, n_theta, 0, "parameters", True)
    return estimate_s(
        cell, ADAPTER.method(method), facts, ADAPTER.cost, profile=profile_named("quick"), timeout_s=30.0,
        earlier=known, calls=calls, n_points=3,
    )  # fmt: skip


def test_an_adjoint_of_julia_compiles_longer_than_dual_numbers():
    assert cost_s("gauss-reversediff") > 3 * cost_s("forward") > 3 * ADAPTER.cost.startup_s


def test_an_adjoint_that_is_not_taken_is_not_compiled():
    assert cost_s("gauss-reversediff", calls=("solve",)) == cost_s("forward", calls=("solve",)) < cost_s("forward")


def test_what_a_cell_took_is_what_it_will_take():
    assert cost_s("gauss-reversediff", took_s=7.0) == 7.0


def test_a_forward_gradient_carries_all_of_theta_and_an_adjoint_does_not():
    assert cost_s("forward", n_theta=100) > cost_s("forward") + 5
    assert cost_s("gauss-reversediff", n_theta=100) == cost_s("gauss-reversediff")
    assert cost_s("forward", n_theta=100, calls=("solve",)) == cost_s("forward", calls=("solve",))


def test_no_loop_outlasts_its_limit():
    assert cost_s("forward", n_theta=10**6, calls=("gradient",)) == ADAPTER.cost.startup_s + 3 * 30


def test_the_longest_of_what_compiles_long_counts():
    solves = cost_s("gauss-reversediff", calls=("solve",))
    assert cost_s("gauss-reversediff", calls=("solve",), method="cvode_bdf") > solves + 20
    assert cost_s("gauss-reversediff", method="cvode_bdf") == cost_s("gauss-reversediff")


def test_to_solve_backwards_takes_several_solves():
    assert cost_s("backsolve-reversediff") > cost_s("gauss-reversediff")
