"""Initial weights of networks, drawn from a seed in a way that gives the same numbers everywhere."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sciml_bench.spec.network import Layer


@dataclass(frozen=True)
class Draw:
    """A distribution of numbers. ``size`` is the standard deviation of ``normal`` and the bound of ``uniform``.

    ``fan_in_uniform`` has the bound 1/sqrt(inputs), the default of PyTorch's and Equinox's layers, ``glorot_uniform``
    sqrt(6/(inputs + outputs)) (Glorot and Bengio 2010), the default of Keras and Lux.
    """

    kind: str
    size: float = 1.0

    def numbers(self, random: np.random.RandomState, count: int, layer: Layer) -> np.ndarray:
        """Draw ``count`` numbers for a layer."""
        if self.kind == "zeros":
            return np.zeros(count)
        if self.kind == "normal":
            return self.size * random.standard_normal(count)
        bound = {
            "uniform": self.size,
            "fan_in_uniform": 1 / math.sqrt(layer.inputs),
            "glorot_uniform": math.sqrt(6 / (layer.inputs + layer.outputs)),
        }[self.kind]
        return bound * (2 * random.random_sample(count) - 1)


def draw_weights(layers: Iterable[Layer], weights: Draw, biases: Draw, seed: int) -> tuple[float, ...]:
    """The flat weights of a network: layer by layer W in C order, then b."""
    random = np.random.RandomState(seed)
    parts: list[np.ndarray] = []
    for layer in layers:
        parts.append(weights.numbers(random, layer.outputs * layer.inputs, layer))
        parts.append(biases.numbers(random, layer.outputs, layer))
    return tuple(rounded(np.concatenate(parts)).tolist())


def rounded(values: np.ndarray) -> np.ndarray:
    """The nearest numbers of single precision, as doubles."""
    return values.astype(np.float32).astype(np.float64)


def hash_of(weights: tuple[float, ...]) -> str:
    """SHA-256 of the weights as little-endian doubles, in hexadecimal."""
    return hashlib.sha256(np.asarray(weights, dtype="<f8").tobytes()).hexdigest()
