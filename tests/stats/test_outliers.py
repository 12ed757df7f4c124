"""Labels; nothing is dropped."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciml_bench.stats.outliers import Label, Outliers, count, label

samples = st.lists(st.floats(1e-6, 1e6), max_size=40)


def test_fences():
    """Quartiles 0 and 1: inner fences at −1.5 and 2.5, outer ones at −3 and 4."""
    values = [0.0] * 4 + [1.0] * 4 + [2.6, 4.1, -1.6, -3.1]
    assert set(label(values)[:8]) == {Label.ORDINARY}
    assert label(values)[-4:] == (Label.HIGH_MILD, Label.HIGH_SEVERE, Label.LOW_MILD, Label.LOW_SEVERE)
    assert count(values) == Outliers(12, 1, 1, 1, 1)
    assert count(values).total == 4


@settings(max_examples=50)
@given(samples)
def test_every_sample_keeps_its_place_and_a_label(values):
    labels, counted = label(values), count(values)
    assert len(labels) == len(values) == counted.samples
    assert counted.total == len(values) - labels.count(Label.ORDINARY)
    assert counted.high_severe == labels.count(Label.HIGH_SEVERE)
    assert counted.low_mild == labels.count(Label.LOW_MILD)


@settings(max_examples=50)
@given(samples)
def test_a_sample_beyond_a_labelled_one_is_no_less_odd(values):
    order = list(Label)
    ranked = [
        order.index(name) for _, name in sorted(zip(values, label(values), strict=True), key=lambda each: each[0])
    ]
    assert ranked == sorted(ranked)


@settings(max_examples=50)
@given(st.lists(st.integers(1, 1000), min_size=4, max_size=20), st.sampled_from([0.25, 2.0, 1024.0]))
def test_the_unit_does_not_matter(values, factor):
    assert label([value * factor for value in values]) == label(values)


def test_few_samples_have_no_outliers():
    assert label([1.0, 1.0, 1e9]) == (Label.ORDINARY,) * 3
    assert label([]) == ()
    assert count([]) == Outliers(0, 0, 0, 0, 0)


def test_normal_samples_have_few():
    values = np.random.default_rng(2).normal(10, 1, 20_000)
    assert count(values.tolist()).total / 20_000 == pytest.approx(0.007, abs=0.002)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_finite_is_refused(bad):
    with pytest.raises(ValueError, match="finite"):
        label([1.0, bad])
