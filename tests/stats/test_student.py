"""Student's t agrees with SciPy and with the printed tables."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from sciml_bench.stats.student import critical_t, two_sided_p

degrees = st.one_of(st.integers(1, 500), st.floats(0.5, 1e5))


@given(st.floats(1e-6, 1e3), degrees)
def test_the_tail_is_scipys(t, df):
    assert two_sided_p(t, df) == pytest.approx(2 * special.stdtr(df, -t), rel=1e-9, abs=1e-300)


@given(st.floats(0.001, 0.99999), degrees)
def test_the_critical_value_is_scipys(confidence, df):
    assert critical_t(confidence, df) == pytest.approx(special.stdtrit(df, (1 + confidence) / 2), rel=1e-8)


@given(st.floats(0.001, 0.99999), degrees)
def test_one_is_the_inverse_of_the_other(confidence, df):
    assert two_sided_p(critical_t(confidence, df), df) == pytest.approx(1 - confidence, rel=1e-9)


@pytest.mark.parametrize(("df", "t"), [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (29, 2.045), (1e12, 1.960)])
def test_the_table_at_95_percent(df, t):
    assert critical_t(0.95, df) == pytest.approx(t, abs=5e-4)


@given(st.floats(0, 100), st.floats(0, 100), degrees)
def test_p_falls_with_t(one, other, df):
    low, high = sorted((one, other))
    assert two_sided_p(low, df) >= two_sided_p(high, df) * (1 - 1e-12)
    assert two_sided_p(-high, df) == two_sided_p(high, df)


def test_the_ends():
    assert two_sided_p(0, 3) == 1
    assert two_sided_p(math.inf, 3) == 0
    assert two_sided_p(1e200, 3) == 0
    assert two_sided_p(1e-9, 1) == pytest.approx(1 - 2e-9 / math.pi, abs=1e-15)
    assert two_sided_p(3, 1e300) == pytest.approx(math.erfc(3 / math.sqrt(2)))


def test_many_degrees_of_freedom_go_over_into_the_normal_distribution_without_a_step():
    assert two_sided_p(3, 1e6) == pytest.approx(two_sided_p(3, 1e6 - 1), rel=1e-7)


@pytest.mark.parametrize(("t", "df"), [(1, 0), (1, -2), (1, math.nan), (math.nan, 3)])
def test_what_is_no_t(t, df):
    with pytest.raises(ValueError, match="degrees of freedom"):
        two_sided_p(t, df)


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.5, math.nan])
def test_what_is_no_confidence(confidence):
    with pytest.raises(ValueError, match="confidence"):
        critical_t(confidence, 4)
