"""Many comparisons at once: probabilities adjusted so that a share of the discoveries, not each test, is controlled."""

from __future__ import annotations

from collections.abc import Sequence


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
    for p in probabilities:
        if not 0 <= p <= 1:
            raise ValueError(f"probabilities lie between 0 and 1, got {p!r}")
    falling = sorted(range(len(probabilities)), key=lambda place: -probabilities[place])
    result = [1.0] * len(probabilities)
    least = 1.0
    for rank, place in zip(range(len(falling), 0, -1), falling, strict=True):
        least = min(least, probabilities[place] * (len(falling) / rank))
        result[place] = least
    return tuple(result)
