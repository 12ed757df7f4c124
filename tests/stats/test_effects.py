"""Effects by least squares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats as scipy_stats

from sciml_bench.stats.effects import coefficient, fit, level

RANDOM = np.random.default_rng(5)


def test_a_line_is_that_of_scipy_where_neighbours_are_not_alike():
    x = RANDOM.uniform(-1, 2, 30)
    # Residuals whose neighbours differ in sign: nothing is widened.
    values = 0.3 - 0.7 * x + np.where(np.arange(30) % 2, 0.1, -0.1) * RANDOM.uniform(0.9, 1.1, 30)
    found = fit(values.tolist(), x.tolist())
    expected: Any = scipy_stats.linregress(x, values)
    assert found.slope.log == pytest.approx(expected.slope, rel=1e-12)
    assert found.slope.error == pytest.approx(expected.stderr, rel=1e-12)
    assert found.level.log == pytest.approx(expected.intercept, rel=1e-12)
    assert found.level.error == pytest.approx(expected.intercept_stderr, rel=1e-12)
    assert found.slope.p == pytest.approx(expected.pvalue, rel=1e-9)


def test_a_mean_is_that_of_students_t():
    values = [0.1, -0.2, 0.15, -0.05]
    expected = scipy_stats.ttest_1samp(values, 0).confidence_interval(0.95)
    _, low, high = level(values).interval()
    assert np.log([low, high]) == pytest.approx([expected.low, expected.high], rel=1e-9)


def test_alike_neighbours_widen_as_much_as_they_must():
    """Coverage of the interval of a mean of an autoregression with 0.5, in 24 blocks."""
    covered = {}
    for rho in (None, 0.0):
        within = 0
        random = np.random.default_rng(1)
        for _ in range(1000):
            noise = random.normal(0, 1, 24)
            for k in range(1, 24):
                noise[k] = 0.5 * noise[k - 1] + 0.75**0.5 * noise[k]
            effect = level(noise.tolist(), rho)
            _, low, high = effect.interval()
            within += low < 1 < high
        covered[rho] = within / 1000
    assert covered[None] > 0.9
    assert covered[0.0] < 0.8


def test_what_a_line_needs():
    with pytest.raises(ValueError, match="an x for each value, got 4 values and 3 of x"):
        fit([0.0] * 4, [1.0] * 3)
    with pytest.raises(ValueError, match="at least 4 values, got 3"):
        fit([0.0] * 3, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="an x that varies"):
        fit([0.0, 1.0, 2.0, 4.0], [1.0] * 4)
    with pytest.raises(ValueError, match="at least 2 values, got 1"):
        level([0.0])


def test_values_without_spread():
    found = level([0.2] * 5)
    assert found.p == 0.0
    assert found.interval()[1] == found.interval()[2]
    assert level([0.0] * 5).p == 1.0
    assert coefficient([0.0] * 5) == 0.0
