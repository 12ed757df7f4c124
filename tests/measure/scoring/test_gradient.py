"""Scores of gradients: by hand, and attacked with gradients that are wrong in one place or right to a tolerance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sciml_bench.measure.scoring.gradient import gradient_scores
from sciml_bench.record.point import Scores
from sciml_bench.record.task import Point, Reference
from sciml_bench.record.theta import Block, Theta
from sciml_bench.references.truth import truth
from sciml_bench.spec import catalog

BOUND = 0.1
TIGHT, LOOSE = Point(1e-12, 1e-12), Point(1e-4, 1e-4)


def reference(gradient: Any, digits: Any = 15.0, loss: float | None = None) -> Reference:
    values = tuple(float(value) for value in gradient)
    return Reference("exact", (), (), (), values, tuple(np.broadcast_to(digits, len(values)).tolist()), loss)


def named(*sizes: float) -> Theta:
    return Theta(tuple(f"k{i}" for i in range(1, len(sizes) + 1)), sizes)


def layers(**counts: int) -> Theta:
    """Weights only, in blocks of so many, all of size 1."""
    blocks: list[Block] = []
    for name, count in counts.items():
        start = blocks[-1].stop if blocks else 0
        blocks.append(Block(name, start, start + count))
    labels = tuple(f"{block.name}[{i}]" for block in blocks for i in range(block.stop - block.start))
    return Theta(labels, (1.0,) * len(labels), tuple(blocks))


def scored(
    gradient: Any, theta: Theta, known: Reference, point: Point = TIGHT, precision: str = "float64"
) -> tuple[Scores, str]:
    scores, reason = gradient_scores(np.asarray(gradient, dtype=float), theta, known, point, precision, BOUND)
    assert scores is not None
    return scores, reason


def test_errors_worked_out_by_hand():
    scores, reason = scored([3.0, 4.4, 100.0], named(1.0, 0.1, 1e-3), reference([3.0, 4.0, 100.0]))
    assert scores["error"] == pytest.approx(0.04 / math.sqrt(3.0**2 + 0.4**2 + 0.1**2))
    assert (scores["worst_component"], scores["worst_component_error"]) == ("k2", pytest.approx(0.1))
    assert scores["norm_error"] == pytest.approx(0.4 / math.sqrt(3.0**2 + 4.0**2 + 100.0**2))
    assert scores["worst_group"] == "parameters"
    assert scores["below_reference"] is False
    assert reason == ""


def test_what_the_raw_norm_does_not_see_is_seen_and_named():
    truth_of_robertson = [-345.0, 1.2e-7, 3.4e-4]
    scores, reason = scored([-345.0, -3.6e-7, 3.4e-4], named(0.04, 3e7, 1e4), reference(truth_of_robertson))
    assert (scores["norm_error"] or 1.0) < 1e-8
    assert (scores["error"] or 0.0) > BOUND
    assert scores["worst_component"] == "k2"
    assert reason.startswith("the gradient error is 9.8e-01, its bound 1.0e-01; ")
    assert "component k2 is off by 4.0e+00 of its size, the bound is 1.0e-01" in reason


def test_component_that_is_small_in_log_p_too_is_seen():
    scores, reason = scored([1.0, -3e-9], named(1.0, 1.0), reference([1.0, 1e-9]), LOOSE)
    assert (scores["error"] or 1.0) < 1e-8
    assert reason == "the gradient's component k2 is off by 4.0e+00 of its size, the bound is 1.0e-01"


def test_several_wrong_components_are_counted():
    _, reason = scored([1.0, -3e-9, 0.0], named(1.0, 1.0, 1.0), reference([1.0, 1e-9, 1e-9]))
    assert reason.endswith("(and 1 more components miss theirs)")
    assert "component k2 is off" in reason


def test_layers_do_not_hide_behind_each_other():
    right = np.array([1.0] * 90 + [1e-3] * 10)
    wrong = right.copy()
    wrong[90:] *= 1.5
    scores, reason = scored(wrong, layers(weight1=90, bias1=10), reference(right), LOOSE)
    assert (scores["norm_error"] or 1.0) < 1e-3
    assert (scores["error"], scores["worst_group"]) == (pytest.approx(0.5), "bias1")
    assert reason.startswith("the gradient error in bias1 is 5.0e-01, its bound 1.0e-01")


def test_parameters_beside_a_network_are_a_group_of_their_own():
    theta = Theta(("alpha", *layers(w=3).labels), (2.0, 1.0, 1.0, 1.0), (Block("w", 1, 4),))
    scores, reason = scored([-1e-6, 5.0, 5.0, 5.0], theta, reference([1e-6, 5.0, 5.0, 5.0]))
    assert (scores["error"], scores["worst_group"]) == (pytest.approx(2.0), "parameters")
    assert "component alpha is off" in reason


def test_weights_may_be_off_by_what_the_tolerance_explains_and_no_more():
    right = np.array([1.0, -1.0, 1.0, 1e-3])
    known, theta = reference(right), layers(w=4)
    off = right + np.array([0.0, 0.0, 0.0, 5e-3])
    scores, reason = scored(off, theta, known, Point(1e-5, 1e-5))
    assert reason == ""
    assert scores["excused"] == 1
    assert (scores["worst_component"], scores["worst_component_error"]) == ("w[3]", pytest.approx(5.0))
    scores, reason = scored(off, theta, known, Point(1e-6, 1e-6))
    assert scores["excused"] == 0
    assert reason == "the gradient's component w[3] is off by 5.0e+00 of its size, the bound is 1.0e-01"
    # A parameter of the same size is not excused at any tolerance.
    assert "k4 is off" in scored(off, named(1.0, 1.0, 1.0, 1.0), known, Point(1e-5, 1e-5))[1]


def test_component_below_what_doubles_resolve_is_named_and_held_against_rounding():
    theta, known = named(1.0, 1.0), reference([1.0, 1e-14])
    scores, reason = scored([1.0, -3e-14], theta, known, Point(1e-15, 1e-15))
    assert (scores["unresolved"], scores["unresolved_count"], reason) == (["k2"], 1, "")
    assert scores["worst_component"] == "k1"
    _, reason = scored([1.0, 1e-11], theta, known, Point(1e-15, 1e-15))
    assert reason.startswith("the gradient's component k2, zero except for rounding, is ")


def test_single_precision_resolves_less():
    theta, known = named(1.0, 1.0), reference([1.0, 1e-4])
    assert scored([1.0, 1e-4], theta, known)[0]["unresolved"] == []
    assert scored([1.0, 1e-4], theta, known, precision="float32")[0]["unresolved"] == ["k2"]


def test_small_next_to_the_loss_is_unresolved_too():
    assert scored([1e-3], named(1.0), reference([1e-3], loss=1e10))[0]["unresolved"] == ["k1"]
    assert scored([1e-3], named(1.0), reference([1e-3], loss=1e3))[0]["unresolved"] == []


def test_gradient_of_zero_is_held_against_tolerance_and_loss():
    theta, known = named(2.0), reference([0.0], loss=10.0)
    scores, reason = scored([1e-8], theta, known, Point(1e-10, 1e-10))
    assert (scores["error"], scores["worst_component"], scores["unresolved"]) == (None, None, ["k1"])
    assert scores["below_reference"] is False
    assert reason == ""
    assert scored([1e-3], theta, known, Point(1e-10, 1e-10))[1].startswith("the gradient's component k1, zero")


def test_component_that_is_not_certified_is_named_and_not_judged():
    theta, known = named(1.0, 1.0, 1.0), reference([1.0, 1.0, 1.0], digits=[15.0, 0.0, 2.9])
    scores, reason = scored([1.0, -3.0, 7.0], theta, known)
    assert (scores["uncertified"], scores["uncertified_count"], reason) == (["k2", "k3"], 2, "")
    assert (scores["worst_component"], scores["error"]) == ("k1", pytest.approx(1e-15))
    assert "k1 is off" in scored([-3.0, 1.0, 1.0], theta, known)[1]


def test_nothing_certified_gives_no_error_and_says_so():
    scores, reason = scored([5.0], named(1.0), reference([1.0], digits=0.0))
    assert (scores["error"], scores["worst_component_error"], scores["uncertified"], reason) == (None, None, ["k1"], "")


def test_score_is_never_better_than_the_reference():
    scores, reason = scored([3.0, 4.0], named(1.0, 1.0), reference([3.0, 4.0], digits=6.0))
    assert scores["error"] == pytest.approx(1e-6)
    assert scores["worst_component_error"] == pytest.approx(1e-6)
    assert scores["below_reference"] is True
    assert reason == ""


def test_uncertainty_of_a_component_is_granted_to_it_alone():
    known = reference([1.0, 1.0], digits=[15.0, 3.0])
    assert scored([1.0, 1.1009], named(1.0, 1.0), known)[1] == ""
    assert "k1 is off" in scored([1.1009, 1.0], named(1.0, 1.0), known)[1]


def test_huge_and_tiny_gradients_are_scored_alike():
    for factor in (1e-290, 1.0, 1e300):
        known = reference(np.array([3.0, 4.1]) * factor, loss=5.0 * factor)
        scores, reason = scored(np.array([3.0, 4.0]) * factor, named(1e4, 1e4), known)
        assert scores["error"] == pytest.approx(0.1 / math.hypot(3.0, 4.1))
        assert reason == ""


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_misses_every_bound(bad: float):
    for theta in (named(1.0, 1.0), layers(w=2)):
        scores, reason = scored([1.0, bad], theta, reference([1.0, 1.0]))
        assert scores["error"] is None
        assert "bound" in reason


def test_no_gradient_in_the_reference_gives_no_scores():
    known = Reference("exact", (), (), ())
    assert gradient_scores(np.array([1.0]), named(1.0), known, TIGHT, "float64", BOUND) == (None, "")


def test_only_a_hundred_names_are_kept_and_all_are_counted():
    scores, _ = scored(np.zeros(300), layers(w=300), reference(np.zeros(300), loss=1.0))
    assert (len(scores["unresolved"]), scores["unresolved_count"]) == (100, 300)


def _known(name: str) -> tuple[Theta, Reference] | None:
    problem = catalog.load(name)
    found = truth(problem, 0.0)
    return None if found is None or found.gradient is None else (problem.theta, found)


@pytest.fixture(scope="module")
def references() -> dict[str, tuple[Theta, Reference]]:
    found = {name: known for name in catalog.equation_names() if (known := _known(name)) is not None}
    assert len(found) > 90
    return found


def test_any_component_of_any_catalog_gradient_times_minus_three_is_seen(
    references: dict[str, tuple[Theta, Reference]],
):
    unresolved: list[str] = []
    hidden: list[str] = []
    for name, (theta, known) in references.items():
        right = np.array(known.gradient)
        scores, reason = scored(right, theta, known)
        assert reason == "", name
        assert scores["uncertified_count"] == 0, name
        for i in np.flatnonzero(right):
            wrong = right.copy()
            wrong[i] *= -3.0
            told, reason = scored(wrong, theta, known)
            if reason:
                assert theta.labels[i] in reason
            elif theta.labels[i] in told["unresolved"] or told["unresolved_count"] > len(told["unresolved"]):
                unresolved.append(f"{name}: {theta.labels[i]}")
            else:
                hidden.append(f"{name}: {theta.labels[i]}")
    assert hidden == []
    # Twelve decades below the largest: no double-precision gradient knows these.
    assert {line.partition(":")[0] for line in unresolved} <= {"pollution-node", "detest-stiff-f1"}
    assert len(unresolved) < 10


def test_any_component_of_any_catalog_gradient_that_is_zero_must_stay_so(
    references: dict[str, tuple[Theta, Reference]],
):
    zeros = 0
    for name, (theta, known) in references.items():
        right, sizes = np.array(known.gradient), np.array(theta.sizes)
        largest = max(abs(known.loss or 0.0), float(np.max(np.abs(sizes * right))))
        for i in np.flatnonzero(right == 0):
            wrong = right.copy()
            wrong[i] = 1e-8 * largest / sizes[i]
            assert theta.labels[i] in scored(wrong, theta, known)[1], name
            zeros += 1
    assert zeros > 200


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8, 1e-10])
def test_right_gradients_with_an_error_of_ten_tolerances_pass(
    references: dict[str, tuple[Theta, Reference]], rtol: float
):
    """Relative in parameters, as their forward sensitivities are; spread over each layer in weights, as those are."""
    generator = np.random.default_rng(1)
    for name, (theta, known) in references.items():
        right = np.array(known.gradient)
        spread = np.abs(right)
        for block in theta.blocks:
            members = slice(block.start, block.stop)
            spread[members] = np.sqrt(np.mean(right[members] ** 2))
        found = right + 10.0 * rtol * spread * generator.standard_normal(len(right))
        scores, reason = scored(found, theta, known, Point(rtol, rtol))
        assert reason == "", (name, reason)
        assert scores["error"] is None or scores["error"] < 60.0 * rtol, name


def test_right_gradients_in_single_precision_pass(references: dict[str, tuple[Theta, Reference]]):
    for name, (theta, known) in references.items():
        sizes = np.array(theta.sizes)
        scaled = sizes * np.array(known.gradient)
        noise = np.random.default_rng(2).standard_normal(len(scaled)) * 1e-6 * np.max(np.abs(scaled))
        _, reason = scored((scaled + noise) / sizes, theta, known, Point(1e-5, 1e-5), "float32")
        assert reason == "", (name, reason)


def test_whole_groups_of_zero_gradients_stay_zero(references: dict[str, tuple[Theta, Reference]]):
    """A gradient that is nothing but zero is wrong wherever the true one is not."""
    for name, (theta, known) in references.items():
        if np.any(known.gradient):
            assert scored(np.zeros(len(theta.labels)), theta, known, LOOSE)[1] != "", name
