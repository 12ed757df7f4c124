"""The truth for perturbed parameters."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from stubs.small_problems import Load

from sciml_bench.references.confirmation import perturbed
from sciml_bench.references.confirmation.perturbed import draws
from sciml_bench.spec.model import Problem


def refuse(line: str) -> None:
    raise AssertionError(line)


def test_perturbations_stay_within_a_factor_of_two_and_follow_their_seed(robertson: Problem):
    found = draws(robertson, 3, 7, 60.0, refuse)
    factors = np.array([draw.theta for draw in found]) / np.array(robertson.numbers().theta)
    assert np.all((factors >= 0.5) & (factors < 2.0))
    assert len({draw.theta for draw in found}) == 3
    assert draws(robertson, 1, 7, 60.0, refuse)[0] == found[0]
    assert draws(robertson, 1, 8, 60.0, refuse)[0].theta != found[0].theta


def test_solutions_belong_to_their_parameters(orbit: Problem):
    for draw in draws(orbit, 2, 0, 60.0, refuse):
        (rate,) = draw.theta
        times = orbit.numbers().save_times
        assert [row[0] for row in draw.reference.solution] == pytest.approx(
            [math.cos(rate * t) for t in times], abs=1e-13
        )


def test_digits_are_those_that_two_runs_have_in_common(robertson: Problem, monkeypatch: pytest.MonkeyPatch):
    original = perturbed.solve
    runs: list[int] = []

    def off(dynamics, start, t0, times, settings, **more):
        found = original(dynamics, start, t0, times, settings, **more)
        runs.append(settings.stages)
        if settings.stages > min(runs):
            found.saved = [(row[0], row[1] * (1 + error), row[2]) for row in found.saved]
        return found

    monkeypatch.setattr(perturbed, "solve", off)
    error = 1e-12
    (draw,) = draws(robertson, 1, 7, 60.0, refuse)
    assert len(set(runs)) == 2
    assert draw.reference.solution_digits == (15.0, pytest.approx(12.0, abs=0.1), 15.0)
    said: list[str] = []
    error = 1e-6
    assert draws(robertson, 1, 7, 60.0, said.append) == []
    assert "perturbation 1 is left out: two runs agree to only 6.0 digits, in y2" in said[0]


def test_time_that_others_use_strikes_no_limit(orbit: Problem, monkeypatch: pytest.MonkeyPatch):
    ticks = itertools.count(0.0, 1000.0)
    for clock in ("time", "monotonic", "perf_counter"):
        monkeypatch.setattr(time, clock, lambda: next(ticks))
    assert len(draws(orbit, 2, 0, 60.0, refuse)) == 2


def test_what_takes_too_long_is_left_out_and_said(robertson: Problem):
    said: list[str] = []
    assert draws(robertson, 2, 0, 0.0, said.append) == []
    assert "0 of 2 perturbed references" in said[0]


def test_without_parameters_nothing_is_perturbed(load: Load):
    text = 'spec = 1\nname = "free"\ntitle = "Free"\n[time]\nt1 = 1\n[states]\nx = 1\n[equations]\nx = "-x"\n'
    assert draws(load(text), 2, 0, 60.0, refuse) == []
