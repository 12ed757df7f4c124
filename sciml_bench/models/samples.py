"""The samples of a data set as arrays: read in a worker, so with NumPy and the standard library alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sciml_bench.record.model_task import DataSet


@dataclass(frozen=True)
class Samples:
    """All samples, neutral: images (n, channels, height, width) in float64, or tokens (n, positions) in int64.

    ``labels`` are (n,), or (n, positions) for text, whole numbers. ``train`` and ``held_out`` are row numbers.
    """

    inputs: np.ndarray
    labels: np.ndarray
    train: np.ndarray
    held_out: np.ndarray

    def batches(self, size: int, seed: int) -> Iterator[np.ndarray]:
        """Endless row numbers (size,) of the training part: without replacement in an epoch, whose rest is left out."""
        random = np.random.RandomState(seed)
        while True:
            order = self.train[random.permutation(len(self.train))]
            for start in range(0, len(order) - size + 1, size):
                yield order[start : start + size]


def load_samples(data: DataSet) -> Samples:
    """Read or make the samples of a data set, and split them.

    The split is a permutation by the seed: the first part is trained on, the last ``held_out`` samples are not. Of
    text, whose order means something, the end is held out.

    Raises:
        ValueError: the file has other bytes than the data set says.
        OSError: it cannot be read.
    """
    inputs, labels = {"images": _images, "text": _text, "synthetic": _synthetic}[data.kind](data)
    order = np.arange(len(inputs))
    if data.kind == "images":
        order = np.random.RandomState(data.seed).permutation(len(inputs))
    cut = len(inputs) - data.held_out
    return Samples(inputs, labels, order[:cut], order[cut:])


def _bytes(data: DataSet) -> bytes:
    content = Path(data.path).read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != data.sha256:
        raise ValueError(f"{data.path} has SHA-256 {found}, the data set '{data.name}' has {data.sha256}")
    return content


def _images(data: DataSet) -> tuple[np.ndarray, np.ndarray]:
    """Rows of ``label,p0,p1,…``; values are divided by the scale, then rounded to single precision."""
    table = np.loadtxt(_bytes(data).decode().splitlines(), delimiter=",", skiprows=1, dtype=np.int64)
    pixels = (table[:, 1:] / data.scale).astype(np.float32).astype(np.float64)
    return pixels.reshape(len(table), *data.input_shape), table[:, 0]


def _text(data: DataSet) -> tuple[np.ndarray, np.ndarray]:
    """Samples that do not overlap: ``positions`` characters, and as labels the same moved on by one.

    A character is its index among the characters of the text, in the order of their codes.
    """
    codes = np.frombuffer(_bytes(data), dtype=np.uint8)
    characters = np.unique(codes)
    places = np.searchsorted(characters, codes).astype(np.int64)
    (positions,) = data.input_shape
    count = (len(places) - 1) // positions
    used = count * positions
    return places[:used].reshape(count, positions), places[1 : used + 1].reshape(count, positions)


def _synthetic(data: DataSet) -> tuple[np.ndarray, np.ndarray]:
    """Standard normal numbers rounded to single precision, and labels drawn evenly."""
    random = np.random.RandomState(data.seed)
    values = random.standard_normal((data.size, *data.input_shape)).astype(np.float32).astype(np.float64)
    return values, random.randint(0, max(1, data.classes), data.size)
