"""TensorFlow's forward sensitivities. What needs TensorFlow runs in one process of its own and is judged here."""

from __future__ import annotations

from typing import Any

import pytest
from adapters.findings import findings
from needs import skip_without

from sciml_bench.adapters.base import ProblemTraits
from sciml_bench.adapters.tensorflow import ADAPTER
from sciml_bench.record.task import Cell


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The findings of :mod:`adapters.in_tensorflow_forward`."""
    skip_without("tensorflow")
    return findings("in_tensorflow_forward.py")


@pytest.mark.parametrize(
    ("kind", "error", "worst"),
    [
        ("robertson bdf xla", 1e-6, 1e-6),
        ("robertson bdf graph", 1e-4, 1e-4),
        ("hires bdf xla", 1e-5, 1e-4),
        ("lotka-volterra dormand_prince xla", 1e-5, 1e-4),
        ("brusselator-1d dormand_prince xla", 1e-5, 1e-4),
    ],
)
def test_gradients_are_those_of_the_references(found, kind, error, worst):
    """HIRES is solved in shares of three components, the last of them there twice."""
    assert found["gradients"][kind]["error"] < error
    assert found["gradients"][kind]["worst"] < worst


def test_the_newton_matrix_of_a_small_system_is_the_derivative_of_all_of_it(found):
    assert found["coupled"]["off"] < 1e-7


@pytest.mark.parametrize("kind", ["uncoupled", "of a field"])
def test_without_coupling_the_diagonal_blocks_are_right_and_the_rest_is_left_off(found, kind):
    assert found[kind]["diagonal"] < 1e-7
    assert found[kind]["below"] > 1e-4


def test_shares_have_every_component_and_are_of_one_size(found):
    for kind, shares in found["shares"].items():
        n_states, n_theta = map(int, kind.split())
        assert {component for share in shares for component in share} == set(range(n_theta))
        assert len({len(share) for share in shares}) == 1
        assert n_states * (1 + len(shares[0])) <= max(32, 2 * n_states)
    assert found["shares"]["3 3"] == [[0, 1, 2]]
    # Five shares of two cost less than four of three, of which two components are there twice.
    assert found["shares"]["8 10"] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]


@pytest.mark.parametrize("kind", ["blow_up", "no_slope"])
def test_what_is_not_finite_is_a_typed_failure_with_its_cause(found, kind):
    outcome, message = found[kind]
    assert outcome == "nonfinite"
    assert "not-a-number" in message or "a sensitivity left double precision" in message
    assert "backwards in time" not in message


@pytest.mark.parametrize("method", ["bdf", "dormand_prince"])
def test_a_right_hand_side_that_depends_on_time_has_the_right_gradient(found, method):
    """y' = p t**3: the loss is y(0.5)**2 + y(2)**2, so d(loss)/dp = 2 y(0.5)/64 + 8 y(2) with y(t) = 1 + p t**4/4."""
    outcome, message = found["time"][method]
    assert outcome == "ok", message
    assert float(message.strip("[]")) == pytest.approx(2 * (1 + 1 / 64) / 64 + 8 * (1 + 4), rel=1e-4)


def test_a_tolerance_sweep_traces_once(found):
    first, *later = found["traces"]
    assert first > 0
    assert later == [first, first]


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (Cell("any", "tensorflow", "rk4", "forward", "xla"), "differentiated as it stands"),
        (Cell("any", "tensorflow", "bdf", "forward", "unrolled"), "cannot be written out"),
    ],
)
def test_what_forward_sensitivities_are_not_for_is_refused(cell, words):
    assert words in (ADAPTER.refusal(cell, ProblemTraits("any", "nonstiff", 2, 4, 0, "parameters", False)) or "")
    assert ADAPTER.refusal(Cell("any", "tensorflow", "bdf", "forward", "graph"), ProblemTraits(
        "any", "stiff", 2, 4, 0, "parameters", True
    )) is None  # fmt: skip
