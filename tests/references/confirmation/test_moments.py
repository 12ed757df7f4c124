"""Moments of exp on balls and power series: every value is enclosed, also of wide balls and of constants."""

from __future__ import annotations

import random

import flint
import pytest
from flint import arb, arb_series

from sciml_bench.references.confirmation.moments import SERIES
from sciml_bench.spec.discontinuities.balls import moment_of_exp
from sciml_bench.spec.language.removable import ExpMoment

SERIES_OF_EXP = SERIES[ExpMoment.label]


@pytest.fixture(autouse=True)
def digits():
    bits, cap = flint.ctx.prec, flint.ctx.cap
    flint.ctx.prec = 192
    yield
    flint.ctx.prec, flint.ctx.cap = bits, cap


def coefficients(x: arb, n: int, terms: int) -> list[arb]:
    flint.ctx.cap = terms
    found = SERIES_OF_EXP(arb_series([x, 1]), n)
    return [found[k] for k in range(terms)]


def exact(x: arb, n: int, k: int) -> arb:
    with flint.ctx.workprec(600):
        return moment_of_exp(x, n + k) / arb.fac_ui(k)


@pytest.mark.parametrize("seed", range(30))
def test_a_ball_holds_the_values_at_its_ends_and_in_its_middle(seed: int):
    draw = random.Random(seed)
    x, radius, n = draw.uniform(-70, 70), draw.choice([0.0, 1e-30, 1e-9, 0.01]), draw.randrange(3)
    found = coefficients(arb(x, radius), n, 18)
    for place in (-1, -0.3, 0, 1):
        at = arb(x) + place * arb(radius)
        for k in (0, 7, 17):
            difference = found[k] - exact(at, n, k)
            assert difference.contains(0)
            assert radius or difference.rad() <= abs(exact(at, n, k)) * arb(2) ** -150


def test_what_a_series_that_grows_asks_for_stays_the_same():
    short, long = coefficients(arb("-3.7"), 0, 5), coefficients(arb("-3.7"), 0, 40)
    assert all(a.overlaps(b) for a, b in zip(short, long, strict=False))


@pytest.mark.parametrize("terms", [1, 2, 9])
@pytest.mark.parametrize("radius", [0.0, 1e-20])
def test_a_constant_is_a_series_too(terms: int, radius: float):
    flint.ctx.cap = terms
    found = SERIES_OF_EXP(arb_series([arb(1.5, radius)]), 0)
    assert found[0].overlaps(exact(arb(1.5), 0, 0))
    assert all(found[k] == 0 for k in range(1, terms))
