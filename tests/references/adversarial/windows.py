"""Conditions on the time: windows, kinks and switches, declared and not."""

from __future__ import annotations

from collections.abc import Sequence

from mpmath import asin, exp, floor, mpf, pi, sqrt
from references.adversarial.attack import ILL, OUTSIDE, Attack, Real, Solution

TIMES = ("2", "4", "6", "10")
Intervals = Sequence[tuple[Real, Real]]


def dosed(k: Real, dose: Real, y0: Real, intervals: Intervals, t: Real) -> Real:
    """y' = −k y + dose inside the intervals, −k y outside."""
    total = y0 * exp(-k * t)
    for a, b in intervals:
        a, b = min(max(a, mpf(0)), t), min(max(b, mpf(0)), t)
        total += dose / k * (exp(-k * (t - b)) - exp(-k * (t - a)))
    return total


def _solution(intervals) -> Solution | None:
    if intervals is None:
        return None
    return lambda t, theta: [dosed(theta[0], theta[1], mpf(1), intervals(), t)]


def _window(
    name: str, why: str, condition: str, intervals, saved: Sequence[str] = TIMES, dose: str = "3", **more
) -> Attack:
    return Attack(
        f"window-{name}", why, {"y": "1"}, {"y": f"-k*y + dose*where({condition}, 1, 0)"},
        {"k": "0.2", "dose": dose}, saved=saved, solution=_solution(intervals), **more,
    )  # fmt: skip


def _term(name: str, why: str, term: str, phase, saved: Sequence[str] = TIMES, **more) -> Attack:
    """y' = k y term(t), where phase is the term's integral from 0."""
    return Attack(
        f"window-{name}", why, {"y": "1"}, {"y": f"k*y*{term}"}, {"k": "0.3"}, saved=saved,
        solution=lambda t, theta: [exp(theta[0] * phase(t))], **more,
    )  # fmt: skip


def _only(*pairs: tuple[str, str]):
    return lambda: [(mpf(a), mpf(b)) for a, b in pairs]


def _plus(x: Real) -> Real:
    return max(x, mpf(0))


def _sine(w: int, c: str, end: int):
    def intervals() -> list[tuple[Real, Real]]:
        first = asin(mpf(c))
        turns = range(int(floor(w * end / (2 * pi))) + 1)
        return [((first + 2 * pi * n) / w, (pi - first + 2 * pi * n) / w) for n in turns]

    return intervals


def _chirp() -> list[tuple[Real, Real]]:
    return [(sqrt(2 * n * pi), sqrt((2 * n + 1) * pi)) for n in range(5)]


def _triangle(t: Real) -> Real:
    """∫ max(0, 1 − |t − 5| / 1e-3) / 1e-3."""
    u = max(min((t - 5) / mpf("1e-3"), mpf(1)), mpf(-1))
    return (u + 1) ** 2 / 2 if u <= 0 else 1 - (1 - u) ** 2 / 2


def _steps(jumps: Sequence[tuple[str, int]], first: int):
    """The integral of a function that starts at ``first`` and takes the given values from the given times on."""

    def phase(t: Real) -> Real:
        total, before, value = mpf(0), mpf(0), first
        for time, after in jumps:
            here = min(mpf(time), t)
            total, before, value = total + value * (here - before), here, after
        return total + value * (t - before)

    return phase


def _e(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [dosed(theta[0], theta[1], mpf(1), [(exp(mpf(1)) - 1, mpf(20))], t)]


def _growing(t: Real, theta: Sequence[Real]) -> list[Real]:
    (k,) = theta
    return [exp(-k * min(t, mpf(5)) + k * _plus(t - 5))]


def _param_edge(t: Real, theta: Sequence[Real]) -> list[Real]:
    (a,) = theta
    return [1 + _plus(t - a)]


ATTACKS = [
    _window("and", "a window by and", "t >= 3.1 and t < 3.7", _only(("3.1", "3.7")), switches=("3.1", "3.7")),
    _window("abs", "a window by abs", "abs(t - 5.3) < 0.2", _only(("5.1", "5.5")), switches=("5.1", "5.5")),
    _window("not-or", "a window by not and or", "not (t < 3 or t >= 3.0001)", _only(("3", "3.0001")), dose="1e4",
            switches=("3", "3.0001")),
    _window("1e-6", "a window narrower than any step", "t > 4.2345 and t < 4.234501", _only(("4.2345", "4.234501")),
            dose="1e6", switches=("4.2345", "4.234501")),
    _window("1e-12", "a window of 1e-12", "abs(t - 7.7) < 1e-12", _only(("7.699999999999", "7.700000000001")),
            dose="1e12", switches=("7.699999999999", "7.700000000001")),
    _window("quadratic", "two roots 2e-7 apart", "(t - 5)**2 < 1e-14", _only(("4.9999999", "5.0000001")), dose="1e7",
            switches=("4.9999999", "5.0000001")),
    _window("double-root", "false at one point only", "(t - 5)**2 > 0", _only(("0", "10"))),
    _window("one-point", "true at one point only", "t <= 5 and t >= 5", _only()),
    _window("never", "never true", "(t - 5)**2 < 0", _only()),
    _window("touching-both-ends", "switches at t0 and t1", "t > 0 and t < 10", _only(("0", "10"))),
    _window("at-saved-times", "switches at saved times", "t >= 4 and t < 6", _only(("4", "6")), switches=("4", "6")),
    _window("declared", "the switches are declared", "t >= 3 and t < 7", _only(("3", "7")), breakpoints=("3", "7"),
            switches=("3", "7")),
    _window("half-declared", "one of two switches is declared", "t >= 3 and t < 7", _only(("3", "7")),
            breakpoints=("3",), switches=("3", "7")),
    _window("declared-irrational", "a declared switch at pi", "t >= pi", lambda: [(+pi, mpf(20))],
            breakpoints=("pi",), switches=("pi",)),
    _window("irrational", "a switch at the root of two", "t**2 >= 2", lambda: [(sqrt(mpf(2)), mpf(20))],
            switches=("sqrt(2)",)),
    _window("logarithm", "a switch at e - 1", "log(t + 1) > 1", lambda: [(exp(mpf(1)) - 1, mpf(20))]),
    _window("sine", "on and off by a sine", "sin(7*t) > 0.99", _sine(7, "0.99", 10)),
    _window("sine-fast", "160 windows", "sin(100*t) > 0.5", _sine(100, "0.5", 10)),
    _window("chirp", "windows by sin(t**2)", "sin(t**2) > 0", _chirp, saved=("1", "2", "4", "5")),
    _window("off-by-1e-6", "a declared breakpoint near the switch", "t >= 3.000001", None, breakpoints=("3",),
            switches=("3.000001",), status=ILL),
    _window("off-by-1e-14", "pi to 14 decimals", "t >= pi", None, breakpoints=("3.14159265358979",),
            switches=("pi",), status=ILL),
    _window("off-by-1e-30", "pi to 30 decimals", "t >= pi", None,
            breakpoints=("3.141592653589793238462643383279",), switches=("pi",), status=ILL),
    _term("max", "a triangle of width 2e-3", "max(0, 1 - abs(t - 5)/1e-3)/1e-3", _triangle,
          switches=("4.999", "5", "5.001")),
    _term("min", "the same by min", "(1 - min(1, abs(t - 5)/1e-3))/1e-3", _triangle, switches=("4.999", "5", "5.001")),
    _term("sign", "the sign of the time", "sign(t - 2.7)", lambda t: abs(t - mpf("2.7")) - mpf("2.7"),
          switches=("2.7",)),
    _term("sign-of-a-product", "a sign that is negative for 1e-3", "sign((t - 2.5)*(t - 2.501))",
          _steps((("2.5", -1), ("2.501", 1)), 1), switches=("2.5", "2.501")),
    _term("sign-twice-equal", "a sign with a double zero", "sign((t - 2.5)**2)", lambda t: t),
    _term("abs-of-a-sine", "kinks at every root of a sine", "abs(sin(3*t))", lambda t: _rectified(3 * t) / 3),
    _term("triangle-wave", "kinks of asin(sin(t))", "asin(sin(3*t))", lambda t: _triangle_wave(3 * t) / 3,
          status=OUTSIDE),
    _term("sawtooth", "jumps of atan(tan(t))", "atan(tan(3*t))", lambda t: _sawtooth(3 * t) / 3, status=OUTSIDE),
    _term("cubed", "a kink in the third derivative", "max(t - 5, 0)**3", lambda t: _plus(t - 5) ** 4 / 4,
          switches=("5",)),
    _term("power-5-2", "a kink in a high derivative", "max(t - 5, 0)**2.5",
          lambda t: _plus(t - 5) ** mpf(3.5) / mpf(3.5), switches=("5",)),
    _term("abs-power", "the fifth power of abs", "abs(t - 5)**5/100",
          lambda t: (abs(t - 5) ** 6 * (1 if t > 5 else -1) + 5**6) / 600, switches=("5",)),
    _term("nested", "conditions inside conditions", "where(t < 6, where(t > 3.3, 2, 1), where(t > 9, 5, 0))",
          _steps((("3.3", 2), ("6", 0), ("9", 5)), 1), saved=("2", "5", "8", "10"), switches=("3.3", "6", "9")),
    _term("of-conditions", "max of conditions", "max(where(t > 3, 1, 0), where(t < 4, 2, 0))",
          _steps((("4", 1),), 2), switches=("4",)),
    _term("squared", "a condition squared and scaled", "(2*where(t > 3.5, 1, 0) - 1)**2*where(t < 8.25, 1, -1)",
          _steps((("8.25", -1),), 1), switches=("8.25",)),
    _term("inside-a-sine", "a condition inside a function", "sin(pi*where(t > 3.5, 0.5, 1.5))",
          _steps((("3.5", 1),), -1), switches=("3.5",)),
    _term("cancelling", "conditions that cancel", "(1 + where(t > 3.5, 1, 0) + where(t <= 3.5, 1, 0))",
          lambda t: 2 * t),
    Attack("window-negligible-then-growing", "a state that decays to 1e-174 and comes back", {"y": "1"},
           {"y": "k*y*where(t > 5, 1, -1)"}, {"k": "80"}, saved=("2", "5", "8", "10"), solution=_growing,
           switches=("5",)),
    Attack("window-at-a-parameter", "a switch at a parameter's value", {"y": "1"}, {"y": "where(t > a, 1, 0)"},
           {"a": "3.5"}, saved=TIMES, solution=_param_edge, status=OUTSIDE),
    Attack("window-accumulating", "switches that accumulate at t = 5", {"y": "1"},
           {"y": "-k*y + where(sin(1/(t - 5)) > 0, 1, 0)"}, {"k": "1"}, saved=TIMES, status=ILL),
]  # fmt: skip


def _rectified(x: Real) -> Real:
    """∫ |sin| from 0 to x."""
    from mpmath import cos

    turns = floor(x / pi)
    return 2 * turns + 1 - cos(x - turns * pi)


def _sawtooth(x: Real) -> Real:
    """∫ atan(tan) from 0 to x."""
    return (x - floor(x / pi + mpf(0.5)) * pi) ** 2 / 2


def _triangle_wave(x: Real) -> Real:
    """∫ asin(sin) from 0 to x."""
    turns = floor(x / pi + mpf(0.5))
    rest = (x - turns * pi) ** 2 / 2
    return rest if turns % 2 == 0 else pi**2 / 4 - rest
