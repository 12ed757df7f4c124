"""Initial weights of a model, drawn from its seed: the same numbers in every framework, on every machine.

As for networks in equations (see ``problem.weights``), NumPy's frozen ``RandomState`` draws them and each is rounded to
single precision, so that all precisions start from the same bits.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from sciml_bench.record.jsonl import is_special
from sciml_bench.record.model_task import Slot
from sciml_bench.spec.initial_weights import rounded

# Numbers of double extended precision, after a header of NumPy's own limit.
_ENDING, _LARGEST_ITEM_BYTES, _HEADER_BYTES = ".npy", 16, 10_000

# Standard deviation of token and position embeddings: as in GPT-2's code.
_EMBEDDING_SD = 0.02

# Biases of 0 would put the units that see only background, whose pixels are 0, on the kink of the rectifier, where no
# two frameworks need agree about the gradient.
_BIAS_BOUND = 0.1


def drawn_weights(slots: Iterable[Slot], seed: int) -> tuple[float, ...]:
    """The flat theta: Glorot and Bengio's uniform draw for kernels, small biases, 1 for the scales of norms."""
    random = np.random.RandomState(seed)
    parts = [_drawn(slot, random) for slot in slots]
    return tuple(rounded(np.concatenate(parts)).tolist()) if parts else ()


def _drawn(slot: Slot, random: np.random.RandomState) -> np.ndarray:
    if slot.role == "scale":
        return np.ones(slot.size)
    if slot.role in ("bias", "qkv_bias"):
        return _BIAS_BOUND * (2 * random.random_sample(slot.size) - 1)
    if slot.kind in ("embedding", "positions"):
        return _EMBEDDING_SD * random.standard_normal(slot.size)
    outputs, inputs, *window = slot.shape
    # One array holds the three projections into attention, which are drawn as three.
    outputs = outputs // 3 if slot.role == "qkv_weight" else outputs
    bound = math.sqrt(6 / ((inputs + outputs) * math.prod(window)))
    return bound * (2 * random.random_sample(slot.size) - 1)


def read_weights(path: Path, slots: Iterable[Slot]) -> tuple[float, ...]:
    """The flat theta from a file of NumPy arrays (``.npz``), one for each slot, named ``layer.role``.

    Raises:
        ValueError: an array is missing, does not hold numbers, or has another shape; the message says which. Or the
            archive is damaged.
        OSError: the file cannot be read.
    """
    if is_special(path):
        raise ValueError("it is not a regular file")
    try:
        # NumPy leaves a file open that it cannot read.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            if not isinstance(arrays, np.lib.npyio.NpzFile):
                raise ValueError("it is no .npz file")
            return tuple(rounded(np.concatenate([_array(arrays, slot) for slot in slots])).tolist())
    except (EOFError, MemoryError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        # A changed byte may ask for a password or an unknown compression, which are RuntimeErrors.
        raise ValueError(f"the archive is damaged: {error}") from error


def _array(arrays: np.lib.npyio.NpzFile, slot: Slot) -> np.ndarray:
    assert arrays.zip is not None
    name = f"{slot.layer}.{slot.role}"
    try:
        # NumPy would also take a member without the ending, which could be another one.
        member = arrays.zip.getinfo(f"{name}{_ENDING}")
    except KeyError:
        raise ValueError(f"it has no array '{name}' of shape {slot.shape}") from None
    if member.file_size > _LARGEST_ITEM_BYTES * slot.size + _HEADER_BYTES:
        raise ValueError(f"the array '{name}' unpacks to {member.file_size} bytes, too many for shape {slot.shape}")
    shape, dtype = _header(arrays, name)
    if dtype.kind not in "fiu":
        raise ValueError(f"the array '{name}' is of type {dtype}, not one of numbers")
    if shape != slot.shape:
        raise ValueError(f"the array '{name}' has shape {shape}, the model needs {slot.shape}")
    array = arrays[f"{name}{_ENDING}"]
    with np.errstate(over="ignore"):
        fits = np.all(np.isfinite(array.astype(np.float32)))
    if not fits:
        raise ValueError(f"the array '{name}' holds values that are not finite in single precision")
    return array.astype(np.float64).reshape(-1)


def _header(arrays: np.lib.npyio.NpzFile, name: str) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type of an array as the file says: a small file may say that it holds gigabytes."""
    assert arrays.zip is not None
    with arrays.zip.open(f"{name}{_ENDING}") as file:
        version = np.lib.format.read_magic(file)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if read_header is None:
            raise ValueError(f"the array '{name}' is in a format that is not known")
        shape, _, dtype = read_header(file)
    return shape, dtype
