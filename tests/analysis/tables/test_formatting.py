"""Numbers as people read them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciml_bench.analysis.tables import formatting
from sciml_bench.stats.spread import Spread


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (12.3456, "12.3 s"),
        (0.9999, "1.00 s"),
        (0.01234, "12.3 ms"),
        (123e-6, "123 µs"),
        (0.5e-9, "0.50 ns"),
        (7200, "7200 s"),
    ],
)
def test_durations(seconds, text):
    assert formatting.duration(seconds) == text


@given(st.floats(1e-9, 1e5))
def test_durations_have_three_digits(seconds):
    number, unit = formatting.duration(seconds).split()
    scale = {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}[unit]
    assert float(number) * scale == pytest.approx(seconds, rel=6e-3)


def test_ranges_need_two_processes():
    assert formatting.duration_range(Spread(1, 1, 1, 1)) == ""
    assert formatting.duration_range(None) == ""
    assert formatting.duration_range(Spread(3, 0.012, 0.0119, 0.013)) == "11.9–13.0"


def test_sizes():
    assert formatting.size(None) == "–"
    assert formatting.size(312 * 2**20) == "312 MiB"
    assert formatting.size(3 * 2**29) == "1.50 GiB"


@pytest.mark.parametrize(("seconds", "text"), [(4, "4 s"), (99, "99 s"), (600, "10 min"), (9000, "2.5 h")])
def test_rough_durations(seconds, text):
    assert formatting.rough_duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1.00"), (0.0131, "0.013"), (9.951, "10.0"), (346.2, "346"), (1e-5, "1e-05"), (2e6, "2e+06"), (0.0, "0.00")],
)
def test_ratios(value, text):
    assert formatting.ratio(value) == text
    assert formatting.ratio(math.inf) == "∞"


@pytest.mark.parametrize(("value", "text"), [(1e-4, "1e-4"), (2.5e-7, "2.5e-7"), (1e-11, "1e-11")])
def test_tolerances(value, text):
    assert formatting.tolerance(value) == text
