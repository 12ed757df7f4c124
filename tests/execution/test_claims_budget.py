"""The minutes that a command may take."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sciml_bench.execution import claims
from sciml_bench.execution.claims import Budget


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that is set by hand, in seconds."""
    hand = SimpleNamespace(now_s=0.0)
    monkeypatch.setattr(claims, "time", SimpleNamespace(monotonic=lambda: hand.now_s))
    return hand


def test_what_is_begun_late_must_fit_even_if_its_estimate_is_as_wrong_as_the_worst(clock: SimpleNamespace):
    limited = Budget(10)
    assert limited.fits(590)
    assert not limited.fits(591)
    for took_s in (150.0, 50.0):
        with limited.spent(50):
            clock.now_s += took_s
    assert limited.left_s == 390
    assert limited.fits(130)
    assert not limited.fits(131)


def test_estimates_that_were_too_high_make_nothing_fit_that_did_not(clock: SimpleNamespace):
    limited = Budget(10)
    with limited.spent(300):
        clock.now_s += 100
    assert limited.fits(490)
    assert not limited.fits(491)


def test_without_minutes_everything_fits(clock: SimpleNamespace):
    unlimited = Budget(None)
    with unlimited.spent(1):
        clock.now_s += 1e6
    assert unlimited.fits(1e9)
