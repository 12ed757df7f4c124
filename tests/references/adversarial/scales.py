"""Chaos, long oscillations, odd scales and times, functions that are smooth but not analytic."""

from __future__ import annotations

from collections.abc import Sequence

from mpmath import cos, exp, log, mpf, sin, sqrt
from references.adversarial.attack import OUTSIDE, Attack, Real
from references.adversarial.taylor import followed


def _lorenz(end: int, slow: bool) -> Attack:
    def field(s, y, p):
        a, b, c = y
        return [p[0] * (b - a), a * (28 - c) - b, a * b - 8 * c / 3]

    saved = (str(end // 2), str(end))
    return Attack(f"lorenz-to-{end}", "chaos", {"x": "1", "y": "1", "z": "1"},
                  {"x": "s*(y - x)", "y": "x*(28 - z) - y", "z": "x*y - 8/3*z"}, {"s": "10"}, saved=saved,
                  solution=followed(field, ("1", "1", "1"), saved), slow=slow, digits=105, formula=False)  # fmt: skip


def _double_pendulum(s, y, p):
    a, b, u, v = y
    d = a - b
    sd, cd = d.sin(), d.cos()
    bottom = 3 - (2 * d).cos()
    du = (-3 * p[0] * a.sin() - p[0] * (a - 2 * b).sin() - 2 * sd * (v * v + u * u * cd)) / bottom
    dv = 2 * sd * (2 * u * u + 2 * p[0] * a.cos() + v * v * cd) / bottom
    return [u, v, du, dv]


def _van_der_pol(s, y, p):
    return [y[1], p[0] * (1 - y[0] * y[0]) * y[1] - y[0]]


def _wave(t: Real, theta: Sequence[Real]) -> list[Real]:
    (w,) = theta
    return [cos(w * t), -sin(w * t)]


def _resonant(t: Real, theta: Sequence[Real]) -> list[Real]:
    """x'' + x = cos(w t) from rest, w next to 1."""
    (w,) = theta
    bottom = 1 - w * w
    return [(cos(w * t) - cos(t)) / bottom, (-w * sin(w * t) + sin(t)) / bottom]


def _fast_coefficient(w: str, saved: Sequence[str] = ("0.3", "1")) -> Attack:
    return Attack(f"coefficient-sine-{w}", "a fast coefficient", {"y": "1"}, {"y": f"k*y*sin({w}*t)"}, {"k": "3"},
                  saved=saved, solution=lambda t, theta: [exp(theta[0] * (1 - cos(mpf(w) * t)) / mpf(w))])  # fmt: skip


def _scaled(name: str, why: str, unit: str, **more) -> Attack:
    return Attack(f"scale-{name}", why, {"y": unit}, {"y": f"-k*y*(1 - y/(4*{unit}))"}, {"k": "1"},
                  saved=("0.5", "2"), solution=lambda t, theta: [_falling(mpf(unit), theta[0], t)], **more)  # fmt: skip


def _falling(unit: Real, k: Real, t: Real) -> Real:
    """u' = −k u (1 − u / 4) from 1: u = 4 / (1 + 3 e^(k t))."""
    return unit * 4 / (1 + 3 * exp(k * t))


def _mixed(t: Real, theta: Sequence[Real]) -> list[Real]:
    (k,) = theta
    return [mpf("1e30") * exp(-k * t), mpf("1e-30") * (1 + k * t), (1 - exp(-k * t)) / k]


def _shifted(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [exp(-theta[0] * (t - mpf(10) ** 6))]


def _brief(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [exp(-theta[0] * t)]


def _history(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [exp(-theta[0] * (t + 3)) + 0 * t, (t**4 - 81) / 4]


def _uneven(t: Real, theta: Sequence[Real]) -> list[Real]:
    a, b = theta
    return [exp(-a * t), exp(-b * t)]


def _flat(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [theta[0] * exp(-1 / t)]


def _bump(t: Real, theta: Sequence[Real]) -> list[Real]:
    """y = 1 + k exp(−1 / (t − 5)) from t = 5 on: smooth, and analytic nowhere near 5."""
    return [1 + (theta[0] * exp(-1 / (t - 5)) if t > 5 else 0)]


def _root(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [1 + theta[0] * t ** mpf(1.5) * 2 / 3]


def _power_15(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [exp(theta[0] * t ** mpf(2.5) * 2 / 5)]


def _log(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [1 + theta[0] * (t * log(t) - t)]


def _inverse_root(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [1 + 2 * theta[0] * sqrt(t)]


def _high_power(t: Real, theta: Sequence[Real]) -> list[Real]:
    """y' = −k y**41 from 1: y**−40 = 1 + 40 k t."""
    return [(1 + 40 * theta[0] * t) ** (-mpf(1) / 40)]


def _polynomial(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [1 + theta[0] * t**101]


def _runge(t: Real, theta: Sequence[Real]) -> list[Real]:
    """Near poles at ± 1e-3 i from t = 5, seen by the growth of a state."""
    from mpmath import atan

    w = mpf("1e-3")
    return [exp(theta[0] * w * (atan((t - 5) / w) + atan(5 / w)))]


ATTACKS = [
    _lorenz(15, False), _lorenz(30, True),
    Attack("double-pendulum", "chaos with four states", {"a": "2", "b": "1", "u": "0", "v": "0"},
           {"a": "u", "b": "v",
            "u": "(-3*g*sin(a) - g*sin(a - 2*b) - 2*sin(a - b)*(v**2 + u**2*cos(a - b)))/(3 - cos(2*a - 2*b))",
            "v": "2*sin(a - b)*(2*u**2 + 2*g*cos(a) + v**2*cos(a - b))/(3 - cos(2*a - 2*b))"},
           {"g": "9.81"}, saved=("2", "6"), digits=75, formula=False,
           solution=followed(_double_pendulum, ("2", "1", "0", "0"), ("2", "6"))),
    Attack("van-der-pol-30", "relaxation with a rate of 30", {"x": "2", "v": "0"},
           {"x": "v", "v": "mu*(1 - x**2)*v - x"}, {"mu": "30"}, saved=("10", "24", "40"), digits=75, formula=False,
           solution=followed(_van_der_pol, ("2", "0"), ("10", "24", "40"))),
    Attack("oscillation-100-periods", "a hundred periods", {"x": "1", "v": "0"}, {"x": "w*v", "v": "-w*x"},
           {"w": "2*pi"}, saved=("50.2", "99.9"), solution=_wave, still=True),
    Attack("oscillation-1000-periods", "a thousand periods", {"x": "1", "v": "0"}, {"x": "w*v", "v": "-w*x"},
           {"w": "2*pi"}, saved=("500.2", "999.9"), solution=_wave, still=True,
           slow=True),
    Attack("resonance", "a drive one thousandth beside resonance", {"x": "0", "v": "0"},
           {"x": "v", "v": "cos(w*t) - x"},
           {"w": "1.001"}, saved=("10", "100"), solution=_resonant),
    _fast_coefficient("1e3"), _fast_coefficient("1e5", ("0.003", "0.01")),
    Attack("chirp", "a frequency that grows", {"y": "0"}, {"y": "3*k*t**2*cos(t**3)"}, {"k": "1"}, saved=("1", "5"),
           solution=lambda t, theta: [theta[0] * sin(t**3)]),
    _scaled("1e-30", "everything is 1e-30, the declared scale is 1", "1e-30"),
    _scaled("1e-30-declared", "everything is 1e-30, and so is the scale", "1e-30", scales={"y": "1e-30"}),
    _scaled("1e30", "everything is 1e30", "1e30"), _scaled("1e-200", "everything is 1e-200", "1e-200"),
    Attack("scale-mixed", "units 60 decades apart", {"a": "1e30", "b": "1e-30", "c": "0"},
           {"a": "-k*a", "b": "1e-30*k", "c": "1e-30*a"}, {"k": "2"}, saved=("0.5", "2"), solution=_mixed),
    Attack("time-from-a-million", "t0 is 1e6", {"y": "1"}, {"y": "-k*y"}, {"k": "1"}, t0="1e6",
           saved=("1000000.5", "1000002"), solution=_shifted),
    Attack("time-of-1e-12", "the span is 1e-12", {"y": "1"}, {"y": "-k*y"}, {"k": "1e12"}, saved=("5e-13", "1e-12"),
           solution=_brief),
    Attack("time-to-1e15", "the span is 1e15", {"y": "1"}, {"y": "-k*y"}, {"k": "1e-15"}, saved=("1", "1e15"),
           solution=_brief),
    Attack("time-saved-twice-in-doubles", "saved times that are the same double", {"y": "1"}, {"y": "-k*y"}, {"k": "1"},
           saved=("1", "1.00000000000000000001", "2"), solution=_brief, status=OUTSIDE),
    Attack("time-through-zero", "t0 is negative", {"y": "1", "x": "0"}, {"y": "-k*y", "x": "t**3"}, {"k": "1"}, t0="-3",
           saved=("-1", "0", "2"), solution=_history),
    Attack("time-saved-unevenly", "saved times over 15 decades", {"y": "1", "z": "1"}, {"y": "-a*y", "z": "-b*z"},
           {"a": "1e9", "b": "1e-6"}, saved=("1e-9", "1.000001e-9", "1", "1e6"), solution=_uneven, digits=200),
    Attack("flat-at-the-start", "exp(-1/t): smooth, not analytic at t0", {"y": "0"}, {"y": "k*exp(-1/t)/t**2"},
           {"k": "1"}, saved=("0.5", "2"), solution=_flat, status=OUTSIDE),
    Attack("flat-inside", "exp(-1/(t - 5)) from t = 5 on", {"y": "1"},
           {"y": "k*where(t > 5, exp(-1/max(t - 5, 1e-30))/max(t - 5, 1e-30)**2, 0)"}, {"k": "1"},
           saved=("4", "6", "10"), solution=_bump, status=OUTSIDE, switches=("5",)),
    Attack("singular-root", "sqrt(t) at t0", {"y": "1"}, {"y": "k*sqrt(t)"}, {"k": "1"}, saved=("0.5", "2"),
           solution=_root, status=OUTSIDE),
    Attack("singular-power", "t**1.5 at t0", {"y": "1"}, {"y": "k*y*t**1.5"}, {"k": "1"}, saved=("0.5", "2"),
           solution=_power_15, status=OUTSIDE),
    Attack("singular-logarithm", "log(t) at t0", {"y": "1"}, {"y": "k*log(t)"}, {"k": "1"}, saved=("0.5", "2"),
           solution=_log, status=OUTSIDE),
    Attack("singular-inverse-root", "1/sqrt(t) at t0", {"y": "1"}, {"y": "k/sqrt(t)"}, {"k": "1"}, saved=("0.5", "2"),
           solution=_inverse_root, status=OUTSIDE),
    Attack("power-41", "a high power of a state", {"y": "1"}, {"y": "-k*y**41"}, {"k": "1"}, saved=("0.01", "1", "100"),
           solution=_high_power),
    Attack("power-100-of-t", "a high power of the time", {"y": "1"}, {"y": "101*k*t**100"}, {"k": "1"},
           saved=("0.5", "1", "1.5"), solution=_polynomial),
    Attack("near-poles-of-the-rate", "poles 1e-3 beside the real axis", {"y": "1"},
           {"y": "k*y/(1 + ((t - 5)/1e-3)**2)"}, {"k": "1"}, saved=("4", "6", "10"), solution=_runge),
]  # fmt: skip
