"""Shared parts of the programs of models in Julia: they hand batches to a module of Julia, and read its results."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

# Before NumPy and all other frameworks: a library loaded earlier may bring another version of what Julia needs.
import juliacall
import numpy as np

from sciml_bench.adapters.julia.bridge import Bridged, raised
from sciml_bench.adapters.julia.calls import Calls
from sciml_bench.adapters.julia.setting_up import package_folder
from sciml_bench.adapters.julia.training import optimiser_numbers
from sciml_bench.adapters.models import ModelProgram, ModelTrainer
from sciml_bench.adapters.program import FloatArray, Trainer
from sciml_bench.record.task import Task, Training


def included(file: str, module: str) -> Any:
    """A module of Julia in a file of the suite's package, which is not loaded itself: its solvers take seconds.

    What that package's project names can be loaded, in the versions of the project that Julia was started with.
    """
    julia: Any = juliacall.__dict__["Main"]
    folder = package_folder()
    julia.push_b(julia.LOAD_PATH, str(folder))
    julia.include(str(folder / "src" / file))
    found = getattr(julia, module)
    found.count_compiling()
    return found


class JuliaModelProgram(Bridged, ModelProgram):
    """A call crosses the bridge once each way, with its batch made before as one Julia object.

    ``bench`` is the module of the framework, which has ``prepare``, ``solved``, ``differentiated``, ``trainer`` and
    what reads their results.
    """

    bench: Any

    def __init__(self, task: Task):
        super().__init__(task)
        bench, slots = self.bench, self.learning.slots
        named = ([s.layer for s in slots], [s.kind for s in slots], [s.role for s in slots], [s.shape for s in slots])
        # Length of a one-hot label; 0 if the loss takes none.
        classes = self.learning.data.classes if self.learning.loss == "cross_entropy" else 0
        try:
            self.network = self.build_network(task, named, classes)
        except juliacall.JuliaError as error:
            raise raised(bench.failure(error.exception)) from error
        self._prepare, self._solved, self._differentiated = bench.prepare, bench.solved, bench.differentiated
        self._gradient_vector = bench.gradient_vector
        self.calls = Calls()

    @abstractmethod
    def build_network(self, task: Task, slots: tuple[list[Any], ...], classes: int) -> Any:
        """The model in Julia. ``slots`` are lists of layers, kinds, roles and shapes."""

    def place(self, inputs: np.ndarray, labels: np.ndarray) -> Any:
        """Transposed, an array in C's order is one in Julia's: (width, height, channels, n), (positions, n)."""
        return self._prepare(self.network, np.ascontiguousarray(inputs).T, np.ascontiguousarray(labels).T)

    def solve(self, inputs: Any) -> Any:
        return self._solved(inputs)

    def gradient(self, inputs: Any) -> Any:
        return self._differentiated(inputs)

    def outputs(self, output: Any) -> np.ndarray:
        self._check("solve", output)
        return neutral(output.value)

    def loss_and_gradient(self, output: Any) -> tuple[float, np.ndarray]:
        self._check("gradient", output)
        return float(output.value[0]), self._gradient_vector(self.network, output).to_numpy(copy=True)

    def trainer(self, training: Training) -> Trainer:
        return JuliaModelTrainer(self, training)

    def step_loss(self, output: Any) -> float:
        """The loss that a step of training gave."""
        self._check("gradient", output)
        return float(output.value)

    def _check(self, kind: str, output: Any) -> None:
        self.calls.note(kind, output)
        if output.failure is not None:
            raise raised(output.failure)


class JuliaModelTrainer(ModelTrainer):
    """A step of training with an optimiser of Optimisers.jl: one call into Julia."""

    def __init__(self, program: JuliaModelProgram, training: Training):
        super().__init__(program, training)
        self._run, bench = program, program.bench
        self._trained, self._predicted, self._theta_vector = bench.trained, bench.predicted, bench.theta_vector
        try:
            self._trainer = bench.trainer(program.network, training.optimiser, optimiser_numbers(training))
        except juliacall.JuliaError as error:
            raise raised(bench.failure(error.exception)) from error

    def step(self) -> Any:
        return self._trained(self._trainer, self.batch)

    def synchronise(self, output: Any) -> None:
        """Nothing to wait for: Julia computes before it returns."""

    def read_loss(self, output: Any) -> float:
        return self._run.step_loss(output)

    def predict(self, batch: Any) -> np.ndarray:
        return neutral(self._predicted(self._trainer, batch))

    def theta(self) -> FloatArray:
        return np.array(self._theta_vector(self._trainer).to_numpy(copy=True))


def neutral(array: Any) -> np.ndarray:
    """An array of Julia, whose last axis counts samples, with the samples first."""
    return array.to_numpy(copy=True).T
