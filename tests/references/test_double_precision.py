"""Double-precision solutions never claim digits that they do not have."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cases import others_slow
from stubs.small_problems import Load

from sciml_bench.references import double_precision
from sciml_bench.references.certificate import certify
from sciml_bench.references.double_precision import (
    DoubleSolution,
    double_solution,
    emitted_numpy,
    integrate,
    sudden_changes,
)
from sciml_bench.references.engine.case import Case
from sciml_bench.references.failures import LimitReached, ReferenceFailure
from sciml_bench.references.truth import truth
from sciml_bench.spec import Problem, catalog

PULSE = """
spec = 1
name = "kick"
title = "A kick"

[time]
t1 = 10
save = { times = [5, 10] }

[parameters]
w = WIDTH

[states]
y = { initial = 0, scale = 1 }

[equations]
y = "-0.1*y + exp(-((t - 3.3)/w)**2)/w"
"""


def kicked(w: float) -> list[float]:
    """The solution to the shape's own accuracy: a kick of area √π at 3.3."""
    return [math.sqrt(math.pi) * math.exp(-0.1 * (t - 3.3) + (0.1 * w / 2) ** 2) for t in (5.0, 10.0)]


@pytest.mark.parametrize("width", ["0.3", "0.01", "0.001", "3e-4"])
def test_digits_are_not_overstated_where_all_steps_pass_over_a_pulse(load: Load, width: str):
    problem = load(PULSE.replace("WIDTH", width))
    found = double_solution(problem, 60.0)
    error = np.max(np.abs(found.rows[:, 0] - kicked(float(width)))) / kicked(float(width))[0]
    assert error <= 3 * 10.0 ** -found.digits[0]


def test_the_attack_is_one(load: Load):
    """Two tolerances agree on a solution that has not seen the pulse."""
    problem = load(PULSE.replace("WIDTH", "1e-3"))
    functions = emitted_numpy(problem)
    one, other = (integrate(problem, functions, "DOP853", *pair, math.inf)[0] for pair in double_precision._TOLERANCES)
    assert np.max(np.abs(one)) < 1e-6
    assert np.max(np.abs(one - other)) < 1e-9


def test_pulses_are_found_and_smooth_forces_are_none(load: Load):
    problem = load(PULSE.replace("WIDTH", "1e-3"))
    stops = sudden_changes(problem, emitted_numpy(problem), np.zeros((2, 1)))
    assert stops
    assert all(abs(stop - 3.3) < 0.01 for stop in stops)
    smooth = load(PULSE.replace("exp(-((t - 3.3)/w)**2)/w", "w*cos(3*t)").replace("WIDTH", "2"))
    assert sudden_changes(smooth, emitted_numpy(smooth), np.zeros((2, 1))) == []


@pytest.mark.parametrize("name", others_slow(["robertson", "lotka-volterra", "oregonator"], ["robertson"]))
def test_digits_hold_against_certified_ones(name: str):
    problem = catalog.load(name)
    certified = truth(problem, affordable_s=0)
    assert certified is not None
    found = double_solution(problem, 60.0)
    exact = np.array(certified.solution)
    error = np.max(np.abs(found.rows - exact), axis=0) / np.max(np.abs(exact), axis=0)
    assert np.all(error <= 3 * 10.0**-found.digits)
    assert found.digits.min() > 5
    assert "at two tolerances" in found.compared


def test_families_that_disagree_lower_the_digits(load: Load, monkeypatch: pytest.MonkeyPatch):
    problem = load(PULSE.replace("WIDTH", "0.5"))
    original = double_precision.integrate

    def wrong(problem, functions, method, *rest, **more):
        rows, calls = original(problem, functions, method, *rest, **more)
        return (rows * (1 + 1e-4) if method == "Radau" else rows), calls

    good = double_solution(problem, 60.0)
    monkeypatch.setattr(double_precision, "integrate", wrong)
    found = double_solution(problem, 60.0)
    assert good.digits.min() > 8
    assert 3.5 < found.digits.min() < 4.5


def test_a_limit_says_which_it_was_and_the_time_reached(load: Load):
    problem = load(PULSE.replace("WIDTH", "0.5"))
    functions = emitted_numpy(problem)
    with pytest.raises(LimitReached, match=r"DOP853 was given up after 20 evaluations, at t = "):
        integrate(problem, functions, "DOP853", 1e-8, 1e-8, math.inf, evaluations=20)
    with pytest.raises(ReferenceFailure, match=r"limit of -?[\d.e-]+ s of processor time, at t = "):
        double_solution(problem, 0.0)


def test_a_batch_is_solved_trajectory_by_trajectory(load: Load, monkeypatch: pytest.MonkeyPatch):
    text = PULSE.replace("WIDTH", "0.5").replace("initial = 0", "initial = 1")
    problem = load(text + "\n[batch]\nsize = 3\nspread = 0.1\nseed = 1\n")
    monkeypatch.setattr("sciml_bench.references.truth.AFFORDABLE_S", 1e-9)
    said: list[str] = []
    found = truth(problem, affordable_s=1e-9, announce=said.append)
    assert found is not None
    assert found.kind == "double"
    assert np.array(found.solution).shape == (2, 3)
    for part, column in zip(problem.trajectories(), np.array(found.solution).T, strict=True):
        exact = [float(row[0]) for row in certify(Case(part), gradients=False).rows]
        assert column == pytest.approx(exact, rel=1e-9)
    assert "agree to" in said[-1]


def test_of_a_large_batch_the_first_trajectories_are_solved(load: Load, monkeypatch: pytest.MonkeyPatch):
    text = PULSE.replace("WIDTH", "0.5").replace("initial = 0", "initial = 1")
    large, small = (load(f"{text}\n[batch]\nsize = {size}\nspread = 0.1\nseed = 1\n") for size in (900, 2))
    monkeypatch.setattr("sciml_bench.references.truth.SOLVED_OF_LARGE", 2)
    monkeypatch.setattr("sciml_bench.references.truth.LARGE_BATCH", 899)
    said: list[str] = []
    found, expected = (truth(problem, affordable_s=1e-9, announce=said.append) for problem in (large, small))
    assert found is not None
    assert found == expected
    assert any("of 900 trajectories the first 2 are scored" in line for line in said)


def test_a_trajectory_that_fails_is_not_left_out_of_the_truth(load: Load, monkeypatch: pytest.MonkeyPatch):
    text = PULSE.replace("WIDTH", "0.5").replace("initial = 0", "initial = 1")
    problem, solved = load(f"{text}\n[batch]\nsize = 4\nspread = 0.1\nseed = 1\n"), []

    def second_fails(part: Problem, _limit_s: float) -> DoubleSolution:
        solved.append(part)
        if len(solved) == 2:
            raise ReferenceFailure("the solution blows up")
        return double_solution(part, 60.0)

    monkeypatch.setattr("sciml_bench.references.double_precision.double_solution", second_fails)
    said: list[str] = []
    assert truth(problem, affordable_s=1e-9, announce=said.append) is None
    assert "the solution blows up; its errors are not scored" in said[-1]


def test_exact_solutions_are_of_one_trajectory(load: Load):
    text = 'spec = 1\nname = "decay"\ntitle = "Decay"\n[time]\nt1 = 2\nsave = { times = [2] }\n'
    text += '[parameters]\nk = 1\n[states]\ny = { initial = 1, scale = 1 }\n[equations]\ny = "-k*y"\n'
    text += '[exact]\ny = "exp(-k*t)"\n'
    found = truth(load(text), affordable_s=0)
    assert found is not None
    assert found.kind == "exact"
    assert truth(load(text + "[batch]\nsize = 3\nspread = 0.1\nseed = 1\n"), affordable_s=0) is None
