"""The device of a cell in PyTorch: choose it, wait for it, and read its memory."""

from __future__ import annotations

from collections.abc import Callable

import torch

from sciml_bench.adapters.program import Program
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import TF32, Cell


class OnDevice(Program):
    """A program whose tensors lie on ``device``. On a CPU PyTorch computes before it returns; on a GPU it queues."""

    device: torch.device

    def await_inputs(self, inputs: object) -> None:
        synchronise(self.device)

    def synchronise(self, output: object) -> None:
        synchronise(self.device)

    _earlier_peak_bytes = 0

    def peak_device_bytes(self) -> int | None:
        if self.device.type != "cuda":
            return None
        return max(self._earlier_peak_bytes, torch.cuda.max_memory_allocated(self.device))

    def working_device_bytes(self, call: Callable[[], object]) -> int | None:
        self._earlier_peak_bytes = self.peak_device_bytes() or 0
        torch.cuda.reset_peak_memory_stats(self.device)
        before = torch.cuda.memory_allocated(self.device)
        call()
        return torch.cuda.max_memory_allocated(self.device) - before


def device_of(cell: Cell) -> torch.device:
    """The device of a cell, ready for its precision: products in single precision use TF32 in cells of TF32 only.

    Raises:
        SolverFailure: the framework sees no GPU.
    """
    if cell.device != "gpu":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        reason = "PyTorch sees no GPU here; its CUDA build and a driver are needed (https://pytorch.org)"
        raise SolverFailure(Outcome.UNSUPPORTED, reason)
    # By default products of matrices are exact, and convolutions are not.
    tf32 = cell.precision == TF32
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    torch.backends.cudnn.allow_tf32 = tf32
    return torch.device("cuda")


def synchronise(device: torch.device) -> None:
    """Block until everything that was queued on the device is computed."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def versions(device: torch.device) -> dict[str, str]:
    """The device by its name, and the CUDA that PyTorch was built with."""
    if device.type != "cuda":
        return {"torch_device": "cpu"}
    return {"torch_device": torch.cuda.get_device_name(device), "torch_cuda": str(torch.version.cuda)}
