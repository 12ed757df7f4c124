"""What happens between the stages of a step is seen, however narrow; what is smooth costs no steps."""

from __future__ import annotations

import pytest
from flint import arb
from stubs.small_problems import Load

from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.numbers import matching_digits, precision
from sciml_bench.references.engine.radau import solve
from sciml_bench.references.engine.trajectory import Settings, Trajectory
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.spec import catalog

PLAIN, RESOLVED = Settings(18, 5e-19), Settings(18, 5e-19, resolved=True)


def one(equation: str, time: str = "t1 = 10", initial: str = "1") -> str:
    return (
        f'spec = 1\nname = "one"\ntitle = "One equation"\n[time]\n{time}\n'
        f'[states]\ny = {initial}\n[equations]\ny = "{equation}"\n'
    )


def solved(case: Case, settings: Settings) -> Trajectory:
    return solve(case.dynamics, case.start, case.problem.t0, case.problem.save_times, settings)


@pytest.mark.parametrize("exponent", [3, 5, 7, 9])
def test_a_pulse_of_any_width_is_integrated(load: Load, exponent: int):
    case = Case(load(one(f"10**{exponent}*exp(-((t - 4.2345)*10**{exponent})**2)", initial="0")))
    end = solved(case, RESOLVED).saved[-1][0]
    with precision(160):
        assert matching_digits(end, arb.pi().sqrt()) > 18


def test_without_it_the_pulse_is_missed(load: Load):
    case = Case(load(one("10**5*exp(-((t - 4.2345)*10**5)**2)", initial="0")))
    assert float(solved(case, PLAIN).saved[-1][0]) < 1e-3


def test_a_pulse_of_the_state_is_seen(load: Load):
    # Passed at y = 1/2 on the way down; an extra slope of area 1e-4 · sqrt(pi) in y.
    text = one("-1 - 100*exp(-((y - 0.5)*10**6)**2)", time="t1 = 0.9")
    plain, seen = (float(solved(Case(load(text)), settings).saved[-1][0]) for settings in (PLAIN, RESOLVED))
    assert plain == pytest.approx(0.1, abs=1e-12)
    assert seen < plain - 1e-7


def test_a_pole_on_the_way_is_refused_and_named(load: Load):
    with pytest.raises(ReferenceFailure, match=r"narrow happens near t = 4\.2345"):
        solved(Case(load(one("10**(-25)/(t - 4.2345)"))), RESOLVED)


@pytest.mark.parametrize("name", ["robertson", "hires", "van-der-pol-stiff", "lorenz", "kepler-e09", "oregonator"])
def test_problems_of_the_catalog_take_the_same_steps(name: str):
    case = Case(catalog.load(name))
    plain, checked = solved(case, PLAIN), solved(case, RESOLVED)
    assert (plain.n_steps, plain.n_rejected) == (checked.n_steps, checked.n_rejected)


def test_what_is_not_followed_is_pushed_apart(load: Load):
    # y falls to 1e-217 of itself and grows again: below 1e-30 it is not followed, so that two runs must part.
    text = one("1000*((t - 1)*y - y**3)", time="t1 = 3")
    case = Case(load(text))
    ends = {float(solved(case, Settings(18, 5e-19, push=side)).saved[-1][0]) for side in (1, -1)}
    assert max(ends) == pytest.approx(1.4141251491508455) == -min(ends)
    followed = [solved(case, Settings(stages, 1e-22, 60, 1e-290, 1e-290)).saved[-1][0] for stages in (18, 20)]
    with precision(160):
        assert matching_digits(followed[0], followed[1]) > 18
    assert float(followed[0]) == pytest.approx(1.4141251491508455, rel=1e-12)


def test_a_component_that_is_exactly_zero_stays(load: Load):
    assert (
        solved(Case(load(one("100*y*(1 - y)", initial="0"))), Settings(18, 5e-19, push=1, shaken=True)).saved[-1][0]
        == 0
    )
