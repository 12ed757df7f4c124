"""Shared parts of the programs of models in all frameworks: batches in, checked NumPy arrays out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from sciml_bench.adapters.program import FloatArray, Gradient, IntArray, Program, Solution, Trainer
from sciml_bench.models.samples import Samples, load_samples
from sciml_bench.record.model_task import Evaluation, ModelTask
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Point, Task, Training

MIXED = "bfloat16"


def learning_of(task: Task) -> ModelTask:
    """The model of a task.

    Raises:
        SolverFailure: the task has none; it was made for a solver.
    """
    if task.learning is None:
        raise SolverFailure(Outcome.UNSUPPORTED, "this adapter runs models of the conventional track")
    return task.learning


class ModelProgram(Program):
    """A model in one framework. ``solve`` is its forward pass on a batch, ``gradient`` the loss and gradient of one."""

    def __init__(self, task: Task):
        self.learning = learning_of(task)
        self.weights = np.asarray(task.numbers.p, dtype=np.float64)
        self.samples: Samples = load_samples(self.learning.data)

    def prepare(self, theta: FloatArray, point: Point) -> Any:
        raise SolverFailure(Outcome.UNSUPPORTED, "this adapter runs models, and solves no differential equations")

    def prepare_samples(self, places: IntArray, point: Point) -> Any:
        rows = self.samples.train[places]
        return self.place(self.samples.inputs[rows], self.samples.labels[rows])

    @abstractmethod
    def place(self, inputs: np.ndarray, labels: np.ndarray) -> Any:
        """A batch as the framework's arrays, in its layout and precision, on the device."""

    @abstractmethod
    def outputs(self, output: Any) -> np.ndarray:
        """The result of ``solve``, in neutral layout, batch first."""

    @abstractmethod
    def loss_and_gradient(self, output: Any) -> tuple[float, np.ndarray]:
        """The result of ``gradient``: the loss and the gradient (n_weights,) in the order of theta."""

    def read_solution(self, output: Any) -> Solution:
        found = np.asarray(self.outputs(output), dtype=np.float64)
        if not np.all(np.isfinite(found)):
            raise SolverFailure(Outcome.NONFINITE, "the model's output is not finite")
        return Solution(found.reshape(len(found), -1), {})

    def read_gradient(self, output: Any) -> Gradient:
        loss, gradient = self.loss_and_gradient(output)
        if not (np.isfinite(loss) and np.all(np.isfinite(gradient))):
            raise SolverFailure(Outcome.NONFINITE, "the loss or the gradient is not finite")
        return Gradient(loss, np.asarray(gradient, dtype=np.float64), {})


class ModelTrainer(Trainer):
    """Trains on the batches that every framework gets; ``feed`` brings the next one to the framework, untimed."""

    def __init__(self, program: ModelProgram, training: Training):
        self._program = program
        self._held_out: list[tuple[Any, np.ndarray]] | None = None
        self._size = training.batch or 1
        self._batches: Iterator[np.ndarray] = program.samples.batches(self._size, training.batch_seed or 0)
        self.batch: Any = None

    def feed(self) -> None:
        rows = next(self._batches)
        self.batch = self._program.place(self._program.samples.inputs[rows], self._program.samples.labels[rows])

    @abstractmethod
    def predict(self, batch: Any) -> np.ndarray:
        """The current model's outputs for a batch from ``place``, as NumPy arrays."""

    def evaluate(self, step: int) -> Evaluation:
        """Loss and accuracy on the held-out samples, in batches of the size of training so that nothing is compiled
        for them alone; the loss is computed in NumPy, for all frameworks.
        """
        total, right, counted = 0.0, 0, 0
        for batch, labels in self._held_out_batches():
            found = np.asarray(self.predict(batch), dtype=np.float64)[: len(labels)]
            if self._program.learning.loss == "cross_entropy":
                largest = found.max(axis=-1, keepdims=True)
                normaliser = np.log(np.exp(found - largest).sum(axis=-1)) + largest[..., 0]
                of_labels = np.take_along_axis(found, labels[..., None], axis=-1)[..., 0]
                total += float((normaliser - of_labels).sum())
                right += int((found.argmax(axis=-1) == labels).sum())
                counted += labels.size
            else:
                total += float((found**2).sum())
                counted += found.size
        loss = total / counted
        accuracy = right / counted if self._program.learning.loss == "cross_entropy" else None
        return Evaluation(step, loss if np.isfinite(loss) else None, accuracy)

    def _held_out_batches(self) -> list[tuple[Any, np.ndarray]]:
        """The held-out samples as batches of one size; the last is filled up with rows that do not count."""
        if self._held_out is None:
            samples, self._held_out = self._program.samples, []
            for start in range(0, len(samples.held_out), self._size):
                rows = samples.held_out[start : start + self._size]
                filled = np.resize(rows, self._size)
                placed = self._program.place(samples.inputs[filled], samples.labels[filled])
                self._held_out.append((placed, samples.labels[rows]))
        return self._held_out
