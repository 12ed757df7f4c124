"""Worker side of the adapter of SimpleChains: hands a model to Julia, and reads its results."""

from __future__ import annotations

from typing import Any

# Before NumPy and all other frameworks: a library loaded earlier may bring another version of what Julia needs.
import juliacall
import numpy as np

from sciml_bench.adapters.base import FloatArray, Inside, Trainer
from sciml_bench.adapters.julia import failure
from sciml_bench.adapters.julia.calls import Calls, inside, project_fingerprint
from sciml_bench.adapters.julia.setting_up import package_folder
from sciml_bench.adapters.julia.training import optimiser_numbers
from sciml_bench.adapters.models import ModelProgram, ModelTrainer
from sciml_bench.task import Task, Training

julia: Any = juliacall.__dict__["Main"]
_FOLDER = package_folder()
# For Optimisers.jl, which is a dependency of the package and not of the project.
julia.push_b(julia.LOAD_PATH, str(_FOLDER))
julia.include(str(_FOLDER / "src" / "simplechains.jl"))
bench: Any = julia.SciMLBenchSimpleChains
bench.count_compiling()


class SimpleChainsProgram(ModelProgram):
    """A call crosses the bridge once each way, with its batch made before as one Julia object."""

    def __init__(self, task: Task):
        super().__init__(task)
        slots = self.learning.slots
        try:
            self.network = bench.build(
                task.source,
                task.cell.precision,
                ([slot.kind for slot in slots], [slot.shape for slot in slots]),
                self.weights,
                self.learning.data.classes if self.learning.loss == "cross_entropy" else 0,
            )
        except juliacall.JuliaError as error:
            raise failure.raised(bench.failure(error.exception)) from error
        self._prepare, self._solved, self._differentiated = bench.prepare, bench.solved, bench.differentiated
        self._gradient_vector = bench.gradient_vector
        self._calls = Calls()

    def place(self, inputs: np.ndarray, labels: np.ndarray) -> Any:
        """Transposed, an array in C's order is one in Julia's: (width, height, channels, n)."""
        return self._prepare(self.network, np.ascontiguousarray(inputs).T, np.ascontiguousarray(labels).T)

    def solve(self, inputs: Any) -> Any:
        return self._solved(inputs)

    def gradient(self, inputs: Any) -> Any:
        return self._differentiated(inputs)

    def synchronise(self, output: Any) -> None:
        """Nothing to wait for: Julia computes before it returns."""

    def outputs(self, output: Any) -> np.ndarray:
        self._check("solve", output)
        return output.value.to_numpy(copy=True).T

    def loss_and_gradient(self, output: Any) -> tuple[float, np.ndarray]:
        self._check("gradient", output)
        return float(output.value[0]), self._gradient_vector(self.network, output).to_numpy(copy=True)

    def trainer(self, training: Training) -> Trainer:
        return SimpleChainsTrainer(self, training)

    def inside(self, output: Any) -> Inside:
        return inside(output)

    def trace_count(self) -> int:
        """How many calls have compiled something."""
        return self._calls.compiling

    def phases_ns(self) -> dict[str, int]:
        return self._calls.phases_ns()

    def versions(self) -> dict[str, str]:
        told = {str(name): str(version) for name, version in bench.told_versions().items()}
        return {"juliacall": juliacall.__version__, "julia_manifest": project_fingerprint(), **told}

    def step_loss(self, output: Any) -> float:
        """The loss that a step of training gave."""
        self._check("gradient", output)
        return float(output.value)

    def _check(self, kind: str, output: Any) -> None:
        self._calls.note(kind, output)
        if output.failure is not None:
            raise failure.raised(output.failure)


class SimpleChainsTrainer(ModelTrainer):
    """SimpleChains' gradient and an optimiser of Optimisers.jl on the flat parameters: one call into Julia."""

    def __init__(self, program: SimpleChainsProgram, training: Training):
        super().__init__(program, training)
        self._run = program
        self._trained, self._predicted = bench.trained, bench.predicted
        try:
            self._trainer = bench.trainer(program.network, training.optimiser, optimiser_numbers(training))
        except juliacall.JuliaError as error:
            raise failure.raised(bench.failure(error.exception)) from error

    def step(self) -> Any:
        return self._trained(self._trainer, self.batch)

    def synchronise(self, output: Any) -> None:
        """Nothing to wait for: Julia computes before it returns."""

    def read_loss(self, output: Any) -> float:
        return self._run.step_loss(output)

    def predict(self, batch: Any) -> np.ndarray:
        return self._predicted(self._trainer, batch).to_numpy(copy=True).T

    def theta(self) -> FloatArray:
        return np.array(bench.theta_vector(self._trainer).to_numpy(copy=True))


def build(task: Task) -> SimpleChainsProgram:
    """The program of a task."""
    return SimpleChainsProgram(task)
