"""Outcomes: how a measurement ended. A failure is a typed result, never a missing number."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sciml_bench.record.trajectories import Trajectories


class Outcome(StrEnum):
    """The outcome of a cell, or of one tolerance point inside it."""

    OK = "ok"
    UNSUPPORTED = "unsupported"
    IMPORT_ERROR = "import_error"
    BUILD_ERROR = "build_error"
    TIMEOUT = "timeout"
    BUSY_TIMEOUT = "busy_timeout"
    SLOW = "slow"
    OUT_OF_MEMORY = "out_of_memory"
    MAX_STEPS = "max_steps"
    STEP_UNDERFLOW = "step_underflow"
    NONFINITE = "nonfinite"
    INACCURATE = "inaccurate"
    UNCHECKED = "unchecked"
    DIVERGED = "diverged"
    RECOMPILED = "recompiled"
    INVALID = "invalid"
    CRASH = "crash"

    @property
    def sentence(self) -> str:
        return _SENTENCES[self]

    @property
    def cure(self) -> str:
        """The user's remedy; empty if there is none."""
        return _CURES.get(self, "")


_SENTENCES = {
    Outcome.OK: "solved, and within the error bound",
    Outcome.UNSUPPORTED: "the adapter cannot run this cell here",
    Outcome.IMPORT_ERROR: "the framework could not be imported",
    Outcome.BUILD_ERROR: "the program could not be built or traced",
    Outcome.TIMEOUT: "the phase ran past its time limit and was ended",
    Outcome.BUSY_TIMEOUT: "other work or a signal kept the worker from computing to the end: no result of the solver",
    Outcome.SLOW: "one call takes so long that the whole task takes far longer than by another way",
    Outcome.OUT_OF_MEMORY: "the worker ran past its memory limit",
    Outcome.MAX_STEPS: "the solver reached its maximum number of steps",
    Outcome.STEP_UNDERFLOW: "the step size fell below what the precision can represent, or the nonlinear solve failed",
    Outcome.NONFINITE: "the solution or the gradient is not finite",
    Outcome.INACCURATE: "success was reported, but the error is past its bound",
    Outcome.UNCHECKED: "a gradient was returned, but nothing says whether it is right, so it has no time",
    Outcome.DIVERGED: "the training threw its parameters far away",
    Outcome.RECOMPILED: "the framework traced or compiled again inside a timed loop",
    Outcome.INVALID: "timed calls returned outputs that they did not compute",
    Outcome.CRASH: "the worker process died",
}

_CURES = {
    Outcome.TIMEOUT: "raise --timeout, or loosen the tolerance",
    Outcome.BUSY_TIMEOUT: "measure again when `sciml-bench doctor` finds the machine quiet",
    Outcome.OUT_OF_MEMORY: "raise --memory-limit",
    Outcome.MAX_STEPS: "an implicit method usually needs fewer steps on a stiff problem",
    Outcome.UNCHECKED: "compute a certified reference with `sciml-bench reference compute`, or tighten the tolerance",
    Outcome.DIVERGED: "a smaller learning_rate in [training]",
    Outcome.STEP_UNDERFLOW: "an implicit method, double precision or a looser tolerance may help",
}


class SolverFailure(Exception):
    """Raised by an adapter's program when the library says, or shows, that a solve failed.

    ``trajectories`` lists the failed ones of a batch.
    """

    def __init__(self, outcome: Outcome, message: str, trajectories: Trajectories | None = None):
        if outcome is Outcome.OK:
            raise ValueError(f"a failure has another outcome than ok: {message}")
        self.outcome = outcome
        self.trajectories = trajectories
        super().__init__(message)
