"""The problems' numbers: times at which states are saved, initial states, and what the experts' tolerances go by."""

from __future__ import annotations

import numpy as np

ROBERTSON_TIMES = np.array([1e-2, 0.1, 0.4, 1.0, 4.0, 10.0, 40.0, 100.0, 400.0, 1e3, 4e3, 1e4, 4e4, 1e5])
ROBERTSON_START = np.array([1.0, 0.0, 0.0])
ROBERTSON_SIZES = np.array([1.0, 1e-5, 1.0])
"""Typical sizes of the species, by which the loss divides."""
ROBERTSON_RATES = np.array([0.04, 3e7, 1e4])

HIRES_TIMES = np.array([0.01, 0.1, 0.3, 1, 2, 5, 10, 20, 40, 80, 120, 160, 200, 240, 280, 321.8122])
HIRES_START = np.array([1.0, 0, 0, 0, 0, 0, 0, 0.0057])
HIRES_SIZES = np.array([0.1, 0.01, 0.01, 0.1, 0.1, 0.1, 5e-3, 5e-3])
HIRES_RATES = np.array([1.71, 0.43, 8.32, 0.69, 0.035, 8.32, 280.0, 0.69, 0.69, 0.0007])
"""k1 to k6, kplus, kminus, kstar, oks."""

RING = 40
BRUSSELATOR_TIMES = np.linspace(0.5, 10.0, 20)
BRUSSELATOR_START = np.concatenate([1 + np.sin(2 * np.pi * np.linspace(0.0, 1.0, RING)), np.full(RING, 3.0)])
BRUSSELATOR_RATES = np.array([1.0, 3.0, 0.02])
"""A, B, alpha."""

LOTKA_VOLTERRA_TIMES = np.linspace(0.5, 10.0, 20)
LOTKA_VOLTERRA_START = np.array([1.0, 1.0])
LOTKA_VOLTERRA_RATES = np.array([1.5, 1.0, 3.0, 1.0])

SPIRAL_TIMES = np.linspace(0.05, 1.5, 30)
SPIRAL_START = np.array([2.0, 0.0])
HIDDEN = 50


def spiral_data() -> np.ndarray:
    """What the spiral's network is trained to, (30, 2): data, so read from the catalog."""
    from sciml_bench.spec import catalog

    return np.array(catalog.load("spiral-node").loss.data)


def spiral_layers(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Weight (50, 2), bias (50,), weight (2, 50) and bias (2,) of the flat 252 weights."""
    ends = np.cumsum([2 * HIDDEN, HIDDEN, 2 * HIDDEN])
    first, bias, second, shift = np.split(weights, ends)
    return first.reshape(HIDDEN, 2), bias, second.reshape(2, HIDDEN), shift
