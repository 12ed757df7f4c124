"""Benjamini–Hochberg."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from sciml_bench.stats.multiplicity import adjusted

probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@settings(max_examples=50)
@given(probabilities)
def test_it_is_scipys(p):
    assert adjusted(p) == pytest.approx(false_discovery_control(p), abs=1e-300)


@settings(max_examples=50)
@given(probabilities)
def test_it_only_raises_and_keeps_the_order(p):
    result = adjusted(p)
    assert all(before <= after <= 1 for before, after in zip(p, result, strict=True))
    ranked = sorted(zip(p, result, strict=True))
    assert [after for _, after in ranked] == sorted(result)


@settings(max_examples=50)
@given(probabilities, st.randoms(use_true_random=False))
def test_the_order_of_the_family_does_not_matter(p, random):
    order = random.sample(range(len(p)), len(p))
    result = adjusted(p)
    assert adjusted([p[place] for place in order]) == tuple(result[place] for place in order)


@settings(max_examples=50)
@given(probabilities)
def test_another_hopeless_comparison_never_helps(p):
    assert all(more >= less for less, more in zip(adjusted(p), adjusted([*p, 1.0])[:-1], strict=True))


def test_one_comparison_stands_for_itself():
    assert adjusted([0.03]) == (0.03,)
    assert adjusted([]) == ()


@pytest.mark.parametrize("bad", [math.nan, -0.1, 1.1])
def test_what_is_no_probability_is_never_a_discovery(bad):
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjusted([0.5, bad])


def test_the_share_of_false_discoveries_is_held():
    """40 comparisons, 10 of them real: without adjustment 1.5 false ones are expected in each family."""
    random = np.random.default_rng(3)
    shares, raw = [], []
    for _ in range(300):
        p = random.random(40)
        p[:10] = p[:10] * 1e-4
        found = np.array(adjusted(p.tolist())) < 0.05
        shares.append(found[10:].sum() / max(1, found.sum()))
        raw.append((p[10:] < 0.05).sum() / (p < 0.05).sum())
    assert np.mean(shares) < 0.05
    assert np.mean(raw) > 0.10
