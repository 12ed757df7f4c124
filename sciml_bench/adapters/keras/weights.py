"""The one place where weights change their layout: from the neutral one to Keras's, and gradients back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np

from sciml_bench.record.model_task import Slot


def to_keras(slots: Sequence[Slot], theta: np.ndarray) -> Iterator[tuple[str, list[np.ndarray]]]:
    """The name of each layer with weights, and its arrays in the order of Keras's ``layer.weights``."""
    start = 0
    for name, group in groupby(slots, key=lambda slot: slot.layer):
        members, arrays = list(group), []
        for slot in members:
            arrays.append(theta[start : start + slot.size].reshape(slot.shape))
            start += slot.size
        yield name, _keras_arrays(members, arrays)


def from_keras(slots: Sequence[Slot], arrays: Iterable[np.ndarray]) -> np.ndarray:
    """The flat theta from the arrays of all layers, one after the other."""
    remaining, parts = iter(arrays), []
    for _, group in groupby(slots, key=lambda slot: slot.layer):
        members = list(group)
        if members[0].kind == "attention":
            parts += _neutral_attention([next(remaining) for _ in range(8)])
        else:
            parts += [_neutral(slot, next(remaining)) for slot in members]
    return np.concatenate([part.reshape(-1) for part in parts])


def _keras_arrays(slots: Sequence[Slot], arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    if slots[0].kind == "attention":
        return _keras_attention(slots[0].heads, arrays)
    return [_keras(slot, array) for slot, array in zip(slots, arrays, strict=True)]


def _keras(slot: Slot, array: np.ndarray) -> np.ndarray:
    if slot.role != "weight" or slot.kind in ("embedding", "positions"):
        return array
    if slot.kind == "conv2d":
        return array.transpose(2, 3, 1, 0)
    if slot.flattened:
        array = array.reshape(-1, *slot.flattened).transpose(0, 2, 3, 1).reshape(len(array), -1)
    return array.T


def _neutral(slot: Slot, array: np.ndarray) -> np.ndarray:
    if slot.role != "weight" or slot.kind in ("embedding", "positions"):
        return array
    if slot.kind == "conv2d":
        return array.transpose(3, 2, 0, 1)
    array = array.T
    if slot.flattened:
        channels, height, width = slot.flattened
        array = array.reshape(-1, height, width, channels).transpose(0, 3, 1, 2).reshape(len(array), -1)
    return array


def _keras_attention(heads: int, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Kernel (width, heads, width/heads) and bias of query, key and value, then of the output."""
    qkv, qkv_bias, project, bias = arrays
    width = len(project)
    found: list[np.ndarray] = []
    for weight, its_bias in zip(np.split(qkv, 3), np.split(qkv_bias, 3), strict=True):
        found += [weight.T.reshape(width, heads, -1), its_bias.reshape(heads, -1)]
    return [*found, project.T.reshape(heads, -1, width), bias]


def _neutral_attention(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    *projections, project, bias = arrays
    width = len(bias)
    qkv = np.concatenate([kernel.reshape(width, width).T for kernel in projections[0::2]])
    qkv_bias = np.concatenate([its_bias.reshape(-1) for its_bias in projections[1::2]])
    return [qkv, qkv_bias, project.reshape(width, width).T, bias]
