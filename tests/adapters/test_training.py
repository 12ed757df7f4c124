"""Trainings: every framework, in a process of its own, computes the same steps from the same start."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from adapters.findings import findings
from adapters.trainings import OPTIMISERS, STEPS, first_theta, gradients, pinned
from needs import skip_without

from sciml_bench.record.codec import decode
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.training import Trained

SCRIPTS = {
    "diffrax": "in_jax_training.py",
    "torchdiffeq": "in_torch_training.py",
    "tensorflow": "in_tensorflow_training.py",
}


@cache
def found(framework: str) -> dict[str, Any]:
    """The findings of one framework, from a process of its own; three take minutes on a busy machine."""
    skip_without(framework)
    return findings(SCRIPTS[framework])


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("framework", SCRIPTS)
def test_every_optimiser_is_of_the_pinned_formula(framework: str, optimiser: str) -> None:
    expected = pinned(OPTIMISERS[optimiser], first_theta(), gradients())
    assert found(framework)["formulas"][optimiser] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_the_formulas_can_be_told_apart() -> None:
    """Epsilon under the root, or added to an uncorrected one, would be seen."""
    theta, moved = first_theta(), gradients()
    ends = [pinned(training, theta, moved) for training in OPTIMISERS.values()]
    assert all(np.max(np.abs(a - b)) > 1e-3 for i, a in enumerate(ends) for b in ends[:i])


def test_losses_are_the_same_in_all_frameworks() -> None:
    curves = {name: decode(Trained, found(name)["spiral"]) for name in SCRIPTS}
    for name, curve in curves.items():
        assert (curve.outcome, curve.message, len(curve.losses)) == (Outcome.OK, "", STEPS), name
        assert all(ns > 0 for ns in curve.step_ns)
    first = curves["diffrax"]
    assert float(first.losses[-1] or 0) < 0.9 * float(first.losses[0] or 0)
    for curve in curves.values():
        assert curve.losses == pytest.approx(first.losses, rel=1e-6)
        assert curve.theta == pytest.approx(first.theta, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("framework", SCRIPTS)
def test_a_training_that_diverges_has_an_outcome_and_keeps_its_curve(framework: str) -> None:
    gone = decode(Trained, found(framework)["diverging"])
    assert gone.outcome is Outcome.DIVERGED, gone.message
    assert 1 <= len(gone.losses) < STEPS
    assert len(gone.losses) == len(gone.step_ns)
    assert gone.phase in ("training", "training_first_step")
    assert gone.message
