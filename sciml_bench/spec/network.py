"""Networks of the neutral spec: dense layers with their weights, as plain numbers."""

from __future__ import annotations

from dataclasses import dataclass

ACTIVATIONS = (
    "identity", "tanh", "sigmoid", "relu", "elu", "softplus", "silu", "gelu_tanh", "rbf", "sin",
)  # fmt: skip
"""``gelu_tanh`` is the approximation of GELU by a hyperbolic tangent (Hendrycks and Gimpel 2016); ``rbf`` is
exp(-x²); ``silu`` is x times its sigmoid."""

DRAWS = ("zeros", "normal", "uniform", "fan_in_uniform", "glorot_uniform")
"""Distributions of initial weights, see ``weights``."""


@dataclass(frozen=True)
class Layer:
    """One dense layer: ``activation(W x + b)`` with W of shape (outputs, inputs)."""

    inputs: int
    outputs: int
    activation: str

    @property
    def size(self) -> int:
        """Number of weights, including the bias."""
        return self.outputs * (self.inputs + 1)


@dataclass(frozen=True)
class Network:
    """A chain of dense layers, used in equations as a function.

    ``weights`` is flat: layer by layer W in C order, then b. Each is exactly representable in single precision, so
    that every framework, machine and precision starts from the same numbers bit for bit; ``sha256`` is the hash
    of their little-endian doubles. A ``pointwise`` network has one output and is applied to every element of its
    arguments, one input each.

    A ``recurrent`` network (``forward`` or ``reverse``: the order in which it takes the times of a series) has one
    layer, of the inputs at one time followed by its own last outputs, which begin as zeros (J. L. Elman, Finding
    structure in time, 1990): h <- activation(W [x, h] + b). Its value is the h that it ends with.
    """

    name: str
    layers: tuple[Layer, ...]
    weights: tuple[float, ...]
    sha256: str
    pointwise: bool = False
    recurrent: str = ""

    @property
    def inputs(self) -> int:
        """Number of inputs; of a recurrent network those at one time."""
        return self.layers[0].inputs - (self.outputs if self.recurrent else 0)

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return self.layers[-1].outputs

    @property
    def blocks(self) -> list[tuple[str, int]]:
        """Name and number of weights of each kernel and bias, in the order of the weights."""
        return [
            block
            for number, layer in enumerate(self.layers, start=1)
            for block in (
                (f"{self.name}.weight{number}", layer.outputs * layer.inputs),
                (f"{self.name}.bias{number}", layer.outputs),
            )
        ]

    @property
    def labels(self) -> list[str]:
        """A label for each weight: ``f.weight1[i,j]``, ``f.bias1[i]``; layers are counted from 1."""
        return [
            label
            for number, layer in enumerate(self.layers, start=1)
            for label in (
                *(f"{self.name}.weight{number}[{i},{j}]" for i in range(layer.outputs) for j in range(layer.inputs)),
                *(f"{self.name}.bias{number}[{i}]" for i in range(layer.outputs)),
            )
        ]
