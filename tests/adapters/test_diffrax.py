"""The Diffrax adapter. What needs JAX runs in one process of its own and is judged here."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from adapters.findings import findings
from needs import skip_without

from sciml_bench.adapters.base import ProblemTraits
from sciml_bench.adapters.diffrax import ADAPTER, FIXED, SPLIT, STOCHASTIC
from sciml_bench.record.task import Cell

KEPT = 4096
"""As many steps are kept whole; ``solvers.KEPT_STEPS`` imports Diffrax."""


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The findings of :mod:`adapters.in_jax`."""
    skip_without("diffrax")
    return findings("in_jax.py")


def facts(split: bool) -> ProblemTraits:
    return ProblemTraits("any", "stiff", 2, 4, 0, "parameters", True, split)


def cell(method: str, sensitivity: str = "checkpointed") -> Cell:
    return Cell("any", "diffrax", method, sensitivity, "compiled")


def test_methods_for_two_parts_need_a_split():
    for method in SPLIT:
        reason = ADAPTER.refusal(cell(method.name), facts(split=False))
        assert "[implicit]" in (reason or "")
        assert ADAPTER.refusal(cell(method.name), facts(split=True)) is None
        refused = ADAPTER.refusal(cell(method.name, "backsolve"), facts(split=True))
        assert "BacksolveAdjoint" in (refused or "")
    assert ADAPTER.refusal(cell("kvaerno5"), facts(split=False)) is None


def test_equal_steps_are_refused_where_an_equation_jumps():
    (method,) = FIXED
    smooth = facts(split=False)
    assert ADAPTER.refusal(cell(method.name), smooth) is None
    assert "breakpoints" in (ADAPTER.refusal(cell(method.name), replace(smooth, n_breakpoints=1)) or "")
    assert ADAPTER.refusal(cell("tsit5"), replace(smooth, n_breakpoints=1)) is None


def test_methods_for_noise_need_a_stochastic_equation():
    noisy = ProblemTraits("any", "neural", 2, 4, 0, "parameters", False, n_weights=4, controlled=True, stochastic=True)
    for method in STOCHASTIC:
        assert "stochastic" in (ADAPTER.refusal(cell(method.name), facts(split=True)) or "")
        assert ADAPTER.refusal(cell(method.name), noisy) is None
        assert "BacksolveAdjoint" in (ADAPTER.refusal(cell(method.name, "backsolve"), noisy) or "")
    assert {recipe.method for recipe in ADAPTER.recipes(noisy)} == {"tsit5", "heun"}


def test_steps_through_noise_are_those_of_its_motion_or_parts_of_them(found):
    """8 steps are given; a method of second order needs one over the root of the tolerance, halved to that."""
    assert found["stochastic"]["n_steps"] == [8, 128]
    loose, tight = found["stochastic"]["errors"]
    assert loose < 0.5
    # 16 times as many: 256 times as good, where steps are short.
    assert tight < loose / 30


def test_methods_for_two_parts_solve_the_sum_of_both(found):
    """y' = p t**3 - 5 p y: the gradient agrees with central differences of its closed form."""
    step = 1e-5
    expected = (two_parts_loss(1 + step) - two_parts_loss(1 - step)) / (2 * step)
    for name, (outcome, message) in found["split"].items():
        assert outcome == "ok", (name, message)
        assert float(message.strip("[]")) == pytest.approx(expected, rel=1e-3), name


def two_parts_loss(p: float) -> float:
    """y(0.5)**2 + y(2)**2 of y' = p t**3 - 5 p y with y(0) = 1."""
    rate = 5 * p

    def y(t: float) -> float:
        particular = p * (t**3 / rate - 3 * t**2 / rate**2 + 6 * t / rate**3 - 6 / rate**4)
        return particular + (1 + 6 * p / rate**4) * math.exp(-rate * t)

    return y(0.5) ** 2 + y(2.0) ** 2


def test_methods_are_right_for_a_right_hand_side_that_depends_on_time(found):
    """y' = p t**3: the loss is y(0.5)**2 + y(2)**2, so d(loss)/dp = 2 y(0.5)/64 + 8 y(2) with y(t) = 1 + p t**4/4."""
    expected = 2 * (1 + 1 / 64) / 64 + 8 * (1 + 4)
    for name, (outcome, message) in found["methods"].items():
        assert outcome == "ok", (name, message)
        assert float(message.strip("[]")) == pytest.approx(expected, rel=1e-3), name


def test_a_solution_that_becomes_infinite_is_a_typed_failure(found):
    outcomes = {outcome for outcome, _ in found["blow_up"].values()}
    assert outcomes <= {"max_steps", "step_underflow", "nonfinite"}


def test_a_right_hand_side_that_is_not_finite_is_a_typed_failure(found):
    assert found["exploding"][0] in ("max_steps", "step_underflow", "nonfinite")


@pytest.mark.parametrize("sensitivity", ["checkpointed", "discrete"])
def test_a_stiff_equation_exhausts_an_explicit_method(found, sensitivity):
    outcome, message = found["stiff"][sensitivity]
    assert outcome == "max_steps"
    assert "maximum number of steps" in message


@pytest.mark.parametrize("start", ["0.5", "1.0"], ids=["later", "at-once"])
def test_a_training_that_needs_more_steps_than_are_kept_gets_them(found, start: str):
    """Some 6000 steps times theta; the step that runs out is taken again from where it started."""
    *taken, a, b, c = found["training_bounds"][start]
    assert 6000 * taken[0] > KEPT
    assert taken == pytest.approx([a, b, c], rel=1e-6)


def test_a_gradient_that_needs_more_steps_than_are_kept_gets_them(found):
    """At the first call of a tolerance, and at a later one whose theta needs more; both are what forward mode gives."""
    steps, gradients = found["bounds"]["used"][::2], found["bounds"]["used"][1::2]
    assert steps[0] < KEPT < steps[1]
    assert steps[1:] == [steps[1], steps[1], steps[0]]
    forward_steps, forward = found["bounds"]["forward"]
    assert forward_steps == steps[1]
    assert forward == pytest.approx(gradients[1], rel=1e-6)
    assert gradients[2] == pytest.approx(gradients[1], rel=1e-6)
    assert gradients[3] == pytest.approx(gradients[0], rel=1e-6)


@pytest.mark.parametrize("sensitivity", ADAPTER.sensitivities)
def test_gradients_are_right(found, sensitivity):
    assert found["errors"][f"{sensitivity} float64"] < 1e-5


def test_gradients_are_right_in_single_precision(found):
    assert 1e-7 < found["errors"]["checkpointed float32"] < 1e-2


def test_each_component_has_its_own_absolute_tolerance(found):
    """With one tolerance for all, Robertson's second component would be off by a million of its own."""
    assert max(found["component_errors"]) < 1e3


@pytest.mark.parametrize("sensitivity", ["checkpointed", "backsolve"])
def test_a_tolerance_sweep_compiles_once(found, sensitivity):
    first, *later = found["traces"][sensitivity]
    assert first > 0
    assert later == [first, first]


def test_jax_tells_its_compile_phases(found):
    calls, parts = ("gradient", "solve"), ("compile", "lower", "trace")
    assert found["phases"] == [f"{call}_{part}" for call in calls for part in parts]
