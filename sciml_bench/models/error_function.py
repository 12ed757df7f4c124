"""The error function in extended precision, which NumPy and SciPy have in double precision only."""

from __future__ import annotations

import numpy as np

# erfc(6.7) is 2.7e-21: below the last bit of 1 in extended precision.
_LARGEST = 6.7

_TERMS = 200


def erf(x: np.ndarray) -> np.ndarray:
    """erf(x), in the precision of x, by 2/sqrt(pi) exp(-x²) sum of 2^n x^(2n+1) / (1·3·…·(2n+1)).

    All terms have one sign, so nothing cancels (Abramowitz and Stegun 7.1.6).
    """
    z = np.clip(x, -_LARGEST, _LARGEST)
    squared = z * z
    term, total = z.copy(), z.copy()
    for n in range(1, _TERMS):
        term = term * (2 * squared / (2 * n + 1))
        total += term
        if not np.any(np.abs(term) > np.finfo(x.dtype).eps * np.abs(total) / 4):
            break
    pi = np.real(x).dtype.type("3.141592653589793238462643383279502884")
    return 2 / np.sqrt(pi) * np.exp(-squared) * total
