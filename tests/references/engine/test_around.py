"""Gradients through computed initial values and observed losses: the adjoint against central differences."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb
from stubs.latents import latent

from sciml_bench.references.batch_certificate import certified
from sciml_bench.references.certificate import certify
from sciml_bench.references.confirmation.differences import PERTURBATION
from sciml_bench.references.engine.around import Around
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.numbers import precision

STEP = arb(PERTURBATION)


@pytest.mark.parametrize("name", ["autoencoder", "classifier", "parameters"])
def test_derivatives_around_a_solve_are_those_of_its_values(tmp_path, name):
    problem = latent(tmp_path, name)
    around, n = Around(problem), problem.n_states
    with precision(220):
        p = [arb(value) for value in problem.numbers().p]
        direction = [arb((-1) ** i * (i % 7 + 1)) / 8 for i in range(len(p))]
        y = [arb(i + 1) / 4 for i in range(n)]

        def moved(sign: int) -> tuple[list[arb], list[arb], arb]:
            there = [a + sign * STEP * b for a, b in zip(p, direction, strict=True)]
            states = [a + sign * STEP * (i + 1) for i, a in enumerate(y)]
            return around.initial(there), around.observed(states, there, 0), around.penalty(there)

        ahead, behind = moved(1), moved(-1)
        v = [arb(i + 1) for i in range(n)]
        pulled = sum((a * b for a, b in zip(around.pull_start(p, v, penalty=1), direction, strict=True)), arb(0))
        slopes = [(a - b) / (2 * STEP) for a, b in zip(ahead[0], behind[0], strict=True)]
        wanted = sum((a * b for a, b in zip(v, slopes, strict=True)), (ahead[2] - behind[2]) / (2 * STEP))
        assert abs(float((pulled - wanted) / wanted)) < 1e-20
        w = [arb(i + 1) for i in range(len(ahead[1]))]
        by_state, by_parameter = around.pull_observed(y, p, w, 0)
        found = sum((a * (i + 1) for i, a in enumerate(by_state)), arb(0))
        found += sum((a * b for a, b in zip(by_parameter or [], direction, strict=True)), arb(0))
        wanted = sum((a * (b - c) for a, b, c in zip(w, ahead[1], behind[1], strict=True)), arb(0)) / (2 * STEP)
        assert abs(float((found - wanted) / wanted)) < 1e-20


def test_a_gradient_through_the_initial_state_is_certified(tmp_path):
    found = certify(Case(latent(tmp_path, "parameters")))
    assert float(found.row_digits.min()) > 25
    assert float(found.gradient_digits.min()) > 20


def test_trajectories_share_their_functions_but_not_their_data(tmp_path):
    problem = latent(tmp_path, "classifier", 2)
    first, second = problem.trajectories()
    case = Case(first)
    other = Case(second, like=case)
    assert other.dynamics is case.dynamics
    alone = Case(second)
    assert [float(value) for value in other.start.y0] == [float(value) for value in alone.start.y0]
    assert [float(value) for value in other.start.y0] != [float(value) for value in case.start.y0]


@pytest.mark.slow
def test_the_gradient_of_a_batch_is_the_sum(tmp_path):
    problem = latent(tmp_path, "classifier", 3)
    whole = certified(problem)
    parts = [certify(Case(trajectory)) for trajectory in problem.trajectories()]
    total = np.sum([[float(value) for value in part.gradient] for part in parts], axis=0)
    assert [float(value) for value in whole.gradient] == pytest.approx(total, rel=1e-12, abs=1e-15)
