"""Directions in the space of a model's weights, along which gradients are checked; the same wherever they are drawn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

N_DIRECTIONS = 8


def directions(size: int, seed: int) -> Iterator[np.ndarray]:
    """Eight directions (size,), standard normal, rounded to single precision."""
    random = np.random.RandomState(seed)
    for _ in range(N_DIRECTIONS):
        yield random.standard_normal(size).astype(np.float32).astype(np.float64)
