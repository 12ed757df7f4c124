"""The adjoint and the central differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from flint import arb, arb_mat

from sciml_bench.references import published_digits
from sciml_bench.references.confirmation.differences import central_differences
from sciml_bench.references.engine.adjoint import gradient
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.numbers import matching_digits, precision
from sciml_bench.references.engine.objective import ComponentAt, DeclaredLoss
from sciml_bench.references.engine.radau import solve
from sciml_bench.references.engine.step import newton_matrix, solve_stages
from sciml_bench.references.engine.tableau import radau
from sciml_bench.references.engine.trajectory import Settings, Trajectory
from sciml_bench.references.published_digits import compare_published
from sciml_bench.spec import catalog
from sciml_bench.spec.model import Problem

SETTINGS = Settings(15, 1e-17)


def meshed(case: Case, settings: Settings = SETTINGS) -> Trajectory:
    problem = case.problem
    return solve(case.dynamics, case.start, problem.t0, problem.save_times, settings, keep_steps=True)


def test_robertson_rates(robertson: Problem):
    case = Case(robertson)
    found = gradient(meshed(case), case.start, ComponentAt(2, 1)).p
    with precision(160):
        expected = ("0.793048597009", "5.28182526059e-10", "-3.169081698386e-6")
        assert all(matching_digits(x, arb(y)) > 11 for x, y in zip(found, expected, strict=True))


def test_differences_and_adjoint_agree_on_different_meshes(robertson: Problem):
    case = Case(robertson)
    loss = DeclaredLoss(robertson.loss)
    adjoint = gradient(meshed(case), case.start, loss).p
    other = meshed(case, Settings(20, 1e-18))
    found = central_differences(case.dynamics, other, case.start, case.unit_directions(), loss)
    with precision(160):
        for difference, size, value in zip(found, case.theta_sizes, adjoint, strict=True):
            assert matching_digits(difference.value / size, value) > 16


def test_a_good_first_guess_is_still_solved_to_the_tolerance(robertson: Problem):
    """Differences of perturbed trajectories start from guesses whose first correction is below all rounding."""
    case = Case(robertson)
    step = meshed(case, Settings(12, 1e-12)).steps[20]
    bits = 230
    with precision(bits):
        place = replace(step.place, segment=case.dynamics.segments()[0], tableau=radau(12, bits))
        states = (arb_mat(12, 3, list(step.y) * 12) + step.z).mid().entries()
        # The matrix of another state contracts slowly, as one does whose entries are large against the step.
        matrix = newton_matrix(
            place, [x * arb("1.02") for x in states], np.array([float(x) for x in case.start.p]), step.scale
        )

        def solved(guess: arb_mat) -> arb_mat:
            return solve_stages(place, step.y, case.start.p, guess.mid(), step.scale, 1e-40, matrix).z

        scales = [arb(float(w)) for w in step.scale] * 12
        right = solved(step.z)
        near = solved(right + arb_mat(12, 3, [arb("1e-25") * w for w in scales]))
        errors = [abs(x / w) for x, w in zip((near - right).entries(), scales, strict=True)]
        assert all(error < arb("1e-38") for error in errors)


def test_the_exact_gradient_of_an_oscillator(orbit: Problem):
    case = Case(orbit)
    end = len(orbit.save_times) - 1
    found = gradient(meshed(case), case.start, ComponentAt(0, end))
    with precision(160):
        w, t = arb("1.7"), arb(3)
        assert matching_digits(found.p[0], -t * (w * t).sin()) > 19
        assert matching_digits(found.y0[0], (w * t).cos()) > 19
        assert matching_digits(found.y0[1], (w * t).sin()) > 19


def test_random_directions_are_seeded_and_follow_the_gradient(orbit: Problem):
    case = Case(orbit)
    first, again = (case.random_directions(2, seed=3) for _ in range(2))
    assert [d.p[0].mid() == e.p[0].mid() for d, e in zip(first, again, strict=True)] == [True, True]
    trajectory, objective = meshed(case), ComponentAt(1, 2)
    found = central_differences(case.dynamics, trajectory, case.start, first, objective)
    slope = gradient(trajectory, case.start, objective).p[0]
    with precision(160):
        assert all(matching_digits(d.value, d.direction.p[0] * slope) > 18 for d in found)


@pytest.mark.parametrize("name", ["lotka-volterra", "robertson", "hires"])
def test_published_digits_are_reproduced(name: str):
    found = compare_published(Case(catalog.load(name)))
    assert found
    assert [agreement for agreement in found if not agreement.holds] == []


def test_published_digits_are_held_against_a_trajectory_that_is_there(monkeypatch: pytest.MonkeyPatch):
    case, solved = Case(catalog.load("hires")), []
    computed = meshed(case)
    monkeypatch.setattr(published_digits, "solve", lambda *given, **named: solved.append(1) or solve(*given, **named))
    assert all(agreement.holds for agreement in compare_published(case, computed=computed))
    assert not solved
    # A computation that does not bear them out is no proof against them.
    loose = meshed(case, Settings(4, 1e-4))
    assert all(agreement.holds for agreement in compare_published(case, computed=loose))
    assert solved


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in catalog.equation_names() if catalog.header(name).tier != "heavy"])
def test_every_published_digit_of_the_catalog_is_reproduced(name: str):
    assert [agreement for agreement in compare_published(Case(catalog.load(name))) if not agreement.holds] == []
