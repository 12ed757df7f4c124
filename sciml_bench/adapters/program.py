"""The program of a cell, which a worker runs: solves, gradients and trainings in one framework."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciml_bench.record.model_task import Evaluation
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Point, Training
from sciml_bench.record.trajectories import Trajectories

Vector = NDArray[np.float64]
FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
Varied = FloatArray | IntArray
"""The input that varies from call to call: theta, or for a model the indices of the samples in its batch."""

BACKWARD_EVALUATIONS = "n_backward_rhs_evaluations"
"""Name of the counter for right-hand-side evaluations in the backward solve of a gradient."""


@dataclass(frozen=True)
class Solution:
    """States at the saved times, shape (n_times, n_states), and the solver's own counts; of a batch each one's too."""

    ys: FloatArray
    statistics: dict[str, float]
    trajectories: Trajectories | None = None


@dataclass(frozen=True)
class Gradient:
    """The loss and its gradient with respect to theta, shape (n_theta,), and the solver's own counts."""

    loss: float
    gradient: FloatArray
    statistics: dict[str, float]


@dataclass(frozen=True)
class Inside:
    """One call as timed inside the framework, behind a bridge.

    ``ns`` is the whole call, ``gc_ns`` its garbage collection, ``compile_ns`` its compilation.
    """

    ns: int
    gc_ns: int
    compile_ns: int
    allocated_bytes: int


class Trainer(ABC):
    """Theta on its way, in one framework: steps of an optimiser from the problem's own theta.

    ``step`` is timed together with ``synchronise``; ``feed``, ``read_loss``, ``evaluate`` and ``theta`` are not.
    """

    def feed(self) -> None:  # noqa: B027 - most have nothing to get ready
        """Get ready what the next step takes: the batch of a model, as arrays of the framework."""

    @abstractmethod
    def step(self) -> Any:
        """Take the loss and its gradient at theta, then move theta by one step of the optimiser."""

    @abstractmethod
    def synchronise(self, output: Any) -> None:
        """Block until the step's output and the new theta are computed."""

    @abstractmethod
    def read_loss(self, output: Any) -> float:
        """The loss at the theta that the step started from.

        Raises :class:`~sciml_bench.record.outcome.SolverFailure` when the library reports that a solve failed.
        """

    def evaluate(self, step: int) -> Evaluation | None:
        """Score theta on held-out samples after ``step`` steps; ``None`` without such samples."""
        return None

    @abstractmethod
    def theta(self) -> FloatArray:
        """Return the current theta, (n_theta,)."""


class Program(ABC):
    """One cell, built in one framework inside a worker.

    For a model of the conventional track, ``solve`` is its output for a batch of samples, and ``prepare_samples`` takes
    the place of ``prepare``: what varies from call to call is the data, not the weights.

    ``prepare`` and ``prepare_samples`` are untimed and move the inputs to the framework. ``solve`` and ``gradient`` are
    timed together with ``synchronise``, which must not return before the computation has ended; each computes, and
    returns an output that later calls leave alone, as several may be read after the last. ``read_*`` are untimed,
    return NumPy, and raise :class:`~sciml_bench.record.outcome.SolverFailure` if the library reports failure.
    """

    @abstractmethod
    def prepare(self, theta: FloatArray, point: Point) -> Any:
        """Inputs of one call as the framework's own arrays. ``theta`` has shape (n_theta,)."""

    def prepare_gradient(self, theta: FloatArray, point: Point) -> Any:
        """Inputs of a gradient, if they are more than the inputs of a solve, whose preparation would outlast it."""
        return self.prepare(theta, point)

    def prepare_samples(self, places: IntArray, point: Point) -> Any:
        """Inputs of one call of a model: the samples at these ``places`` (batch,) of the training part.

        Raises :class:`~sciml_bench.record.outcome.SolverFailure` where the adapter runs no models.
        """
        raise SolverFailure(Outcome.UNSUPPORTED, "this adapter solves differential equations, and runs no models")

    @abstractmethod
    def solve(self, inputs: Any) -> Any:
        """Integrate from t0 to t1, saving at the saved times."""

    @abstractmethod
    def gradient(self, inputs: Any) -> Any:
        """The loss and its gradient with respect to theta."""

    @abstractmethod
    def synchronise(self, output: Any) -> None:
        """Block until the output is computed."""

    @abstractmethod
    def read_solution(self, output: Any) -> Solution:
        """The solution as NumPy arrays."""

    @abstractmethod
    def read_gradient(self, output: Any) -> Gradient:
        """The loss and gradient as NumPy values."""

    def trainer(self, training: Training) -> Trainer:
        """Return a trainer that uses the framework's own optimiser.

        Raises :class:`~sciml_bench.record.outcome.SolverFailure` if the adapter has none.
        """
        raise SolverFailure(Outcome.UNSUPPORTED, "the task trains, which this adapter cannot")

    def inside(self, output: Any) -> Inside | None:
        """The call that gave this output, as timed inside; ``None`` for a framework that Python calls directly."""
        return None

    def await_inputs(self, inputs: Any) -> None:  # noqa: B027 - on a CPU they are there
        """Block until the inputs are on the device."""

    def peak_device_bytes(self) -> int | None:
        """The largest memory on a device that the framework has held in arrays; ``None`` on a CPU, or unreported."""
        return None

    def working_device_bytes(self, call: Callable[[], object]) -> int | None:
        """Run a call and return the most that it held in arrays on a device; ``None``, without a call, if unknown."""
        return None

    def trace_count(self) -> int:
        """Return the number of traces or compilations of the right-hand side; 0 for eager programs."""
        return 0

    def phases_ns(self) -> dict[str, int]:
        """Return the total duration of the framework's compile phases, as it reports them, in nanoseconds by name.

        Names are ``trace``, ``lower`` and ``compile``, or ``CALL_PHASE`` (``gradient_trace``) if it separates calls.
        Phases do not contain each other. Empty for frameworks that report none.
        """
        return {}

    def cache_hits(self) -> int | None:
        """Return the number of hits in the compile cache on disk; ``None`` if the framework reports none."""
        return None

    def versions(self) -> dict[str, str]:
        """Versions and thread settings read back from the framework."""
        return {}
