"""Radau IIA at high precision."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb

from sciml_bench.references.engine.numbers import matching_digits, precision
from sciml_bench.references.engine.tableau import radau


def test_the_three_stage_method_is_radau5():
    root = np.sqrt(6)
    expected = [[(88 - 7 * root) / 360, (296 - 169 * root) / 1800, (-2 + 3 * root) / 225],
                [(296 + 169 * root) / 1800, (88 + 7 * root) / 360, (-2 - 3 * root) / 225],
                [(16 - root) / 36, (16 + root) / 36, 1 / 9]]  # fmt: skip
    assert np.allclose(radau(3, 128).a_d, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("stages", [2, 7, 15, 24])
def test_quadrature_has_order_two_s_minus_one(stages: int):
    with precision(192):
        tableau = radau(stages, 192)
        weights = [tableau.a[stages - 1, j] for j in range(stages)]
        for power in (0, 1, stages, 2 * stages - 2):
            moment = sum((b * c**power for b, c in zip(weights, tableau.nodes, strict=True)), arb(0))
            assert matching_digits(moment, arb(1) / (power + 1)) > 52
        beyond = sum((b * c ** (2 * stages - 1) for b, c in zip(weights, tableau.nodes, strict=True)), arb(0))
        assert matching_digits(beyond, arb(1) / (2 * stages)) < 45


def test_stages_integrate_polynomials_to_their_nodes():
    with precision(192):
        tableau = radau(9, 192)
        for i, c in enumerate(tableau.nodes):
            integral = sum((tableau.a[i, j] * x**8 for j, x in enumerate(tableau.nodes)), arb(0))
            assert matching_digits(integral, c**9 / 9) > 45


def test_extrapolation_continues_a_polynomial():
    tableau = radau(8, 128)
    guess = tableau.extrapolation(0.5, 4) @ (tableau.nodes_d**3)
    assert np.allclose(guess, (1 + 0.5 * tableau.nodes_d) ** 3 - 1, atol=1e-9)
