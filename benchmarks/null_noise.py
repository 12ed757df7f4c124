"""Noise of cells that are all the same: the logarithm of a process's time, along the blocks of a run."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Noise = Callable[[np.random.Generator, tuple[int, ...]], Floats]
"""Draws log factors; the last axis goes over the blocks."""


def gauss(sd: float) -> Noise:
    """Log-normal times."""
    return lambda random, shape: random.normal(0, sd, shape)


def heavy(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Student's t with 2 degrees of freedom, which has no variance: now and then a process takes far longer."""
    return 0.03 * random.standard_t(2, shape)


def bimodal(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Every process is one of two kinds, 15 % apart, as by the layout of its memory."""
    return 0.15 * random.integers(0, 2, shape) + random.normal(0, 0.01, shape)


def skewed(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """One process in ten is disturbed, by a factor of up to two."""
    return np.where(random.random(shape) < 0.1, random.uniform(0, math.log(2), shape), 0) + random.normal(
        0, 0.02, shape
    )


def autoregression(coefficient: float, sd: float = 0.06) -> Noise:
    """Neighbouring blocks are alike, in each cell by itself."""

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        found = random.normal(0, sd, shape)
        for place in range(1, shape[-1]):
            found[..., place] *= math.sqrt(1 - coefficient**2)
            found[..., place] += coefficient * found[..., place - 1]
        return found

    return draw


def switching(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """The machine changes once: from a block on each cell takes 6 % more or less, and noise is 2 %."""
    change = random.normal(0, 0.06, (*shape[:-1], 1))
    after = np.arange(shape[-1]) >= random.integers(1, shape[-1])
    return change * after + random.normal(0, 0.02, shape)


def waving(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Each cell goes up and down by 10 % over 12 blocks, and noise is 2 %."""
    phase = random.uniform(0, 2 * math.pi, (*shape[:-1], 1))
    return 0.1 * np.sin(phase + 2 * math.pi * np.arange(shape[-1]) / 12) + random.normal(0, 0.02, shape)


def drifting(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Each cell drifts by some 5 % over the run, to either side of its middle, and noise is 2 %."""
    slope = random.normal(0, 0.05, (*shape[:-1], 1))
    return slope * np.linspace(-0.5, 0.5, shape[-1]) + random.normal(0, 0.02, shape)


def wandering(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """A random walk of 3 % a block in each cell by itself."""
    return np.cumsum(random.normal(0, 0.03, shape), axis=-1)


def centred(noise: Noise) -> Noise:
    """The same without what it shifts the run's average by: no cell takes longer than another in this run."""

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        found = noise(random, shape)
        # As much scatter of the average as independent blocks have.
        own = np.std(found, axis=-1, keepdims=True) / math.sqrt(shape[-1])
        return found - found.mean(axis=-1, keepdims=True) + own * random.normal(0, 1, (*shape[:-1], 1))

    return draw


NULLS: dict[str, Noise] = {
    "Gauss 6 %": gauss(0.06),
    "Gauss 20 %": gauss(0.20),
    "heavy tails": heavy,
    "bimodal": bimodal,
    "AR(1) 0.5": autoregression(0.5),
    "AR(1) 0.9": autoregression(0.9),
}

# Not asked for: what else might fool it.
ATTACKS: dict[str, Noise] = {
    "AR(1) 0.5, 20 %": autoregression(0.5, 0.2),
    "AR(1) 0.9, 20 %": autoregression(0.9, 0.2),
    "AR(1) -0.5": autoregression(-0.5),
    "AR(1) 0.7": autoregression(0.7),
    "random walk, centred": centred(wandering),
    "disturbed": skewed,
    "switches once, centred": centred(switching),
    "slow wave": waving,
    "drift": drifting,
}


RUN_ALONE: dict[str, Noise] = {"random walk": wandering, "switches once": switching}
"""Not alike in their own run: verdicts are about it, and the differences would be others in another."""
