"""The device of a cell in TensorFlow: choose it, wait for it, and read its memory."""

from __future__ import annotations

import tensorflow as tf

from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import TF32, Cell

GPU = "/GPU:0"


def device_of(cell: Cell) -> str:
    """The name of a cell's device: products in single precision use TF32 in cells of TF32 only.

    Raises:
        SolverFailure: the framework sees no GPU.
    """
    if cell.device != "gpu":
        return "/CPU:0"
    if not tf.config.list_physical_devices("GPU"):
        reason = 'TensorFlow sees no GPU here; for NVIDIA: pip install "tensorflow[and-cuda]"'
        raise SolverFailure(Outcome.UNSUPPORTED, reason)
    tf.config.experimental.enable_tensor_float_32_execution(cell.precision == TF32)
    return GPU


def synchronise(device: str) -> None:
    """Block until everything that was queued on a GPU is computed."""
    if device == GPU:
        tf.test.experimental.sync_devices()


def peak_bytes(device: str) -> int | None:
    """The most memory that tensors have held on a GPU; ``None`` on a CPU."""
    return int(tf.config.experimental.get_memory_info("GPU:0")["peak"]) if device == GPU else None
