"""The device of a cell in JAX: choose it, and read its memory."""

from __future__ import annotations

from typing import Any

import jax

from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import TF32, Cell


def device_of(cell: Cell) -> Any:
    """The device of a cell, the first that JAX sees: products in single precision use TF32 in cells of TF32 only.

    Raises:
        SolverFailure: JAX does not see the device.
    """
    try:
        device: Any = jax.devices("gpu" if cell.device == "gpu" else "cpu")[0]
    except RuntimeError as error:
        reason = f'JAX sees no GPU here: {str(error).splitlines()[0]}; for NVIDIA: pip install "jax[cuda12]"'
        raise SolverFailure(Outcome.UNSUPPORTED, reason) from error
    if device != jax.devices()[0]:
        jax.config.update("jax_default_device", device)
    if cell.device == "gpu":
        # By default XLA rounds the factors of products and convolutions to TF32.
        precision = "tensorfloat32" if cell.precision == TF32 else "highest"
        jax.config.update("jax_default_matmul_precision", precision)
    return device


def peak_bytes(device: Any) -> int | None:
    """The most memory that arrays have held on the device; ``None`` if it does not count."""
    counted: dict[str, int] = device.memory_stats() or {}
    return counted.get("peak_bytes_in_use")
