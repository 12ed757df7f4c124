"""The numbers of the neural problems that are written by hand: initial states, weights layer by layer, data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

RTOL = 1e-6


class Numbers(NamedTuple):
    """Where a problem starts, and the sizes of its layers."""

    name: str
    y0: tuple[float, ...]
    sizes: tuple[int, ...]


SPIRAL = Numbers("spiral-node", (2.0, 0.0), (2, 50, 2))
SMALL = Numbers("small-node", (1.764, 0.4, 0.979, 2.241), (4, 32, 4))


def spiral_data() -> tuple[list[np.ndarray], np.ndarray]:
    """Weight and bias of each layer, and the data, (30, 2)."""
    from sciml_bench.spec import catalog

    return _weights(SPIRAL), np.array(catalog.load(SPIRAL.name).loss.data)


def small_data() -> list[np.ndarray]:
    """Weight and bias of each layer."""
    return _weights(SMALL)


def _weights(numbers: Numbers) -> list[np.ndarray]:
    from sciml_bench.spec import catalog

    flat, parts = np.array(catalog.load(numbers.name).networks[0].weights), []
    for inputs, outputs in zip(numbers.sizes, numbers.sizes[1:], strict=False):
        weight, bias, flat = np.split(flat, [inputs * outputs, (inputs + 1) * outputs])
        parts += [weight.reshape(outputs, inputs), bias]
    return parts
