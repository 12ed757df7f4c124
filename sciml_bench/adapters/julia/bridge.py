"""What programs in Julia have in common: what they tell of their calls, and of failures."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Before NumPy and all other frameworks: a library loaded earlier may bring another version of what Julia needs.
import juliacall
import numpy as np

from sciml_bench.adapters.base import FloatArray, Gradient, Inside, Program, Trainer
from sciml_bench.adapters.julia.installation import fingerprint
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.point import Trajectories
from sciml_bench.record.task import Training

# What Julia's own clock and project tell, alike for programs of solvers and of models. Imports nothing of Julia.

LOOKUP_NS = 500_000
"""Julia's clock of compiling also runs while it looks up code that it has, as for each function pointer on a compiled
tape of ReverseDiff: some microseconds, and up to 60 in one call of some ten thousand, where the look-up is interrupted.
To compile a function takes milliseconds; 30 to 120 microseconds where it is found to be constant, without code."""


class Calls:
    """Counts what was compiled in calls whose outputs have been read: nanoseconds by kind, and how many calls."""

    def __init__(self) -> None:
        self.compiling = 0
        self._compile_ns = {"solve": 0, "gradient": 0}

    def note(self, kind: str, output: Any) -> None:
        """Add one call of a kind."""
        self._compile_ns[kind] += output.compile_ns
        self.compiling += output.compile_ns > LOOKUP_NS

    def phases_ns(self) -> dict[str, int]:
        """As ``Program.phases_ns`` tells it."""
        return {f"{kind}_compile": ns for kind, ns in self._compile_ns.items()}


def inside(output: Any) -> Inside:
    """A call as Julia timed it."""
    return Inside(output.ns, output.gc_ns, output.compile_ns, output.allocated_bytes)


def project_fingerprint() -> str:
    """What tells the project that this process started with from others."""
    return fingerprint(Path(os.environ["PYTHON_JULIACALL_PROJECT"]))


class Bridged(Program):
    """A program whose calls cross the bridge. A subclass sets ``bench``, its module of Julia, which has ``versions``,
    and ``calls``, in which it notes each output that it reads."""

    bench: Any
    calls: Calls

    def synchronise(self, output: Any) -> None:
        """Nothing to wait for: Julia computes before it returns."""

    def inside(self, output: Any) -> Inside:
        return inside(output)

    def trace_count(self) -> int:
        """How many calls have compiled something."""
        return self.calls.compiling

    def phases_ns(self) -> dict[str, int]:
        return self.calls.phases_ns()

    def versions(self) -> dict[str, str]:
        told = {str(name): str(version) for name, version in self.bench.versions().items()}
        return {"juliacall": juliacall.__version__, "julia_manifest": project_fingerprint(), **told}


class JuliaException(Exception):
    """An exception of Julia that stands for no known failure; the message is Julia's own."""


def raised(failure: Any, n_steps: tuple[int, ...] = ()) -> Exception:
    """The exception that stands for a ``Failure`` of the Julia package, which holds an outcome and a message.

    ``n_steps`` are those of each trajectory of a batch, told where all of them were tried.
    """
    outcome, message = str(failure.outcome), str(failure.message)
    failed = tuple((int(index), Outcome(str(one))) for index, one in failure.trajectories)
    if not outcome:
        return JuliaException(message)
    return SolverFailure(
        Outcome(outcome), message, Trajectories(len(n_steps), False, n_steps, failed) if failed else None
    )


# Training with Optimisers.jl: the gradient and the step are one call into Julia.

_NUMBERS = ("learning_rate", "beta1", "beta2", "epsilon", "decay", "weight_decay")


class JuliaTrainer(Trainer):
    """``trainer`` is the package's own; ``read`` makes sense of what a step gives, which is that of a gradient."""

    def __init__(self, bench: Any, trainer: Any, read: Callable[[Any], Gradient]):
        self._trained, self._theta_vector = bench.trained, bench.theta_vector
        self._trainer = trainer
        self._read = read

    def step(self) -> Any:
        return self._trained(self._trainer)

    def synchronise(self, output: Any) -> None:
        """Nothing to wait for: Julia computes before it returns."""

    def read_loss(self, output: Any) -> float:
        return self._read(output).loss

    def theta(self) -> FloatArray:
        return np.array(self._theta_vector(self._trainer).to_numpy(copy=True))


def optimiser_numbers(training: Training) -> dict[str, float]:
    """The numbers that the optimiser has, by name."""
    given = ((name, getattr(training, name)) for name in _NUMBERS)
    return {name: float(value) for name, value in given if value is not None}
