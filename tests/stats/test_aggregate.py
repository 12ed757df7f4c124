"""Across problems: means of ratios and performance profiles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciml_bench.stats.aggregate import GeometricMean, Profile, geometric_mean, performance_profile

ratios = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20)
costs = st.one_of(st.none(), st.floats(1e-6, 1e6))


@st.composite
def tables(draw):
    problems = range(draw(st.integers(1, 6)))
    return {solver: {p: draw(costs) for p in problems} for solver in "abcd"[: draw(st.integers(1, 4))]}


def test_a_ratio_and_its_inverse_cancel():
    result = geometric_mean([4.0, 0.25])
    assert result.estimate == pytest.approx(1)
    assert (result.n, result.missing) == (2, 0)


def test_the_interval_is_students_of_the_logs():
    result = geometric_mean([1.0, 1.0, math.e**3])
    assert result.estimate == pytest.approx(math.e)
    assert math.log(result.high) == pytest.approx(1 + 4.302653)
    assert math.log(result.low) == pytest.approx(1 - 4.302653)


def test_failures_are_counted_beside_the_mean():
    assert geometric_mean([None, 3.0, None]) == GeometricMean(pytest.approx(3.0), 0.0, math.inf, 1, 2)  # type: ignore[arg-type]


@given(ratios, st.floats(1e-6, 1e6))
def test_a_geometric_mean_scales(values, factor):
    mean, scaled = geometric_mean(values), geometric_mean([value * factor for value in values])
    assert min(values) * (1 - 1e-9) <= mean.estimate <= max(values) * (1 + 1e-9)
    assert scaled.estimate == pytest.approx(mean.estimate * factor)


@given(ratios)
def test_the_base_does_not_matter(values):
    """The reason for this mean: of b/a it is one over that of a/b."""
    one, other = geometric_mean(values), geometric_mean([1 / value for value in values])
    assert one.estimate == pytest.approx(1 / other.estimate)
    assert one.high == pytest.approx(1 / other.low if other.low else math.inf)


@pytest.mark.parametrize("bad", [[], [None], [1.0, 0.0], [1.0, -2.0], [math.nan], [math.inf]])
def test_a_geometric_mean_refuses(bad):
    with pytest.raises(ValueError, match="geometric mean"):
        geometric_mean(bad)


def test_a_profile_by_hand():
    """Two problems solved by both, one by a only, one by nobody."""
    result = performance_profile(
        {
            "a": {"p": 1.0, "q": 6.0, "r": 5.0, "s": None},
            "b": {"p": 2.0, "q": 2.0, "r": None, "s": None},
        }
    )
    assert result == {"a": Profile((1.0, 3.0), (0.5, 0.75)), "b": Profile((1.0, 2.0), (0.25, 0.5))}
    assert (result["a"].best, result["a"].at(2.9), result["a"].at(3), result["a"].solved) == (0.5, 0.5, 0.75, 0.75)
    assert result["b"].at(0.5) == 0


def test_a_solver_that_fails_everywhere_never_rises():
    result = performance_profile({"a": {"p": None}, "b": {"p": 3.0}})
    assert result["a"] == Profile((), ())
    assert (result["a"].best, result["a"].solved, result["a"].at(1e9)) == (0, 0, 0)


def test_a_mean_hides_the_failure_that_a_profile_shows():
    """a is twice as fast wherever it works, which is on one problem in four."""
    a = {"p": 1.0, "q": None, "r": None, "s": None}
    b = dict.fromkeys("pqrs", 2.0)
    mean = geometric_mean([None if a[p] is None else b[p] / a[p] for p in "pqrs"])
    profile = performance_profile({"a": a, "b": b})
    assert mean.estimate == pytest.approx(2)
    assert mean.missing == 3
    assert profile["a"].best < profile["b"].best


@given(tables())
def test_profiles_rise_from_the_best_to_the_solved(table):
    result = performance_profile(table)
    for solver, profile in result.items():
        solved = [cost for cost in table[solver].values() if cost is not None]
        assert profile.solved == pytest.approx(len(solved) / len(table[solver]))
        assert list(profile.ratios) == sorted(set(profile.ratios))
        assert list(profile.shares) == sorted(set(profile.shares))
        assert all(ratio >= 1 for ratio in profile.ratios)
    solvable = sum(any(of[p] is not None for of in table.values()) for p in table["a"])
    assert sum(profile.best for profile in result.values()) >= solvable / len(table["a"]) - 1e-12


@given(tables(), st.sampled_from([2.0**-9, 2.0, 2.0**20]))
def test_the_cost_unit_of_a_problem_does_not_matter(table, factor):
    changed = {
        solver: {p: cost if cost is None or p else cost * factor for p, cost in of.items()}
        for solver, of in table.items()
    }
    assert performance_profile(changed) == performance_profile(table)


def test_profiles_of_a_thousand_problems():
    random = np.random.default_rng(4)
    first, second = random.lognormal(size=(2, 1000))
    result = performance_profile({"a": dict(enumerate(first.tolist())), "b": dict(enumerate(second.tolist()))})
    assert result["a"].best == pytest.approx(np.mean(first <= second))
    assert result["a"].at(3) == pytest.approx(np.mean(first <= 3 * np.minimum(first, second)))


def test_a_forgotten_problem_is_not_taken_for_a_failure():
    with pytest.raises(ValueError, match="b has no entry for q; give None"):
        performance_profile({"a": {"p": 1.0, "q": 2.0}, "b": {"p": 1.0}})


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_what_is_no_cost_is_refused(bad):
    with pytest.raises(ValueError, match="None for a failure"):
        performance_profile({"a": {"p": bad}})


def test_a_profile_needs_a_problem():
    for empty in ({}, {"a": {}}):
        with pytest.raises(ValueError, match="at least one problem"):
            performance_profile(empty)


def test_the_least_cost_may_be_that_of_a_solver_without_a_profile():
    result = performance_profile({"a": {"p": 2.0, "q": 4.0}}, {"p": 1.0, "q": 4.0})
    assert result["a"] == Profile((1.0, 2.0), (0.5, 1.0))


def test_no_cost_is_below_the_least():
    with pytest.raises(ValueError, match="below the least cost"):
        performance_profile({"a": {"p": 1.0}}, {"p": 2.0})
