"""Worker side of the adapter of PyTorch: an ``nn.Module``, eager or by ``torch.compile``."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sciml_bench.adapters.emitted_source import load_source
from sciml_bench.adapters.models import MIXED, ModelProgram, ModelTrainer
from sciml_bench.adapters.program import FloatArray, Trainer
from sciml_bench.adapters.torch.compiler import CompiledProgram, compiled_model
from sciml_bench.adapters.torch.device import OnDevice, device_of, versions
from sciml_bench.adapters.torch.optimisers import optimiser_of
from sciml_bench.record.task import Task, Training


class Batch(NamedTuple):
    """Images (n, channels, height, width) or tokens (n, positions), and their labels."""

    inputs: Tensor
    labels: Tensor


class Differentiated(NamedTuple):
    """The loss and its gradient, an array for each parameter."""

    loss: Tensor
    gradient: tuple[Tensor, ...]


class TorchProgram(OnDevice, CompiledProgram, ModelProgram):
    """The model under ``torch.inference_mode`` for its output, and with ``backward`` for the gradient.

    In bfloat16 the weights stay in single precision and ``torch.autocast`` chooses the operations.
    """

    def __init__(self, task: Task):
        super().__init__(task)
        torch.set_num_threads(task.threads)
        cell = task.cell
        self.device = device_of(cell)
        self.dtype = torch.float64 if cell.precision == "float64" else torch.float32
        self._mixed = cell.precision == MIXED
        source = load_source(task)
        self.model: torch.nn.Module = source.Model().to(self.device, self.dtype)
        weights = torch.as_tensor(self.weights, dtype=self.dtype, device=self.device)
        torch.nn.utils.vector_to_parameters(weights, self.model.parameters())
        self._compiled = cell.framework_mode == "compiled"
        if self._compiled:
            self.forward = compiled_model(self.model)
        else:
            self.forward = self.model
        self._loss = source.loss

    def place(self, inputs: np.ndarray, labels: np.ndarray) -> Batch:
        dtype = torch.int64 if inputs.dtype.kind == "i" else self.dtype
        return Batch(
            torch.as_tensor(inputs, dtype=dtype, device=self.device),
            torch.as_tensor(labels, dtype=torch.int64, device=self.device),
        )

    def solve(self, inputs: Batch) -> Tensor:
        with torch.inference_mode(), self.precision():
            return self.forward(inputs.inputs)

    def gradient(self, inputs: Batch) -> Differentiated:
        self.model.zero_grad()
        loss = self.loss(inputs)
        loss.backward()
        gradient = tuple(weight.grad for weight in self.model.parameters() if weight.grad is not None)
        return Differentiated(loss.detach(), gradient)

    def loss(self, batch: Batch) -> Tensor:
        """The loss of a batch, to be differentiated."""
        with self.precision():
            return self._loss(self.forward(batch.inputs), batch.labels)

    def precision(self) -> AbstractContextManager[Any]:
        """The context that chooses operations of mixed precision."""
        return torch.autocast(self.device.type, dtype=torch.bfloat16) if self._mixed else nullcontext()

    def outputs(self, output: Tensor) -> np.ndarray:
        return output.to("cpu", torch.float64).numpy()

    def loss_and_gradient(self, output: Differentiated) -> tuple[float, np.ndarray]:
        gradient = torch.cat([part.reshape(-1) for part in output.gradient])
        return float(output.loss), gradient.to("cpu", torch.float64).numpy()

    def trainer(self, training: Training) -> Trainer:
        return TorchTrainer(self, training)

    def versions(self) -> dict[str, str]:
        return {
            "torch": torch.__version__,
            **versions(self.device),
            "torch_deterministic": str(torch.are_deterministic_algorithms_enabled()),
            "threads_torch": str(torch.get_num_threads()),
        }


class TorchTrainer(ModelTrainer):
    """The loop that PyTorch's users write."""

    def __init__(self, program: TorchProgram, training: Training):
        super().__init__(program, training)
        self._run = program
        self._optimiser = optimiser_of(training, program.model.parameters())

    def step(self) -> Tensor:
        self._optimiser.zero_grad()
        loss = self._run.loss(self.batch)
        loss.backward()
        self._optimiser.step()
        return loss.detach()

    def synchronise(self, output: Tensor) -> None:
        self._run.synchronise(output)

    def read_loss(self, output: Tensor) -> float:
        return float(output)

    def predict(self, batch: Batch) -> np.ndarray:
        return self._run.outputs(self._run.solve(batch))

    def theta(self) -> FloatArray:
        parameters = torch.nn.utils.parameters_to_vector(self._run.model.parameters())
        return parameters.detach().to("cpu", torch.float64).numpy()
