"""Central differences: what they cost, and that no guess or matrix that they start from decides what they find."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flint import arb

from sciml_bench.references.confirmation import perturbed_paths
from sciml_bench.references.confirmation.differences import Difference, central_differences
from sciml_bench.references.engine.adjoint import gradient
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.newton_matrix import NewtonMatrix
from sciml_bench.references.engine.numbers import matching_digits, precision
from sciml_bench.references.engine.predictor import Change, Tangent
from sciml_bench.references.engine.radau import solve
from sciml_bench.references.engine.step import newton_matrix
from sciml_bench.references.engine.trajectory import Settings, Trajectory
from sciml_bench.spec import catalog
from sciml_bench.spec.model import Problem

SETTINGS = Settings(16, 1e-17)

# Slopes that are not analytic, on both sides of their kinks; the solution stays off these.
KINKED = """
spec = 1
name = "kinked"
title = "Magnitudes"

[time]
t1 = 2
save = { times = [1, 2] }

[parameters]
a = 1.25
b = 0.5

[states]
x = { initial = -1, scale = 1 }
y = 2

[equations]
x = "-a * abs(x) - y * x - sign(x) * x**2"
y = "b * x * abs(y) + cos(a * t) + tanh(y)"
"""

# A parameter that moves the states far less than itself.
FAINT = """
spec = 1
name = "faint"
title = "A faint effect of an exponent"

[time]
t1 = 2
save = { times = [1, 2] }

[parameters]
a = 1
b = 0.5

[states]
x = 1
y = { initial = 0, scale = 1 }

[equations]
x = "-b * x"
y = "b * x**2 - y**5 + 1e-7 * exp(a * x)"
"""


def meshed(case: Case) -> Trajectory:
    problem = case.problem
    return solve(case.dynamics, case.start, problem.t0, problem.save_times, SETTINGS, keep_steps=True)


def differences(case: Case, trajectory: Trajectory) -> list[Difference]:
    return central_differences(case.dynamics, trajectory, case.start, case.unit_directions(), case.objective)


def digits(case: Case, trajectory: Trajectory, found: list[Difference]) -> list[float]:
    """Digits that differences and the adjoint of the same mesh have in common; both are of one discrete function."""
    expected = gradient(trajectory, case.start, case.objective).p
    with precision(200):
        return [
            matching_digits(one.value / size, value)
            for one, size, value in zip(found, case.theta_sizes, expected, strict=True)
        ]


def common(one: list[Difference], other: list[Difference]) -> list[float]:
    with precision(200):
        return [matching_digits(a.value, b.value) for a, b in zip(one, other, strict=True)]


@pytest.fixture
def spoilt(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Change], Change]], None]:
    """Spoils the first guesses."""

    def spoil(change: Callable[[Change], Change]) -> None:
        original = Tangent.first
        monkeypatch.setattr(Tangent, "first", lambda self, u, q: change(original(self, u, q)))

    return spoil


@pytest.mark.parametrize("name", ["robertson", "hires"])
def test_stiff_gradients_have_the_digits_of_the_arithmetic(name: str):
    case = Case(catalog.load(name))
    trajectory = meshed(case)
    assert min(digits(case, trajectory, differences(case, trajectory))) > 20


def test_slopes_that_are_not_analytic(load: Callable[[str], Problem]):
    case = Case(load(KINKED))
    trajectory = meshed(case)
    assert min(digits(case, trajectory, differences(case, trajectory))) > 22


@pytest.mark.parametrize(
    "change",
    [
        lambda good: Change(0 * good.w, 0 * good.slopes),
        lambda good: Change(-good.w, good.slopes),
        lambda good: Change(good.w * (1 + 1e-5), good.slopes * (1 - 1e-6)),
    ],
    ids=["none", "reversed", "rough"],
)
def test_a_wrong_guess_costs_time_and_no_digits(spoilt, robertson: Problem, change):
    case = Case(robertson)
    trajectory = meshed(case)
    good = differences(case, trajectory)
    spoilt(change)
    assert min(common(good, differences(case, trajectory))) > 22


def test_a_parameter_that_hardly_matters_is_not_moved_far(monkeypatch: pytest.MonkeyPatch, load):
    """The second order is differenced over a width that suits the parameter, too, not its effect alone."""
    take = perturbed_paths._Stretch.take
    monkeypatch.setattr(perturbed_paths._Stretch, "take", lambda self: take(self) or True)
    case = Case(load(FAINT))
    trajectory = meshed(case)
    assert min(digits(case, trajectory, differences(case, trajectory))) > 18


def test_a_matrix_of_another_state_costs_time_and_no_digits(monkeypatch: pytest.MonkeyPatch, robertson: Problem):
    original = newton_matrix

    def another(place, states, p, scale) -> NewtonMatrix:
        return original(place, [x * arb("1.001") for x in states], p, scale)

    case = Case(robertson)
    trajectory = meshed(case)
    good = differences(case, trajectory)
    monkeypatch.setattr("sciml_bench.references.confirmation.perturbed_paths.newton_matrix", another)
    assert min(common(good, differences(case, trajectory))) > 22


def test_two_evaluations_of_each_stage_are_enough(monkeypatch: pytest.MonkeyPatch):
    """One on either side; what a step needs besides does not grow with the directions."""
    case = Case(catalog.load("hires"))
    trajectory = meshed(case)
    evaluated = []
    original = perturbed_paths._Stretch._correct

    def counted(self, corrections, chosen):
        evaluated.append(len(chosen))
        return original(self, corrections, chosen)

    monkeypatch.setattr(perturbed_paths._Stretch, "_correct", counted)
    found = differences(case, trajectory)
    assert sum(evaluated) < 1.25 * 2 * (len(found) + 1) * len(trajectory.steps)


def test_no_directions_no_differences(robertson: Problem):
    case = Case(robertson)
    trajectory = meshed(case)
    assert central_differences(case.dynamics, trajectory, case.start, [], case.objective) == []
