"""Shares and solver stability."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciml_bench.stats.proportion import share
from sciml_bench.stats.reliability import stability

counts = st.integers(0, 500)


@st.composite
def counted(draw):
    total = draw(st.integers(1, 1000))
    return draw(st.integers(0, total)), total


def test_wilsons_interval():
    """Figures of a worked example: 81 of 263 (Newcombe 1998, Statistics in Medicine 17, 857–872, table I)."""
    result = share(81, 263)
    assert (result.low, result.high) == (pytest.approx(0.2553, abs=5e-5), pytest.approx(0.3662, abs=5e-5))
    assert share(0, 20).low == 0
    assert share(0, 20).high == pytest.approx(0.1611, abs=5e-5)
    assert share(1, 29).low == pytest.approx(0.0061, abs=5e-5)


@given(counted())
def test_an_interval_holds_its_share_and_mirrors(case):
    count, total = case
    result, rest = share(count, total), share(total - count, total)
    assert 0 <= result.low <= result.share <= result.high <= 1
    assert result.low == pytest.approx(1 - rest.high, abs=1e-12)
    assert result.low < result.high, "certainty is never claimed, not even at 0 of n"


@given(counted(), st.integers(2, 50))
def test_more_cases_say_more(case, factor):
    count, total = case
    few, many = share(count, total), share(count * factor, total * factor)
    assert many.high - many.low < few.high - few.low


@pytest.mark.parametrize(("count", "total"), [(0, 0), (3, 2), (-1, 2)])
def test_what_is_no_share(count, total):
    with pytest.raises(ValueError, match="share"):
        share(count, total)


@given(counts, counts, counts)
def test_stability_splits_the_whole(right, honest, silent):
    if right + honest + silent == 0:
        with pytest.raises(ValueError, match="positive total"):
            stability(right, honest, silent)
        return
    result = stability(right, honest, silent)
    assert result.right.share + result.honest.share + result.silent.share == pytest.approx(1)
    assert result.silent == share(silent, right + honest + silent)


def test_no_silent_failure_seen_is_not_none_there():
    """Rule of three: 0 of 100 leaves room for some 3.7 %."""
    assert stability(100, 0, 0).silent.high == pytest.approx(0.037, abs=1e-3)


def test_counts_are_not_negative():
    with pytest.raises(ValueError, match="negative"):
        stability(3, -1, 0)
