"""Components that are nothing for long and matter later, exact symmetries, and gradients of any size."""

from __future__ import annotations

from collections.abc import Sequence

from mpmath import cos, erf, exp, expm1, log, mpf, pi, sin, sinh, sqrt
from references.adversarial.attack import OUTSIDE, Attack, Real
from references.adversarial.taylor import followed


def _logistic(t: Real, r: Real, y0: Real) -> Real:
    return y0 / (y0 + (1 - y0) * exp(-r * t))


def _seed(size: str, saved: Sequence[str]) -> Attack:
    return Attack(
        f"seed-{size}", "a logistic curve from next to nothing", {"y": size}, {"y": "r*y*(1 - y)"}, {"r": "1"},
        saved=saved, solution=lambda t, theta: [_logistic(t, theta[0], mpf(size))], digits=400,
    )  # fmt: skip


def _delayed(k: str) -> Attack:
    return Attack(
        f"delayed-growth-{k}", "falls to exp(-12.5 k) and comes back", {"y": "1"}, {"y": "k*(t - 5)*y"}, {"k": k},
        saved=("2", "5", "8", "9.5"), solution=lambda t, theta: [exp(theta[0] * (t * t / 2 - 5 * t))],
    )  # fmt: skip


def _pitchfork(rate: int) -> Attack:
    def field(s, y, p):
        x = y[0]
        return [rate * ((s - 1) * x - x * x * x), x - p[0] * y[1]]

    saved = ("0.5", "1", "1.9", "2.1", "3")
    return Attack(
        f"pitchfork-ramped-{rate}", "the branch y = 0 is left at t = 2", {"y": "1", "z": "1"},
        {"y": "rate*((t - 1)*y - y**3)", "z": "-k*z + y"}, {"k": "1"}, {"rate": str(rate)},
        saved=saved, solution=followed(field, ("1", "1"), saved), digits=75, formula=False,
    )  # fmt: skip


def _chain(t: Real, theta: Sequence[Real]) -> list[Real]:
    (k,) = theta
    b = mpf("1e-30") * k * t
    c = mpf("1e-60") * k * t**2 / 2
    return [mpf(1), b, c, mpf("1e60") * mpf("1e-60") * k * t**3 / 6]


def _amplified(t: Real, theta: Sequence[Real]) -> list[Real]:
    """y = exp(−k t); z' = exp(50 t) y − z with k at 50."""
    (k,) = theta
    d = 50 - k
    z = (exp(d * t) - exp(-t)) / (d + 1)
    return [exp(-k * t), z]


def _revived(t: Real, theta: Sequence[Real]) -> list[Real]:
    """y' = −100 cos(t) y: down to exp(−100) … and back, with z fed by y."""
    (k,) = theta
    return [exp(-k * sin(t))]


def _extinct(s, y, p):
    u, v = y
    return [u * (1 - u - 2 * v), v * (p[0] - v - u / 2)]


def _saddle(t: Real, theta: Sequence[Real]) -> list[Real]:
    (k,) = theta
    # x' = k x + 1e-40 y, y' = -y.
    return [mpf("1e-40") * (exp(k * t) - exp(-t)) / (k + 1), exp(-t)]


def _bistable(t: Real, theta: Sequence[Real]) -> list[Real]:
    """x' = k (x − x³) from 1e-45: x = x0 e^(k t) / sqrt(1 + x0² (e^(2 k t) − 1))."""
    (k,), x0 = theta, mpf("1e-45")
    return [x0 * exp(k * t) / (1 + x0**2 * expm1(2 * k * t)) ** mpf(0.5), exp(-k * t)]


def _zero_manifold(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [mpf(0), exp(theta[0] * t)]


def _left_manifold(t: Real, theta: Sequence[Real]) -> list[Real]:
    """x' = 60 x + q with x(0) = 0 and q = 1e-100."""
    (q,) = theta
    return [q * expm1(60 * t) / 60]


def _drift(t: Real, theta: Sequence[Real]) -> list[Real]:
    """y' = q, x' = 40 x + y − 1: what y gains is below the digits of 1."""
    (q,) = theta
    return [1 + q * t, q * (expm1(40 * t) - 40 * t) / 1600]


def _kicked(t: Real, theta: Sequence[Real]) -> list[Real]:
    """y' = q k exp(−((t − a) / w)²), x' = 40 x + y − 1: x is the response to the pulse twice integrated."""
    (k,), a, w, q = theta, mpf("1.2345"), mpf("1e-3"), mpf("1e-26")
    gain = k * q * w * sqrt(pi) / 2 * (erf((t - a) / w) - erf(-a / w))
    shift = 20 * w
    grown = k * q * w * sqrt(pi) / 2 * exp(40 * (t - a) + shift**2) * (erf((t - a) / w + shift) - erf(-a / w + shift))
    return [1 + gain, (grown - gain) / 40]


def _cascade(t: Real, theta: Sequence[Real]) -> list[Real]:
    """a' = −a, b' = 1e-35 a, c' = 1e35 k b."""
    (k,) = theta
    b = mpf("1e-35") * (1 - exp(-t))
    return [exp(-t), b, k * (t - 1 + exp(-t))]


def _trace(size: str) -> Attack:
    return Attack(
        f"gradient-trace-{size}", f"the gradient is {size} squared beside a loss of 1", {"a": "1", "b": size},
        {"a": "-a", "b": "-k*b"}, {"k": "1"}, saved=("1", "2", "5"), digits=200,
        solution=lambda t, theta: [exp(-t), mpf(size) * exp(-theta[0] * t)],
    )  # fmt: skip


def _decades(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [mpf(10) ** (-8 * i) * exp(-k * t) for i, k in enumerate(theta)]


def _exact_zero(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [exp(-theta[0] * t), mpf(0)]


def _opposite(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [exp(-(theta[0] - theta[1]) * t)]


def _bernoulli(t: Real, theta: Sequence[Real]) -> list[Real]:
    """y' = −y + q y² from 2 at q = 0."""
    (q,) = theta
    return [1 / ((mpf(1) / 2 - q) * exp(t) + q)]


def _line(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [theta[0] * t]


def _insensitive(t: Real, theta: Sequence[Real]) -> list[Real]:
    (p,) = theta
    return [1 + mpf("1e20") * p * t - t]


def _initial(t: Real, theta: Sequence[Real]) -> list[Real]:
    """x' = x, y' = x − y with theta = (x(0), y(0))."""
    x0, y0 = theta
    return [x0 * exp(t), y0 * exp(-t) + x0 * sinh(t)]


def _underflow(t: Real, theta: Sequence[Real]) -> list[Real]:
    return [exp(-theta[0] * t), cos(t) + 0 * theta[0]]


def _power(t: Real, theta: Sequence[Real]) -> list[Real]:
    """y' = −y**p from 2: y**(1 − p) = 2**(1 − p) + (p − 1) t."""
    (p,) = theta
    return [(mpf(2) ** (1 - p) + (p - 1) * t) ** (1 / (1 - p))]


def _time_power(t: Real, theta: Sequence[Real]) -> list[Real]:
    (p,) = theta
    return [1 + t ** (p + 1) / (p + 1)]


def _tiny_rates(t: Real, theta: Sequence[Real]) -> list[Real]:
    a, b = theta
    return [exp(-a * b * mpf("1e36") * t)]


def _still(*state: str):
    return lambda t, theta: [mpf(value) for value in state]


def _logs(t: Real, theta: Sequence[Real]) -> list[Real]:
    """u = log y of the seed, which is never small."""
    (r,), u0 = theta, mpf(-200)
    return [-log(1 + expm1(-u0) * exp(-r * t))]


def _neutral(t: Real, theta: Sequence[Real]) -> list[Real]:
    (k,) = theta
    return [exp(-2 * k * t), exp(-2 * k * t)]


ATTACKS = [
    _seed("1e-40", ("10", "50", "92", "120")), _seed("1e-100", ("50", "230", "300")),
    _seed("1e-300", ("90", "690", "750")),
    _delayed("3"), _delayed("20"), _delayed("50"), _delayed("200"),
    _pitchfork(100), _pitchfork(1000),
    Attack("chain-of-tiny-rates", "products of rates of 1e-30 brought back by 1e60",
           {"a": "1", "b": "0", "c": "0", "d": "0"}, {"a": "0*a", "b": "1e-30*k*a", "c": "1e-30*b", "d": "1e60*c"},
           {"k": "2"}, saved=("1", "3", "10"), slow=True, solution=_chain),
    Attack("cascade-through-1e-35", "an intermediate below 1e-32 of its scale", {"a": "1", "b": "0", "c": "0"},
           {"a": "-a", "b": "1e-35*a", "c": "1e35*k*b"}, {"k": "2"}, saved=("1", "3", "10"), solution=_cascade),
    Attack("decayed-then-amplified", "a factor that falls to 1e-217 times one that grows to 1e217",
           {"y": "1", "z": "0"}, {"y": "-k*y", "z": "exp(50*t)*y - z"}, {"k": "50"}, saved=("1", "5", "10"),
           slow=True, solution=_amplified),
    Attack("revived-by-a-cosine", "down to 1e-87 and back again and again", {"y": "1"}, {"y": "-k*cos(t)*y"},
           {"k": "200"}, saved=("1.5", "3", "4.5", "6", "9"), slow=True, solution=_revived),
    Attack("extinct-species-invades", "a competitor that starts from 1e-50", {"u": "0.5", "v": "1e-50"},
           {"u": "u*(1 - u - 2*v)", "v": "v*(r - v - u/2)"}, {"r": "2"}, saved=("20", "70", "80", "100"),
           solution=followed(_extinct, ("0.5", "1e-50"), ("20", "70", "80", "100")), digits=75, formula=False),
    Attack("saddle-pushed-by-1e-40", "on the stable manifold but for a coupling of 1e-40", {"x": "0", "y": "1"},
           {"x": "k*x + 1e-40*y", "y": "-y"}, {"k": "1"}, saved=("5", "50", "95"), solution=_saddle),
    Attack("saddle-from-1e-45", "a bistable state that starts beside the ridge", {"x": "1e-45", "y": "1"},
           {"x": "k*(x - x**3)", "y": "-k*y"}, {"k": "1"}, saved=("50", "103", "120"), solution=_bistable),
    Attack("manifold-never-left", "x = 0 is invariant; the gradient by k is that of y", {"x": "0", "y": "1"},
           {"x": "x*y*(3 - x)", "y": "k*y"}, {"k": "0.5"}, saved=("1", "3", "5"), solution=_zero_manifold),
    Attack("manifold-left-by-1e-100", "a push of 1e-100 that grows by exp(240)", {"x": "0"}, {"x": "60*x + q"},
           {"q": "1e-100"}, saved=("1", "3.8", "4"), solution=_left_manifold),
    Attack("log-of-a-seed", "the logarithm of a seed, as a state", {"u": "-200"}, {"u": "r*(1 - exp(u))"}, {"r": "1"},
           saved=("50", "195", "210"), solution=_logs),
    *(Attack(f"drift-of-{q}", "a drift below the digits of 1, and a growth that sees it", {"y": "1", "x": "0"},
             {"y": "q", "x": "40*x + y - 1"}, {"q": q}, saved=("0.5", "2", "5"), solution=_drift)
      for q in ("1e-28", "1e-43", "1e-60", "1e-80")),
    Attack("drift-by-a-pulse-of-1e-26", "a faint pulse, and a growth that sees it", {"y": "1", "x": "0"},
           {"y": "k*1e-26*exp(-((t - 1.2345)/1e-3)**2)", "x": "40*x + y - 1"}, {"k": "1"}, saved=("0.5", "2", "5"),
           solution=_kicked),
    Attack("symmetry-zero", "an unstable equilibrium at zero", {"y": "0"}, {"y": "k*(y - y**3)"}, {"k": "100"},
           saved=("1", "10"), solution=_still("0")),
    Attack("symmetry-one", "an unstable equilibrium at one", {"y": "1"}, {"y": "k*(y**3 - y)"}, {"k": "20"},
           saved=("1", "10"), solution=_still("1")),
    Attack("symmetry-fraction", "an unstable equilibrium at a third", {"y": "1/3"}, {"y": "k*(3*y - 1)"}, {"k": "5"},
           saved=("1", "10"), solution=_still("0.33333333333333333333333333333333333333333333333333"), status=OUTSIDE),
    Attack("symmetry-upright-pendulum", "balanced upright to the last digit", {"a": "pi", "v": "0"},
           {"a": "v", "v": "-k*sin(a)"}, {"k": "4"}, saved=("1", "10"), status=OUTSIDE,
           solution=lambda t, theta: [+_pi(), mpf(0)]),
    Attack("symmetry-rigid-body", "spin about the unstable axis", {"a": "0", "b": "1", "c": "0"},
           {"a": "k*b*c", "b": "-2*a*c", "c": "a*b"}, {"k": "9"}, saved=("1", "20"), solution=_still("0", "1", "0")),
    Attack("symmetry-two-halves", "equal halves whose difference would grow", {"u": "1", "v": "1"},
           {"u": "30*(u - v) - 2*k*u", "v": "30*(v - u) - 2*k*v"}, {"k": "0.5"}, saved=("0.5", "1"),
           solution=_neutral),
    _trace("1e-10"), _trace("1e-20"), _trace("1e-50"), _trace("1e-150"),
    Attack("gradient-decades", "components over 80 decades", {f"y{i}": f"1e-{8 * i}" if i else "1" for i in range(6)},
           {f"y{i}": f"-k{i}*y{i}" for i in range(6)}, {f"k{i}": str(1 + i) for i in range(6)}, saved=("0.5", "1", "2"),
           solution=_decades, digits=200),
    Attack("gradient-exactly-zero", "a rate of a state that is zero", {"x": "1", "y": "0"}, {"x": "-k*x", "y": "-q*y"},
           {"k": "1", "q": "3"}, saved=("1", "3"), solution=_exact_zero),
    Attack("gradient-opposite", "two large components that cancel", {"y": "1"}, {"y": "-(a - b)*y"},
           {"a": "1e8", "b": "99999999"}, saved=("1", "3"), solution=_opposite),
    Attack("gradient-at-zero-parameter", "a parameter of value zero", {"y": "2"}, {"y": "-y + q*y**2"}, {"q": "0"},
           saved=("1", "3"), solution=_bernoulli),
    Attack("gradient-loss-zero", "the loss vanishes at its minimum", {"y": "0"}, {"y": "k"}, {"k": "1"}, saved=("1",),
           loss={"target": "1"}, solution=_line),
    Attack("gradient-loss-1e-32", "a loss of 1e-32 beside its minimum", {"y": "0"}, {"y": "k"}, {"k": "1"},
           saved=("1",), loss={"target": "1.0000000000000002"}, solution=_line),
    Attack("gradient-1e20", "a parameter of size 1e-20", {"y": "1"}, {"y": "1e20*p - 1"}, {"p": "1e-20"},
           saved=("1", "3"), solution=_insensitive),
    Attack("gradient-through-a-zero-state", "d loss / d x(0) where x is zero", {"x": "0", "y": "1"},
           {"x": "x", "y": "x - y"}, saved=("1", "5", "10"), solution=_initial),
    Attack("gradient-of-1e-868", "the rate of a state that is gone", {"y": "1", "z": "1"},
           {"y": "-k*y", "z": "-sin(t)"},
           {"k": "1"}, saved=("1000", "1010"), solution=_underflow),
    Attack("gradient-of-a-power", "a parameter in an exponent", {"y": "2"}, {"y": "-y**p"}, {"p": "2.5"},
           saved=("1", "10"), solution=_power),
    Attack("gradient-of-a-power-of-t", "a parameter in an exponent of the time", {"y": "1"}, {"y": "t**p"},
           {"p": "2.5"}, t0="0", saved=("1", "2"), solution=_time_power, status=OUTSIDE),
    Attack("gradient-of-tiny-rates", "a product of rates of 1e-18", {"y": "1"}, {"y": "-a*b*1e36*y"},
           {"a": "1e-18", "b": "1e-18"}, saved=("1", "3"), solution=_tiny_rates),
]  # fmt: skip


def _pi() -> Real:
    from mpmath import pi

    return +pi
