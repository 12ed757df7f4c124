"""Many comparisons at once: probabilities adjusted so that a share of the discoveries, not each test, is controlled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def adjusted(probabilities: Sequence[float]) -> tuple[float, ...]:
    """Benjamini–Hochberg adjusted p, in the order given.

    Calling those below ``level`` discoveries keeps the expected share of false ones among them below ``level``
    (Benjamini & Hochberg 1995, J. R. Stat. Soc. B 57, 289–300, §3.1), also where tests depend on each other
    positively, as cells measured in the same blocks do (Benjamini & Yekutieli 2001, Annals of Statistics 29,
    1165–1188). The same as ``scipy.stats.false_discovery_control``, which a test holds, without its import of one
    second.

    Raises:
        ValueError: a probability is not within 0 … 1.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError(f"probabilities lie between 0 and 1, got {min(probabilities)!r} to {max(probabilities)!r}")
    falling = np.argsort(-p, kind="stable")
    scaled = p[falling] * (p.size / np.arange(p.size, 0, -1))
    result = np.empty_like(p)
    result[falling] = np.minimum(np.minimum.accumulate(scaled), 1)
    return tuple(result.tolist())
