"""The torchode adapter. What needs PyTorch runs in one process of its own and is judged here."""

from __future__ import annotations

import math
from typing import Any

import pytest
from adapters.findings import findings
from needs import skip_without

from sciml_bench.adapters.base import ProblemTraits
from sciml_bench.adapters.torchode import ADAPTER
from sciml_bench.record.task import Cell


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The findings of :mod:`adapters.in_torchode`."""
    skip_without("torchode")
    return findings("in_torchode.py")


def test_networks_and_paths_are_refused():
    cell = Cell("any", "torchode", "tsit5", "discrete", "eager")
    facts = ProblemTraits("any", "nonstiff", 2, 4, 0, "parameters", False)
    assert ADAPTER.refusal(cell, facts) is None
    for changes in ({"n_weights": 10}, {"latent": True}, {"controlled": True}):
        assert ADAPTER.refusal(cell, ProblemTraits(**{**vars(facts), **changes})) is not None


@pytest.mark.parametrize("method", ["tsit5", "dopri5"])
def test_gradients_are_right(found, method):
    assert found["errors"][method] < 1e-5


def test_each_trajectory_takes_the_steps_that_it_takes_alone(found):
    own = found["own"]
    assert own["trajectories"]["n_steps"] == own["alone"]
    assert own["alone"][0] < own["alone"][1]
    assert not own["trajectories"]["shared_steps"]
    assert own["trajectories"]["failed"] == []
    assert own["statistics"]["n_steps"] == own["alone"][1]
    assert own["statistics"]["n_steps_least"] == own["alone"][0]
    assert own["statistics"]["n_accepted"] + own["statistics"]["n_rejected"] == own["statistics"]["n_steps"]
    for row, t in zip(own["ys"], (0.5, 2.0), strict=True):
        assert row[0] == pytest.approx(math.exp(-t), rel=1e-4)
        assert row[2] == pytest.approx(math.exp(-50 * t), abs=1e-5)


def test_the_gradient_of_a_batch_is_that_of_all_its_trajectories(found):
    """Of sum y² with y = exp(p k t): d/dp is the sum of 2 k t exp(2 k t) over trajectories and saved times."""
    expected = sum(2 * k * t * math.exp(2 * k * t) for k in (-1.0, -50.0) for t in (0.5, 2.0))
    assert found["own"]["gradient"] == [pytest.approx(expected, rel=1e-4)]


def test_the_trajectory_with_which_a_batch_ends_is_named(found):
    failing = found["failing"]
    assert failing["outcome"] in ("nonfinite", "max_steps")
    assert failing["failed"] == [[0, failing["outcome"]]]
    assert "in trajectory 0, with which the batch ends" in failing["message"]
    assert found["blow_up"][0] in ("nonfinite", "max_steps")


def test_one_time_for_a_whole_batch_is_refused(found):
    outcome, message = found["refused"]
    assert outcome == "unsupported"
    assert "one time for a whole batch" in message
