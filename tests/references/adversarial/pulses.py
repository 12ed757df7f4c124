"""Pulses and fronts that are much narrower than the distance of saved times."""

from __future__ import annotations

from collections.abc import Sequence

from mpmath import atan, besseli, cos, erf, exp, log1p, mpf, pi, sin, sqrt, tanh
from references.adversarial.attack import Attack, Real, Solution

A = "4.23456789"


def gauss_response(k: Real, a: Real, w: Real, size: Real, t: Real) -> Real:
    """∫ from 0 to t of exp(−k (t − s)) size exp(−((s − a) / w)²) ds."""
    shift = k * w / 2
    area = size * w * sqrt(pi) / 2 * exp(-k * (t - a) + shift * shift)
    return area * (erf((t - a) / w - shift) - erf(-a / w - shift))


def _decay(pulses: Sequence[tuple[str, str, str]]) -> Solution:
    def solution(t: Real, theta: Sequence[Real]) -> list[Real]:
        (k,) = theta
        terms = (gauss_response(k, mpf(a), mpf(w), mpf(size), t) for size, a, w in pulses)
        return [exp(-k * t) + sum(terms, mpf(0))]

    return solution


def _gauss(name: str, *pulses: tuple[str, str, str], saved: Sequence[str] = ("2", "4", "6", "10")) -> Attack:
    terms = " + ".join(f"{size}*exp(-((t - {a})/{w})**2)" for size, a, w in pulses)
    why = f"Gaussian pulses of widths {', '.join(w for _, _, w in pulses)}"
    return Attack(name, why, {"y": "1"}, {"y": f"-k*y + {terms}"}, {"k": "1"}, saved=saved, solution=_decay(pulses))


def _growth(name: str, why: str, rate: str, phase, saved: Sequence[str] = ("2", "4", "6", "10")) -> Attack:
    """y' = k rate(t) y, where phase is the integral of the rate."""
    return Attack(
        name, why, {"y": "1"}, {"y": f"k*y*{rate}"}, {"k": "0.75"}, saved=saved,
        solution=lambda t, theta: [exp(theta[0] * phase(t))],
    )  # fmt: skip


def _sech(w: str) -> Attack:
    rate = f"(1 - tanh((t - {A})/{w})**2)/{w}"
    return _growth(f"pulse-sech-{w}", "sech**2 in the growth rate", rate,
                   lambda t: tanh((t - mpf(A)) / mpf(w)) + tanh(mpf(A) / mpf(w)))  # fmt: skip


def _rational(w: str) -> Attack:
    return _growth(f"pulse-rational-{w}", "a Lorentz curve in the growth rate", f"1/({w}*(1 + ((t - {A})/{w})**2))",
                   lambda t: atan((t - mpf(A)) / mpf(w)) + atan(mpf(A) / mpf(w)))  # fmt: skip


def _front(w: str) -> Attack:
    def solution(t: Real, theta: Sequence[Real]) -> list[Real]:
        edge = [tanh((x - mpf(A)) / mpf(w)) for x in (t, mpf(0))]
        return [edge[0] + (1 - edge[1]) * exp(-theta[0] * t)]

    inner = f"tanh((t - {A})/{w})"
    equation = f"-k*(y - {inner}) + (1 - {inner}**2)/{w}"
    return Attack(f"front-tanh-{w}", "the solution follows a narrow front", {"y": "1"}, {"y": equation}, {"k": "1"},
                  saved=("2", "4", "6", "10"), solution=solution)  # fmt: skip


def _zero_net(w: str) -> Attack:
    """x leaves zero and comes back within the pulse; only its integral stays."""

    def solution(t: Real, theta: Sequence[Real]) -> list[Real]:
        (k,), a, width = theta, mpf(A), mpf(w)
        x = exp(-(((t - a) / width) ** 2)) / width - exp(-((a / width) ** 2)) / width
        y = k * sqrt(pi) / 2 * (erf((t - a) / width) + erf(a / width)) - k * t * exp(-((a / width) ** 2)) / width
        return [x, y]

    slope = f"-2*(t - {A})/{w}**3*exp(-((t - {A})/{w})**2)"
    return Attack(f"pulse-zero-net-{w}", "a pulse whose net integral vanishes", {"x": "0", "y": "0"},
                  {"x": slope, "y": "k*x"}, {"k": "2"}, saved=("2", "4.2", "5", "10"), solution=solution)  # fmt: skip


def _seen_through_decay(t: Real, theta: Sequence[Real]) -> list[Real]:
    """y' = k 1e20 g(t) z with z = exp(−t): the integral of a Gaussian times an exponential."""
    (k,) = theta
    a, w = mpf("40.25"), mpf("0.001")
    area = mpf("1e20") * w * sqrt(pi) / 2 * exp(-a + w * w / 4)
    return [exp(-t), 1 + k * area * (erf((t - a) / w + w / 2) - erf(-a / w + w / 2))]


def _fermi(t: Real, theta: Sequence[Real]) -> list[Real]:
    """y' = k (F(t − b) − F(t − a)) with F falling from 1 to 0 within w."""
    (k,), w = theta, mpf("1e-4")

    def integral(edge: str) -> Real:
        return w * (_softplus((mpf(edge) - 0) / w) - _softplus((mpf(edge) - t) / w))

    return [1 + k * (integral("4.241") - integral("4.231"))]


def _softplus(x: Real) -> Real:
    return x + log1p(exp(-x)) if x > 0 else log1p(exp(x))


def _phase(t: Real, theta: Sequence[Real]) -> list[Real]:
    edge = [(1 + tanh((x - mpf(A)) / mpf("1e-5"))) / 2 for x in (t, mpf(0))]
    return [1 + sin(t + theta[0] * edge[0]) - sin(theta[0] * edge[1])]


def _hidden(t: Real, theta: Sequence[Real]) -> list[Real]:
    """u = y − cos t has u' = −k u + P, so its integral is that of P less u, over k."""
    (k,), a, w, size = theta, mpf(A), mpf("1e-3"), mpf("1e-4")
    u = gauss_response(k, a, w, size, t)
    area = size * w * sqrt(pi) / 2 * (erf((t - a) / w) + erf(a / w))
    return [cos(t) + u, mpf("1e14") * (area - u) / k]


def _stiff(t: Real, theta: Sequence[Real]) -> list[Real]:
    (k,) = theta
    return [cos(t) + exp(-k * t) + gauss_response(k, mpf(A), mpf("1e-5"), mpf("1e6"), t)]


def _comb(t: Real, theta: Sequence[Real]) -> list[Real]:
    """Saved half way between the pulses at the integers: every half pulse has the same area."""
    c = mpf("1e-2") ** -2 / 2
    return [1 + theta[0] * t * exp(-c) * besseli(0, c)]


def _late(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [1 + theta[0] * sqrt(pi) / 2 * (erf((t - 10) / mpf("1e-5")) + erf(10 / mpf("1e-5")))]


def _early(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [1 + theta[0] * sqrt(pi) / 2 * (erf((t - mpf("1e-6")) / mpf("1e-7")) + erf(10))]


def _modulated(t: Real, theta: Sequence[Real]) -> list[Real]:
    """A carrier under a narrow envelope: exp(−s²) cos(b s) has the area √π exp(−b²/4)."""
    from mpmath import mpc, re

    (k,), b, w = theta, mpf(3), mpf("1e-4")

    def half(u: Real) -> Real:
        return sqrt(pi) / 2 * exp(-b * b / 4) * re(erf(mpc(u, -b / 2)))

    return [exp(k * (half((t - mpf(A)) / w) - half(-mpf(A) / w)))]


ATTACKS = [
    *(_gauss("pulse-gauss-" + w.replace(".", ""), (size, A, w))
      for w, size in (("0.1", "10"), ("1e-2", "100"), ("1e-3", "1e3"), ("1e-4", "1e4"), ("1e-5", "1e5"), 
                      ("1e-6", "1e6"), ("1e-8", "1e8"), ("1e-16", "1e16"))),
    _gauss("pulse-gauss-weak", ("1", "7.654321", "1e-3")),
    _gauss("pulse-gauss-at-saved-time", ("1e4", "4", "1e-4")),
    _gauss("pulse-gauss-near-saved-time", ("1e5", "4.0001", "1e-5")),
    _gauss("pulse-gauss-opposite", ("1e4", "4.1", "1e-4"), ("-1e4", "4.101", "1e-4")),
    _gauss("pulse-gauss-train", ("1e3", "1.234567", "1e-3"), ("1e5", "5.4321", "1e-5"), ("1e4", "9.87", "1e-4")),
    *(_gauss(f"pulse-faint-{size}-{w}", (size, A, w))
      for size, w in (("1e-9", "1e-3"), ("1e-7", "1e-6"), ("1e-12", "1e-2"), ("1e-15", "1e-3"))),
    Attack("pulse-hidden-by-stiffness", "a pulse that is small beside a rate of 1e10, and integrated",
           {"y": "1", "z": "0"},
           {"y": f"-k*(y - cos(t)) - sin(t) + 1e-4*exp(-((t - {A})/1e-3)**2)", "z": "1e14*(y - cos(t))"},
           {"k": "1e10"}, saved=("2", "4", "6", "10"), solution=_hidden),
    _sech("1e-3"), _sech("1e-6"), _rational("1e-3"), _rational("1e-6"), _front("1e-3"), _front("1e-5"),
    _growth("pulse-gauss-coefficient-1e-5", "a Gaussian in the growth rate", f"exp(-((t - {A})/1e-5)**2)/1e-5",
            lambda t: sqrt(pi) / 2 * (erf((t - mpf(A)) / mpf("1e-5")) + erf(mpf(A) / mpf("1e-5")))),
    _zero_net("1e-3"), _zero_net("1e-5"),
    Attack("pulse-seen-through-decay", "a pulse that acts through a state that is nearly zero", {"z": "1", "y": "1"},
           {"z": "-z", "y": "k*1e20*exp(-((t - 40.25)/0.001)**2)*z"}, {"k": "1"}, saved=("10", "30", "50"),
           solution=_seen_through_decay),
    Attack("pulse-fermi", "a window with soft edges", {"y": "1"},
           {"y": "k*(1/(1 + exp((t - 4.241)/1e-4)) - 1/(1 + exp((t - 4.231)/1e-4)))"}, {"k": "50"},
           saved=("2", "4", "6", "10"), solution=_fermi),
    Attack("pulse-phase-jump", "a jump of the phase within 1e-5", {"y": "1"},
           {"y": f"cos(t + k/2*(1 + tanh((t - {A})/1e-5)))*(1 + k/2*(1 - tanh((t - {A})/1e-5)**2)/1e-5)"},
           {"k": "1.5"}, saved=("2", "4", "6", "10"), solution=_phase),
    Attack("pulse-on-a-stiff-equation", "a pulse of width 1e-5 beside a rate of 1e6", {"y": "2"},
           {"y": f"-k*(y - cos(t)) - sin(t) + 1e6*exp(-((t - {A})/1e-5)**2)"}, {"k": "1e6"},
           saved=("2", "4.23456", "4.2346", "10"), solution=_stiff),
    Attack("pulse-comb", "a pulse of width 3e-3 at every integer", {"y": "1"},
           {"y": "k*exp(-(sin(pi*t)/1e-2)**2)"}, {"k": "10"}, saved=("0.5", "2.5", "6.5"), solution=_comb),
    Attack("pulse-cut-by-the-end", "half a pulse at t1", {"y": "1"}, {"y": "k*exp(-((t - 10)/1e-5)**2)/1e-5"},
           {"k": "1"}, saved=("5", "10"), solution=_late),
    Attack("pulse-right-after-the-start", "a pulse within the first millionth", {"y": "1"},
           {"y": "k*exp(-((t - 1e-6)/1e-7)**2)/1e-7"}, {"k": "1"}, saved=("5", "10"), solution=_early),
    Attack("pulse-with-a-carrier", "an oscillation under a narrow envelope", {"y": "1"},
           {"y": f"k*y*exp(-((t - {A})/1e-4)**2)*cos(3*(t - {A})/1e-4)/1e-4"}, {"k": "4"},
           saved=("2", "4", "6", "10"), solution=_modulated),
]  # fmt: skip
