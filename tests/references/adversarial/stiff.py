"""Stiffness, late transients, singularities, and the ends of existence."""

from __future__ import annotations

from collections.abc import Sequence

from mpmath import cos, exp, expm1, lambertw, mpf, re, sin, sqrt, tan
from references.adversarial.attack import ILL, OUTSIDE, Attack, Real
from references.adversarial.taylor import followed


def _prothero(rate: str, start: str, saved: Sequence[str] = ("0.5", "2", "10")) -> Attack:
    return Attack(
        f"prothero-robinson-{rate}-from-{start}", "a stiff relaxation to a cosine", {"y": start},
        {"y": "-k*(y - cos(t)) - sin(t)"}, {"k": rate}, saved=saved,
        solution=lambda t, theta: [cos(t) + (mpf(start) - 1) * exp(-theta[0] * t)], digits=200,
    )  # fmt: skip


def _davis(rate: str) -> Attack:
    def solution(t: Real, theta: Sequence[Real]) -> list[Real]:
        (a,) = theta
        x = 2 * exp(-a * t)
        g = mpf(rate)
        # With x' = −a x, the slow curve x / (1 + x) is followed exactly by this y.
        return [x, x / (1 + x) + (mpf(3) - mpf(2) / 3) * exp(-g * t)]

    equation = f"-{rate}*(y - x/(1 + x)) - a*x/(1 + x)**2"
    return Attack(f"davis-skodje-{rate}", "a slow curve behind a fast one", {"x": "2", "y": "3"},
                  {"x": "-a*x", "y": equation}, {"a": "1"}, saved=("0.1", "1", "5"), solution=solution)  # fmt: skip


def _flame(y0: str, saved: Sequence[str]) -> Attack:
    def solution(t: Real, theta: Sequence[Real]) -> list[Real]:
        a = 1 / mpf(y0) - 1
        return [1 / (re(lambertw(a * exp(a - theta[0] * t))) + 1)]

    return Attack(f"flame-from-{y0}", "nothing, and then a flame", {"y": y0}, {"y": "k*(y**2 - y**3)"}, {"k": "1"},
                  saved=saved, solution=solution)  # fmt: skip


def _ignition(s, y, p):
    heat, fuel = y
    rate = fuel * (heat / (1 + heat / 20)).exp()
    return [rate, -p[0] * rate]


def _late_stiffness(t: Real, theta: Sequence[Real]) -> list[Real]:
    (k,) = theta
    return [sin(t) + exp(-k * expm1(3 * t) / 3)]


def _fast_slave(rate: str) -> Attack:
    def solution(t: Real, theta: Sequence[Real]) -> list[Real]:
        (k,), g = theta, mpf(rate)
        z = exp(-k * t)
        return [z, g / (g - k) * (z - exp(-g * t))]

    return Attack(f"slave-{rate}", "a component that follows another at once", {"z": "1", "x": "0"},
                  {"z": "-k*z", "x": f"{rate}*(z - x)"}, {"k": "1"}, saved=("0.5", "2", "5"),
                  solution=solution)  # fmt: skip


def _constraint(t: Real, theta: Sequence[Real]) -> list[Real]:
    """1e-12 x' = z − x² − 1e-12 k x / 2 on x = sqrt(z), z = exp(−k t) · 4: the constraint holds exactly."""
    (k,) = theta
    return [4 * exp(-k * t), 2 * exp(-k * t / 2)]


def _stopped(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [sqrt(1 - 2 * theta[0] * t)]


def _pole(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [tan(theta[0] * t)]


def _blown(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [1 / (1 - theta[0] * t)]


def _crossing_sign(t: Real, theta: Sequence[Real]) -> list[Real]:
    (k,) = theta
    first = mpf("0.5") / (1 - k)
    return [(1 - k) * t if t < first else mpf("0.5") + (1 + k) * (t - first)]


def _crossing_abs(t: Real, theta: Sequence[Real]) -> list[Real]:
    """y' = −k |y| + 1 from −1: exp(k t) growth below zero, relaxation above."""
    from mpmath import log

    (k,) = theta
    # Below zero y' = k y + 1 from −1/4.
    first = -log(1 - k / 4) / k
    if t < first:
        return [(-mpf(1) / 4 + 1 / k) * exp(k * t) - 1 / k]
    return [(1 - exp(-k * (t - first))) / k]


def _ill(name: str, why: str, equation: str, initial: str = "1", saved: Sequence[str] = ("1", "2", "5", "10"), **more):
    return Attack(f"ill-{name}", why, {"y": initial}, {"y": equation}, {"k": "1"}, saved=saved, status=ILL, **more)


ATTACKS = [
    _prothero("1e6", "2"), _prothero("1e6", "1"), _prothero("1e10", "1"), _prothero("1e15", "2"),
    _davis("1e3"), _davis("1e8"), _flame("1e-2", ("50", "99", "102", "200")),
    _flame("1e-4", ("5000", "9999", "10010", "20000")), _flame("1e-7", ("5e6", "1.00001e7", "2e7")),
    Attack("ignition", "a temperature that runs away and stops", {"heat": "0", "fuel": "1"},
           {"heat": "fuel*exp(heat/(1 + heat/20))", "fuel": "-k*fuel*exp(heat/(1 + heat/20))"}, {"k": "0.1"},
           saved=("0.5", "1.2", "2"), digits=75, formula=False,
           solution=followed(_ignition, ("0", "1"), ("0.5", "1.2", "2"))),
    Attack("stiffness-switched-on", "a rate that grows from 1 to 1e13", {"y": "1"},
           {"y": "-k*exp(3*t)*(y - sin(t)) + cos(t)"}, {"k": "1"}, saved=("0.5", "1", "10"), solution=_late_stiffness,
           digits=200),
    _fast_slave("1e6"), _fast_slave("1e12"), _fast_slave("1e20"),
    Attack("constraint-in-the-limit", "almost an algebraic equation", {"z": "4", "x": "2"},
           {"z": "-k*z", "x": "1e12*(z - x**2) - k*x/2"}, {"k": "1"}, saved=("0.5", "2", "5"), solution=_constraint,
           status=OUTSIDE, slope=lambda t, theta: [[-4 * t * exp(-t), _constraint_slope(t)]]),
    Attack("near-a-pole", "a tangent to just before its pole", {"y": "0"}, {"y": "k*(1 + y**2)"}, {"k": "1"},
           saved=("1", "1.5", "1.57", "1.5707963"), solution=_pole),
    Attack("near-a-blow-up", "one millionth before the end", {"y": "1"}, {"y": "k*y**2"}, {"k": "1"},
           saved=("0.5", "0.999999"), solution=_blown),
    Attack("near-a-standstill", "a state that nearly vanishes in a denominator", {"y": "1"}, {"y": "-k/y"}, {"k": "1"},
           saved=("0.25", "0.49", "0.4999999"), solution=_stopped),
    Attack("abs-not-crossing", "abs of a state that stays positive", {"y": "1"}, {"y": "-k*abs(y)"}, {"k": "1"},
           saved=("1", "5"), solution=lambda t, theta: [exp(-theta[0] * t)], status=OUTSIDE),
    Attack("max-not-crossing", "max of a state that stays below", {"y": "1"}, {"y": "-k*max(y, 2) + 0*t"}, {"k": "0.1"},
           saved=("1", "4"), solution=lambda t, theta: [1 - 2 * theta[0] * t], status=OUTSIDE),
    Attack("sign-crossing", "the sign of a state that crosses", {"y": "0"}, {"y": "1 + k*sign(y - 0.5)"}, {"k": "0.5"},
           saved=("0.5", "1.5", "2"), solution=_crossing_sign, status=OUTSIDE),
    Attack("abs-crossing", "abs of a state that crosses", {"y": "-0.25"}, {"y": "1 - k*abs(y)"}, {"k": "0.5"},
           saved=("0.1", "1", "2"), solution=_crossing_abs, status=OUTSIDE),
    _ill("blow-up", "blows up at t = 1", "k*y**2", saved=("0.5", "2")),
    _ill("blow-up-at-the-end", "blows up at t1", "k*y**2", saved=("0.5", "1")),
    _ill("poles", "a tangent over two poles", "k*(1 + y**2)", "0", ("1", "4")),
    _ill("blow-up-fast", "blows up at 1e-10", "k*y**2", "1e10", ("1",)),
    _ill("blow-up-exponential", "blows up at exp(-1)", "k*exp(y)"),
    _ill("pole-in-time", "a pole of the second order", "k/(t - 5)**2"),
    _ill("pole-in-time-small", "a small pole between the steps", "-k*y + 1e-9/(t - 4.2345)**2"),
    _ill("pole-in-time-tiny", "a tiny pole between the steps", "-k*y + 1e-25/(t - 4.23456789)"),
    _ill("pole-in-time-even", "poles of higher order", "-k*y + 1e-40/(t - 4.23456789)**4"),
    _ill("pole-of-a-sine", "a pole of a tangent", "-k*y + 1e-12*tan(t)"),
    _ill("pole-irrational", "a pole at the root of two", "-k*y + 1e-20/(t**2 - 2)"),
    _ill("pole-at-a-saved-time", "a pole at a saved time", "-k*y + 1e-40/(t - 2)"),
    _ill("pole-at-an-irrational-saved-time", "a pole at a saved time", "-k*y + 1e-40/(t**2 - 2)",
         saved=("1", "sqrt(2)", "3")),
    _ill("root-of-a-negative", "no real value from t = 5 on", "-k*y + sqrt(5 - t)"),
    _ill("root-of-a-negative-band", "no real value within 1e-9", "-k*y + sqrt((t - 4.2345)**2 - 1e-18)"),
    _ill("log-of-a-negative", "no real value from t = 5 on", "-k*y + log(5 - t)"),
    _ill("asin-beyond-one", "no real value from t = 1 on", "-k*y + asin(t)"),
    _ill("power-of-a-negative", "no real value from t = 5 on", "-k*y + (5 - t)**0.3"),
    _ill("root-at-zero", "not unique", "k*sqrt(y)", "0"),
    _ill("root-of-abs-at-zero", "not unique", "k*sqrt(abs(y))", "0"),
    _ill("cube-root-at-zero", "not unique", "k*y**(1/3)", "0"),
    _ill("root-reached", "reaches zero, where the slope is not Lipschitz", "-k*sqrt(y)"),
    _ill("standstill", "divides by a state that vanishes at t = 1/2", "-k/y"),
    _ill("log-of-a-state", "the logarithm of a state that reaches zero", "k*log(y)", "0.5"),
    _ill("sliding", "slides along y = 0", "-k*sign(y)", "1"),
    _ill("sliding-where", "slides along y = 0", "where(y > 0, -k, k)", "1"),
    Attack("ill-dry-friction", "sticks and slips", {"x": "1", "v": "0"}, {"x": "v", "v": "-x - 0.3*k*sign(v)"},
           {"k": "1"}, saved=("1", "5", "10"), status=ILL),
    Attack("ill-loss-kink", "the loss has a kink where the state is", {"y": "1"}, {"y": "k*(1 - y)"}, {"k": "1"},
           saved=("1",), loss={"kind": "sum_of_magnitudes", "target": "1"}, status=OUTSIDE,
           solution=lambda t, theta: [mpf(1)]),
    Attack("ill-division-of-states", "y/x with both at zero", {"x": "0", "y": "0"}, {"x": "k", "y": "y/x"}, {"k": "1"},
           saved=("1", "2"), status=ILL),
]  # fmt: skip


def _constraint_slope(t: Real) -> Real:
    return -t * exp(-t / 2)
