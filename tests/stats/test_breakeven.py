"""After how many gradients the slow starter wins."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciml_bench.stats.breakeven import Cost, best, break_even, break_even_spread, near_best, overtakes

# Whole numbers, so that totals are exact and can be tried out.
whole = st.builds(Cost, first_s=st.integers(0, 200), each_s=st.integers(0, 12))
costs = st.builds(Cost, first_s=st.floats(0, 1e4), each_s=st.floats(0, 1e3))
COMPILED, EAGER = Cost(20.0, 1 / 64), Cost(2.0, 1 / 8)


def test_a_compiler_pays_after_some_hundred_gradients():
    assert break_even(COMPILED, EAGER) == 166
    assert COMPILED.total_s(165) > EAGER.total_s(165)
    assert COMPILED.total_s(166) < EAGER.total_s(166)


@given(whole, whole)
def test_it_is_the_first_change_of_order(a, b):
    number = break_even(a, b)
    behind = [(a.total_s(n) > b.total_s(n)) - (a.total_s(n) < b.total_s(n)) for n in range(1, 300)]
    changes = [n for n, sign in enumerate(behind, 1) if sign == -behind[0] and sign]
    assert number == (changes[0] if changes else None)


@given(costs, costs)
def test_the_sides_have_no_part(a, b):
    assert break_even(a, b) == break_even(b, a)


@given(whole, whole)
def test_overtaking_is_for_good(late, early):
    number = overtakes(late, early)
    ahead = [late.total_s(n) < early.total_s(n) for n in range(1, 300)]
    if number is None:
        assert not ahead[-1]
    else:
        assert all(ahead[number - 1 :])
        assert number == 1 or not ahead[number - 2]


def test_who_starts_first_and_runs_faster_is_never_overtaken():
    assert break_even(Cost(1, 1), Cost(2, 2)) is None
    assert break_even(Cost(1, 1), Cost(2, 1)) is None
    assert break_even(Cost(1, 1), Cost(1, 5)) is None, "nobody was behind"


def test_almost_equal_speeds_are_not_lost_to_rounding():
    slow = Cost(1.0, 1.0)
    assert break_even(slow, Cost(2.0, math.nextafter(1.0, 0))) == 2**53 + 2


def test_the_spread_over_blocks():
    compiled = [Cost(20, 1), Cost(19, 1), Cost(21, 1), Cost(20, 4)]
    eager = [Cost(2, 3.5), Cost(2, 3.25), Cost(2, 3.75), Cost(2, 3.5)]
    result = break_even_spread(compiled, eager)
    assert result == break_even_spread(eager, compiled)
    assert (result.n, result.never, result.low, result.median, result.high) == (4, 1, 8, 9, math.inf)


def test_a_block_in_which_the_late_one_happens_to_start_first_counts_as_at_once():
    result = break_even_spread([Cost(5, 1), Cost(5, 1), Cost(1, 1)], [Cost(2, 2), Cost(2, 2), Cost(2, 2)])
    assert (result.low, result.median, result.high, result.never) == (1, 5, 5, 0)


def test_blocks_go_in_pairs():
    with pytest.raises(ValueError, match="got 1 and 2"):
        break_even_spread([EAGER], [EAGER, EAGER])
    with pytest.raises(ValueError, match="got 0 and 0"):
        break_even_spread([], [])


def test_the_best_depends_on_how_many():
    named = {"compiled": COMPILED, "eager": EAGER}
    assert [best(named, n) for n in (1, 10, 1000, 100_000)] == ["eager", "eager", "compiled", "compiled"]


def test_what_is_as_good_as_the_best_is_named_too():
    named = {"a": Cost(10, 1), "b": Cost(10, 0.97), "c": Cost(10, 2)}
    assert near_best(named, 1000) == ("b", "a")
    assert near_best(named, 1) == ("a", "b", "c")
    assert near_best(named, 1000, band=0) == ("b",)


@given(st.dictionaries(st.integers(), costs, min_size=1, max_size=6), st.integers(1, 10**6))
def test_nothing_beats_the_best(named, n):
    winner = best(named, n)
    assert all(named[winner].total_s(n) <= cost.total_s(n) for cost in named.values())
    assert winner in near_best(named, n)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_what_is_no_cost(bad):
    with pytest.raises(ValueError, match="finite times"):
        Cost(bad, 1.0)
    with pytest.raises(ValueError, match="finite times"):
        Cost(1.0, bad)


def test_what_is_no_choice():
    with pytest.raises(ValueError, match="no costs"):
        best({}, 1)
    with pytest.raises(ValueError, match="at least one gradient"):
        best({"a": EAGER}, 0)
    with pytest.raises(ValueError, match="band"):
        near_best({"a": EAGER}, 1, band=-0.1)
