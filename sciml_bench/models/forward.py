"""A model's output and loss in NumPy's extended precision: written from the layers' definitions, with no framework.

Slow and plain on purpose. Every function takes a batch first: images (n, channels, height, width), tokens
(n, positions, width).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from sciml_bench.models.error_function import erf
from sciml_bench.models.layer import EPSILON, Layer, walk
from sciml_bench.models.model import Model

Array = np.ndarray
EXTENDED = np.longdouble


def outputs(model: Model, theta: Array, inputs: Array) -> Array:
    """The model's outputs (n, …) for weights ``theta`` (n_weights,), in the precision of ``theta``."""
    weights = _by_slot(model, theta)
    return _chain(model.layers, weights, inputs if inputs.dtype.kind == "i" else inputs.astype(theta.dtype))


def losses(kind: str, found: Array, labels: Array) -> Array:
    """The loss of each sample, (n,): its mean over positions or components."""
    if kind == "mean_square":
        return (found.reshape(len(found), -1) ** 2).mean(axis=1)
    largest = found.max(axis=-1, keepdims=True)
    normaliser = np.log(np.exp(found - largest).sum(axis=-1)) + largest[..., 0]
    of_labels = np.take_along_axis(found, labels[..., None], axis=-1)[..., 0]
    return (normaliser - of_labels).reshape(len(found), -1).mean(axis=1)


def _by_slot(model: Model, theta: Array) -> dict[tuple[str, str], Array]:
    found: dict[tuple[str, str], Array] = {}
    start = 0
    for layer in walk(model.layers):
        for slot in layer.slots:
            found[slot.layer, slot.role] = theta[start : start + slot.size].reshape(slot.shape)
            start += slot.size
    return found


def _chain(layers: tuple[Layer, ...], weights: Mapping[tuple[str, str], Array], x: Array) -> Array:
    for layer in layers:
        x = _apply(layer, weights, x)
    return x


def _apply(layer: Layer, weights: Mapping[tuple[str, str], Array], x: Array) -> Array:
    def weight(role: str) -> Array:
        return weights[layer.name, role]

    numbers = layer.numbers
    match layer.kind:
        case "conv2d":
            return _conv2d(x, weight("weight"), weight("bias"), numbers["stride"], numbers["padding"])
        case "dense":
            return x @ weight("weight").T + weight("bias")
        case "embedding":
            return weight("weight")[x]
        case "positions":
            return x + weight("weight")
        case "group_norm":
            grouped = x.reshape(len(x), numbers["groups"], -1)
            normal = _normal(grouped, -1).reshape(x.shape)
            return normal * weight("scale")[:, None, None] + weight("bias")[:, None, None]
        case "layer_norm":
            return _normal(x, -1) * weight("scale") + weight("bias")
        case "relu":
            return np.maximum(x, 0)
        case "gelu":
            return x * (1 + erf(x / np.sqrt(x.dtype.type(2)))) / 2
        case "tanh":
            return np.tanh(x)
        case "max_pool":
            return _windows(x, numbers["size"]).max(axis=(3, 5))
        case "mean_pool":
            return _windows(x, numbers["size"]).mean(axis=(3, 5))
        case "mean":
            return x.mean(axis=(2, 3)) if x.ndim == 4 else x.mean(axis=1)
        case "flatten":
            return x.reshape(len(x), -1)
        case "tokens":
            return x.reshape(*x.shape[:2], -1).swapaxes(1, 2)
        case "attention":
            return _attention(x, weight, numbers["heads"], bool(numbers["causal"]))
        case "residual":
            return _chain(layer.shortcut, weights, x) + _chain(layer.body, weights, x)
    raise ValueError(f"unknown kind of layer '{layer.kind}'")


def _conv2d(x: Array, kernel: Array, bias: Array, stride: int, padding: int) -> Array:
    """Cross-correlation, as every framework's convolution is."""
    size = kernel.shape[-1]
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(2, 3))[:, :, ::stride, ::stride]
    n, _, height, width = windows.shape[:4]
    columns = windows.transpose(0, 2, 3, 1, 4, 5).reshape(n * height * width, -1)
    found = columns @ kernel.reshape(len(kernel), -1).T + bias
    return found.reshape(n, height, width, -1).transpose(0, 3, 1, 2)


def _windows(x: Array, size: int) -> Array:
    n, channels, height, width = x.shape
    return x.reshape(n, channels, height // size, size, width // size, size)


def _normal(x: Array, axis: int) -> Array:
    centred = x - x.mean(axis=axis, keepdims=True)
    variance = (centred**2).mean(axis=axis, keepdims=True)
    return centred / np.sqrt(variance + np.real(x).dtype.type(str(EPSILON)))


def _attention(x: Array, weight: Callable[[str], Array], heads: int, causal: bool) -> Array:
    n, positions, width = x.shape
    projected = x @ weight("qkv_weight").T + weight("qkv_bias")
    q, k, v = projected.reshape(n, positions, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
    scores = q @ k.swapaxes(2, 3) / np.sqrt(x.dtype.type(width // heads))
    if causal:
        scores = np.where(np.tri(positions, dtype=bool), scores, -np.inf)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares = shares / shares.sum(axis=-1, keepdims=True)
    together = (shares @ v).transpose(0, 2, 1, 3).reshape(n, positions, width)
    return together @ weight("weight").T + weight("bias")
