"""Networks, batches and training in a real Julia, in one process of its own. Run with ``-m julia``."""

from __future__ import annotations

import os
from typing import Any

import pytest
from adapters.findings import findings
from adapters.real_julia import LIMIT_S, NEEDED, QUICKLY_COMPILED
from adapters.trainings import OPTIMISERS, STEPS, first_theta, gradients, pinned

from sciml_bench.adapters.julia import installation
from sciml_bench.record.codec import decode
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.training import Trained

pytestmark = NEEDED


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The findings of :mod:`adapters.in_julia_networks`."""
    variables = installation.variables(os.environ) | QUICKLY_COMPILED
    return findings("in_julia_networks.py", timeout_s=LIMIT_S, **variables)


def test_equations_with_networks_agree_with_the_scalar_form(found):
    errors = found["right_hand_sides"]
    assert {"spiral-node", "fisher-kpp-upde", "activations", "derivatives-gelu_tanh", "plane-neumann-dirichlet"} <= set(
        errors
    )
    assert {name: error for name, error in errors.items() if not error < 1e-12} == {}


def test_gradients_of_weights_are_right(found):
    for name, errors in found["gradients"].items():
        assert errors["gradient"] < 1e-6, name


def test_a_batch_is_its_trajectories_one_by_one(found):
    for sensitivity, batch in found["batches"].items():
        assert batch["loss"] < 1e-12, sensitivity
        assert batch["gradient"] < 1e-8, sensitivity
        assert batch["states"] < 1e-12, sensitivity
        assert batch["n_steps"] == batch["n_steps_alone"]
        assert batch["most"] == max(batch["n_steps"])
        assert not batch["shared"]


def test_each_failed_trajectory_is_told(found):
    assert found["failing"]["failed"] == [1, 3]
    assert "for trajectory 2 of 4" in found["failing"]["message"]


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_every_optimiser_is_of_the_pinned_formula(found, optimiser):
    expected = pinned(OPTIMISERS[optimiser], first_theta(), gradients())
    assert found["training"]["formulas"][optimiser] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_losses_are_those_of_diffrax(found):
    ours = decode(Trained, found["training"]["spiral"])
    theirs = decode(Trained, findings("in_jax_training.py")["spiral"])
    assert (ours.outcome, ours.message, len(ours.losses)) == (Outcome.OK, "", STEPS)
    assert ours.losses == pytest.approx(theirs.losses, rel=1e-6)
    assert ours.theta == pytest.approx(theirs.theta, rel=1e-6, abs=1e-7)


def test_a_training_that_diverges_has_an_outcome_and_keeps_its_curve(found):
    gone = decode(Trained, found["training"]["diverging"])
    assert gone.outcome in (Outcome.DIVERGED, Outcome.NONFINITE, Outcome.MAX_STEPS, Outcome.STEP_UNDERFLOW), (
        gone.message
    )
    assert 1 <= len(gone.losses) < STEPS
