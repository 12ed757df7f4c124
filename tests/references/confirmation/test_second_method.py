"""The second method of a certificate: it is right by itself, and a certificate falls where it disagrees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from flint import arb
from stubs.small_problems import Load

from sciml_bench.references.certificate import certify
from sciml_bench.references.confirmation import second_method
from sciml_bench.references.confirmation.hermite_obreshkov import Care, witness
from sciml_bench.references.confirmation.second_method import confirm
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.numbers import matching_digits, precision
from sciml_bench.references.engine.radau import solve
from sciml_bench.references.engine.trajectory import Settings, Trajectory
from sciml_bench.references.failures import LimitReached, ReferenceFailure
from sciml_bench.references.progress import Watch
from sciml_bench.spec import catalog
from sciml_bench.spec.model import Problem


def one(equation: str, time: str = "t1 = 2", initial: str = "1") -> str:
    return (
        f'spec = 1\nname = "one"\ntitle = "One equation"\n[time]\n{time}\n'
        f'[states]\ny = {initial}\n[equations]\ny = "{equation}"\n'
    )


def followed(problem: Problem) -> list[tuple[arb, ...]]:
    case = Case(problem)
    return witness(case.dynamics, case.start, problem.t0, problem.save_times, Care(), 1e-40 * case.scale).saved


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        (one("-y"), lambda: arb(-2).exp()),
        (one("-1000*(y - cos(t)) - sin(t)"), lambda: arb(2).cos()),
        (one("-1000000*(y - cos(t)) - sin(t)"), lambda: arb(2).cos()),
        (one("-y**3/2"), lambda: arb(3).rsqrt()),
        (one("y*cos(t)"), lambda: arb(2).sin().exp()),
        (one("1 + y**2", "t1 = 1", "0"), lambda: arb(1).tan()),
        (one("where(t >= 1, 3, 1)", "t1 = 2", "0"), lambda: arb(4)),
        (one("max(t - 1, 0)", "t1 = 3", "0"), lambda: arb(2)),
        (one("tanh(t)*y"), lambda: arb(2).cosh()),
        (one("sinh(t)/cosh(t)*y"), lambda: arb(2).cosh()),
    ],
    ids=["decay", "stiff", "stiffer", "algebraic", "forced", "tangent", "jump", "kink", "tanh", "hyperbolic"],
)
def test_the_implicit_taylor_method_is_right_by_itself(load: Load, text: str, exact):
    end = followed(load(text))[-1][0]
    with precision(160):
        assert matching_digits(end, exact()) > 17


def test_it_follows_robertson_to_the_digits_published(robertson: Problem):
    end = followed(robertson)[-1]
    published = ("0.01786592114209946496529", "7.274751468436318770766e-8", "0.9821340061103858506715")
    with precision(160):
        assert all(matching_digits(x, arb(value)) > 17 for x, value in zip(end, published, strict=True))


def test_what_it_cannot_follow_is_a_failure_with_its_time(load: Load):
    with pytest.raises(ReferenceFailure, match=r"stops at t = 1"):
        followed(load(one("y**2")))


def test_a_limit_strikes_in_it_too(robertson: Problem):
    case = Case(robertson)
    with pytest.raises(LimitReached, match="implicit Taylor"):
        confirm(case, _trajectory(case), 1e-40 * case.scale, Watch(lambda _: None, -1.0))


def _trajectory(case: Case) -> Trajectory:
    problem = case.problem
    return solve(case.dynamics, case.start, problem.t0, problem.save_times, Settings(18, 5e-19))


def _moved(trajectory: Trajectory, by: float) -> Trajectory:
    with precision(200):
        saved = [tuple(value * (1 + arb(by)) for value in row) for row in trajectory.saved]
    return replace(trajectory, saved=saved)


@pytest.mark.parametrize("by", [1e-3, 1e-6, 1e-9])
def test_an_engine_that_were_wrong_would_not_be_confirmed(robertson: Problem, by: float):
    case = Case(robertson)
    with pytest.raises(ReferenceFailure, match=r"a second method \(.*\) agrees with them to"):
        confirm(case, _moved(_trajectory(case), by), 1e-40 * case.scale, Watch(lambda _: None, np.inf))


def test_large_systems_are_confirmed_in_doubles_by_another_emitter():
    case = Case(catalog.load("brusselator-1d"))
    trajectory = solve(
        case.dynamics, case.start, case.problem.t0, case.problem.save_times[:3], Settings(12, 1e-15, 38, 1e-20)
    )
    problem = replace(case.problem, save_times=case.problem.save_times[:3], t1=case.problem.save_times[2])
    short = Case(problem)
    found = confirm(short, trajectory, 1e-30 * case.scale, Watch(lambda _: None, np.inf))
    assert found.arithmetic == "double precision"
    assert found.digits.min() > second_method.DOUBLE_DIGITS
    with pytest.raises(ReferenceFailure, match="to only"):
        confirm(short, _moved(trajectory, 1e-4), 1e-30 * case.scale, Watch(lambda _: None, np.inf))


def test_certificates_name_both_methods(robertson: Problem):
    evidence = certify(Case(robertson)).evidence
    assert evidence["proof"] == "two methods agree"
    second = evidence["second_method"]
    assert isinstance(second, dict)
    assert second["method"].startswith("implicit Taylor")
    assert second["digits"] >= second_method.WITNESS_DIGITS
