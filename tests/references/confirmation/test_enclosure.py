"""Enclosures hold the truth, whatever is hidden between their steps; what cannot be proved is not."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from flint import arb
from stubs.small_problems import Load

from sciml_bench.references.confirmation.enclosure import Enclosure, NotEnclosed, enclose
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.numbers import precision
from sciml_bench.spec.model import Problem


def one(equation: str, time: str = "t1 = 2", initial: str = "1") -> str:
    return (
        f'spec = 1\nname = "one"\ntitle = "One equation"\n[time]\n{time}\n'
        f'[states]\ny = {initial}\n[equations]\ny = "{equation}"\n'
    )


def enclosed(problem: Problem, tolerance: float = 1e-26, max_steps: int = 2000) -> Enclosure:
    floor = 1e-40 * Case(problem).scale
    return enclose(
        Case(problem).dynamics, problem.y0, problem.p, problem.t0, problem.save_times, floor, 31, tolerance, max_steps
    )


def pulse(center: str, width: str) -> Callable[[], arb]:
    """The integral of exp(−((t − center)/width)²) from 0 to 2."""

    def integral() -> arb:
        a, b = arb(center), arb(width)
        return b * arb.pi().sqrt() / 2 * (((2 - a) / b).erf() + (a / b).erf())

    return integral


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        (one("-y"), lambda: arb(-2).exp()),
        (one("-20*(y - cos(t)) - sin(t)"), lambda: arb(2).cos()),
        (one("-y**3/2"), lambda: arb(3).rsqrt()),
        (one("y*cos(t)"), lambda: arb(2).sin().exp()),
        (one("1 + y**2", "t1 = 1", "0"), lambda: arb(1).tan()),
        (one("where(t >= 1, 3, 1)", "t1 = 2", "0"), lambda: arb(4)),
        (one("max(t - 1/3, 0)", "t1 = 3", "0"), lambda: arb(32) / 9),
        (one("tanh(t)*y"), lambda: arb(2).cosh()),
        (one("y/sqrt(y)/2"), lambda: (arb(3) / 2) ** 2),
        (one("exp(-((t - 1.2345)/1e-3)**2)", initial="0"), pulse("1.2345", "1e-3")),
        (one("exp(-((t - 1)/1e-2)**2)", initial="0"), pulse("1", "1e-2")),
        (one("exp(-((t - 1.2345)/1e-8)**2)", initial="0"), pulse("1.2345", "1e-8")),
    ],
    ids="decay fast-decay algebraic forced tangent jump kink tanh root pulse wide-pulse narrow-pulse".split(),
)
def test_the_truth_is_in_the_enclosure(load: Load, text: str, exact: Callable[[], arb]):
    end = enclosed(load(text)).saved[-1][0]
    with precision(320):
        assert end.contains(exact())
        assert float(end.rad()) < 1e-20 * abs(float(end))


def test_a_turning_set_is_not_boxed_in_anew_each_time(load: Load):
    """100 turns: boxes with fixed sides would grow by a factor of some 500 in each."""
    text = (
        'spec = 1\nname = "turn"\ntitle = "Turn"\n[time]\nt1 = 628\n[states]\nx = 1\ny = 0\n'
        '[equations]\nx = "-y"\ny = "x"\n'
    )
    x, y = enclosed(load(text)).saved[-1]
    with precision(320):
        assert x.contains(arb(628).cos())
        assert y.contains(arb(628).sin())
        assert float(y.rad()) < 1e-22


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (one("y**2"), r"beyond t = (0\.99|1)"),
        (one("-1e6*(y - cos(t)) - sin(t)"), "more than 200 steps"),
        (one("-sqrt(y)", "t1 = 3"), "beyond t = "),
        (one("max(y - 1/2, 0) - 1", "t1 = 1"), r"beyond t = 0\.[4-6]"),
        (one("where(y > 1/2, 1, 2)*y - 2", "t1 = 1"), r"beyond t = 0\.[2-6]"),
        (one("1/(2 - y)", "t1 = 1"), r"beyond t = 0\.[45]"),
        (one("-1/cos(1000*t)/y", "t1 = 1"), "beyond t = "),
        (one("-abs(y) - 1", "t1 = 2"), r"beyond t = 0\.[5-7]"),
    ],
    ids="blows-up stiff ends kink jump-of-the-state pole-of-the-state pole absolute-value".split(),
)
def test_what_cannot_be_proved_is_not(load: Load, text: str, why: str):
    with pytest.raises(NotEnclosed, match=why):
        enclosed(load(text), max_steps=200)


def test_numbers_that_are_not_exact_stay_in_the_enclosure(load: Load):
    """1/3 and sqrt(2) have no last digit: their balls have a width, which the solution's must hold."""
    text = one("1/3*sqrt(2)", "t0 = 0\nt1 = 1", "0")
    end = enclosed(load(text)).saved[-1][0]
    with precision(1000):
        assert end.contains(arb(2).sqrt() / 3)


def test_a_tighter_tolerance_narrows_it(load: Load):
    widths = [
        float(enclosed(load(one("y*cos(t)", "t1 = 50")), tolerance).saved[-1][0].rad()) for tolerance in (1e-20, 1e-40)
    ]
    assert widths[1] < 1e-15 * widths[0]


def test_too_many_steps_are_not_taken(load: Load):
    with pytest.raises(NotEnclosed, match="more than 3 steps"):
        enclosed(load(one("y*cos(t)", "t1 = 50")), max_steps=3)


@pytest.mark.parametrize("seed", range(6))
def test_linear_systems_lie_in_their_enclosures(load: Load, seed: int):
    """Random matrices with growth, decay and rotation, against the exponential of the matrix."""
    rng = np.random.default_rng(seed)
    n = 3
    matrix = rng.integers(-30, 31, (n, n)) / 10
    states = "\n".join(f"x{i} = {i + 1}" for i in range(n))
    equations = "\n".join(f'x{i} = "' + " + ".join(f"({matrix[i, j]})*x{j}" for j in range(n)) + '"' for i in range(n))
    text = (
        f'spec = 1\nname = "system"\ntitle = "System"\n[time]\nt1 = 3\n[states]\n{states}\n[equations]\n{equations}\n'
    )
    found = enclosed(load(text)).saved[-1]
    with precision(320):
        from flint import arb_mat

        exponent = arb_mat([[arb(round(10 * value)) / 10 * 3 for value in row] for row in matrix])
        truth = (exponent.exp() * arb_mat(n, 1, [arb(i + 1) for i in range(n)])).entries()
        assert all(ball.overlaps(value) for ball, value in zip(found, truth, strict=True))
        assert all(math.isfinite(float(ball.rad())) for ball in found)
