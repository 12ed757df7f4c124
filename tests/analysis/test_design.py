"""What a profile can see."""

from __future__ import annotations

import math
import random

import pytest
from stubs.reported import cell, plan, point, record, summarise

from sciml_bench.analysis.selftest.power import ASSUMED, Spread, sights, spread_of
from sciml_bench.planning.profiles import NAMES, profile_named


def run(spread, blocks, cells=3):
    generator = random.Random(5)
    which = [cell(f"m{index}") for index in range(cells)]

    def drawn():
        solve_ms, gradient_ms = (generator.lognormvariate(0, spread) for _ in range(2))
        return [point(1e-4, solve_ms=solve_ms, gradient_ms=gradient_ms)]

    records = [record(item, drawn(), block=block) for block in range(blocks) for item in which]
    return summarise(plan(which), records)


def test_the_spread_is_that_of_pairs_in_blocks():
    found = spread_of(run(0.02, blocks=200), "an earlier run")
    assert found is not None
    assert found.sd_log == pytest.approx(0.02 * math.sqrt(2), rel=0.1)
    assert found.source == "from 6 pairs of cells in an earlier run"


@pytest.mark.parametrize(("blocks", "cells"), [(2, 3), (10, 1)])
def test_too_little_shows_no_spread(blocks, cells):
    assert spread_of(run(0.02, blocks, cells), "it") is None


def test_what_the_profiles_see():
    found = {sight.profile: sight for sight in sights(ASSUMED, map(profile_named, NAMES))}
    assert math.isinf(found["smoke"].change)
    assert found["quick"].change == 1.0
    assert "no winner below a factor of 2" in found["quick"].note
    assert found["standard"].change == pytest.approx(0.058, abs=0.001), "just beyond the band"
    assert found["rigorous"].change < found["standard"].change


def test_more_noise_sees_less():
    little, much = (next(iter(sights(Spread(sd, ""), [profile_named("standard")]))) for sd in (0.01, 0.1))
    assert much.change > 0.1 > 0.06 > little.change
