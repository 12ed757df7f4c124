"""Student's t, without SciPy: importing ``scipy.special`` costs a third of a second, more than a whole `show`.

The tail is a regularised incomplete beta function, by its continued fraction (NIST Digital Library of Mathematical
Functions, §8.17.22) summed with the modified Lentz algorithm (Press et al., *Numerical Recipes*, 3rd ed., §5.2 and
§6.4). A test holds it to SciPy's.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

# From here on a transformed normal tail is as good, and the fraction would converge slowly.
_MANY_DF = 1e6
# In place of a denominator of exactly zero.
_TINY = 1e-300
_TERMS = 10_000


def two_sided_p(t: float, df: float) -> float:
    """P(|T| ≥ |t|) for Student's t with ``df`` degrees of freedom (need not be whole).

    Raises:
        ValueError: ``df`` is not positive, or ``t`` is not a number.
    """
    if not df > 0 or math.isnan(t):
        raise ValueError(f"Student's t needs a number and positive degrees of freedom, got t = {t!r}, df = {df!r}")
    square = t * t
    if math.isinf(square):
        return 0.0
    if df >= _MANY_DF:  # Abramowitz & Stegun 26.7.8
        return math.erfc(abs(t) * (1 - 1 / (4 * df)) / math.sqrt(2 + square / df))
    return _tail(df / 2, df / (df + square), square / (df + square))


@lru_cache(maxsize=65536)
def critical_t(confidence: float, df: float) -> float:
    """The t with P(|T| ≤ t) = ``confidence``: half the width of an interval in standard errors.

    Raises:
        ValueError: ``confidence`` is not between 0 and 1, or ``df`` is not positive.
    """
    check_confidence(confidence)
    outside = 1 - confidence
    z = NormalDist().inv_cdf(1 - outside / 2)
    # Abramowitz & Stegun 26.7.5, cut short, lies before the root, and the tail is convex: Newton never overshoots.
    t = z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df * df) if df >= 3 else z
    for _ in range(200):
        excess = two_sided_p(t, df) - outside
        step = excess / (2 * _density(t, df))
        t += step
        if abs(step) <= 1e-14 * t:
            break
    return t


def check_confidence(confidence: float) -> None:
    """Refuse numbers that are not strictly between 0 and 1.

    Raises:
        ValueError: it is not.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, such as 0.95, got {confidence!r}")


def _density(t: float, df: float) -> float:
    return math.exp(_log_half_step(df / 2) - (df + 1) / 2 * math.log1p(t * t / df)) / math.sqrt(df * math.pi)


def _log_half_step(a: float) -> float:
    """log Γ(a + 1/2) − log Γ(a); by its asymptotic series where the difference of the two would lose digits."""
    if a < 40:
        return math.lgamma(a + 0.5) - math.lgamma(a)
    return math.log(a) / 2 - 1 / (8 * a) + 1 / (192 * a**3) - 1 / (640 * a**5)


def _tail(a: float, x: float, rest: float) -> float:
    """I_x(a, 1/2), with ``rest`` = 1 − x given apart so that neither end loses digits."""
    if x <= 0 or rest <= 0:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(_log_half_step(a) + a * _log(x, rest)) * math.sqrt(rest / math.pi)
    # The fraction converges quickly on one side of the mean; on the other the complement is taken.
    if x < (a + 1) / (a + 2.5):
        return front * _fraction(a, 0.5, x) / a
    return 1 - 2 * front * _fraction(0.5, a, rest)


def _log(x: float, rest: float) -> float:
    return math.log(x) if x < 0.5 else math.log1p(-rest)


def _fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or _TINY)
    value = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / ((1 + even * d) or _TINY)
        c = (1 + even / c) or _TINY
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / ((1 + odd * d) or _TINY)
        c = (1 + odd / c) or _TINY
        factor = d * c
        value *= factor
        if abs(factor - 1) < 1e-15:
            return value
    raise ArithmeticError(f"the incomplete beta function did not converge at a = {a!r}, b = {b!r}, x = {x!r}")
