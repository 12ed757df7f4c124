"""Times with the noise of the published simulation: 2 % between processes, 1 % within, 5 % of iterations disturbed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def times(
    random: np.random.Generator,
    trials: int,
    processes: int,
    iterations: int = 20,
    between: float = 0.02,
    within: float = 0.01,
    disturbed: float = 0.05,
) -> Floats:
    """Times around 1 (trials × processes × iterations); a disturbed iteration takes longer by 20 % on average."""
    logs = random.normal(0, between, (trials, processes, 1)) + random.normal(0, within, (trials, processes, iterations))
    late = random.random(logs.shape) < disturbed
    return np.exp(logs) * np.where(late, 1 + random.exponential(0.2, logs.shape), 1)


def process_medians(random: np.random.Generator, trials: int, processes: int, **noise: float) -> Floats:
    """Per-process medians (trials × processes) of such times."""
    return np.median(times(random, trials, processes, **noise), axis=2)  # type: ignore[arg-type]
