"""Worker side of the Julia adapter: hands a cell to the package SciMLBench inside Julia, and reads its results."""

from __future__ import annotations

from typing import Any

# Before NumPy and all other frameworks: a library loaded earlier may bring another version of what Julia needs.
import juliacall
import numpy as np

from sciml_bench.adapters.julia.bridge import Bridged, raised
from sciml_bench.adapters.julia.calls import Calls
from sciml_bench.adapters.julia.training import JuliaTrainer, optimiser_numbers
from sciml_bench.adapters.program import FloatArray, Gradient, Solution, Trainer
from sciml_bench.adapters.segments import split
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import LANDING, Point, Task, Training
from sciml_bench.record.trajectories import Trajectories

julia: Any = juliacall.__dict__["Main"]

# A failure here is reported when the cell loads its packages.
_ENZYME = 'try Base.require(Base.PkgId(Base.UUID("7da242da-08ed-463a-9acd-ee780be4f1d9"), "Enzyme")) catch end'


def loaded(sensitivity: str) -> Any:
    """The module SciMLBench in Julia, loaded in the order that is fastest for this kind of gradient."""
    if sensitivity != "forward":
        # SciMLSensitivity loads Enzyme, whose start takes half a second before StaticArrays is loaded, and 25 s after
        # it: methods of StaticArrays make Julia compile again what Enzyme has precompiled.
        julia.seval(_ENZYME)
    julia.seval("using SciMLBench")
    julia.SciMLBench.count_compiling()
    return julia.SciMLBench


class JuliaProgram(Bridged):
    """One cell in Julia. A call crosses the bridge once each way, with all inputs made before as one Julia object."""

    def __init__(self, task: Task):
        numbers, cell = task.numbers, task.cell
        self.bench = bench = loaded(cell.sensitivity)
        segments = split(numbers)
        spans = [(s.start, s.end, s.low, s.high, s.n_saved) for s in segments]
        times = [time for segment in segments for time in segment.times]
        vectors = (numbers.y0, numbers.p, numbers.atol_scale, spans, times)
        try:
            self._cell = bench.build(
                task.source, cell.method, cell.sensitivity, cell.framework_mode, numbers.wrt,
                *(np.array(values, dtype=np.float64) for values in vectors), cell.saving == LANDING,
            )  # fmt: skip
        except juliacall.JuliaError as error:
            raise raised(bench.failure(error.exception)) from error
        self._solved, self._differentiated, self._prepared = bench.solved, bench.differentiated, bench.prepare
        self._theta, self._batch = np.array(numbers.theta), numbers.batch
        self.calls = Calls()

    def prepare(self, theta: FloatArray, point: Point) -> Any:
        return self._prepared(self._cell, np.asarray(theta, dtype=np.float64), point.rtol, point.atol)

    def solve(self, inputs: Any) -> Any:
        return self._solved(inputs)

    def gradient(self, inputs: Any) -> Any:
        return self._differentiated(inputs)

    def read_solution(self, output: Any) -> Solution:
        self._check("solve", output)
        # Julia's reduction of a single saved state is that state, not a matrix of one column.
        states = np.atleast_2d(self.bench.states_matrix(output).to_numpy(copy=True).T)
        if not np.all(np.isfinite(states)):
            raise SolverFailure(Outcome.NONFINITE, "Julia reports success, but the solution is not finite")
        told = None if self._batch == 1 else Trajectories(self._batch, False, self._steps_of_each(output))
        return Solution(np.ascontiguousarray(states), self._statistics(output), told)

    def read_gradient(self, output: Any) -> Gradient:
        self._check("gradient", output)
        loss, gradient = float(output.value[0]), self.bench.gradient_vector(output).to_numpy(copy=True)
        if not (np.isfinite(loss) and np.all(np.isfinite(gradient))):
            raise SolverFailure(Outcome.NONFINITE, "Julia reports success, but the gradient is not finite")
        return Gradient(loss, gradient, self._statistics(output))

    def trainer(self, training: Training) -> Trainer:
        try:
            trainer = self.bench.trainer(
                self._cell, self._theta, training.optimiser, optimiser_numbers(training), training.rtol, training.atol
            )
        except juliacall.JuliaError as error:
            raise raised(self.bench.failure(error.exception)) from error
        return JuliaTrainer(self.bench, trainer, self.read_gradient)

    def _check(self, kind: str, output: Any) -> None:
        self.calls.note(kind, output)
        failed = output.failure
        if failed is not None:
            raise raised(failed, self._steps_of_each(output))

    def _steps_of_each(self, output: Any) -> tuple[int, ...]:
        return tuple(int(steps) for steps in self.bench.steps_of_each(output))

    def _statistics(self, output: Any) -> dict[str, float]:
        return {str(name): float(value) for name, value in self.bench.statistics(output).items()}
