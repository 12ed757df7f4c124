"""Shared parts of programs in Julia: reports of calls, and failures."""

from __future__ import annotations

import time
from typing import Any

# Before NumPy and all other frameworks: a library loaded earlier may bring another version of what Julia needs.
import juliacall

from sciml_bench.adapters.julia.calls import Calls, inside, project_fingerprint
from sciml_bench.adapters.program import Inside, Program
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.trajectories import Trajectories

STARTED_S = time.time()
"""Before Julia loads a package other than PythonCall. Code that is written later was compiled in this process."""


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
        """Return how many calls have compiled something."""
        return self.calls.compiling

    def phases_ns(self) -> dict[str, int]:
        return self.calls.phases_ns()

    def versions(self) -> dict[str, str]:
        told = {str(name): str(version) for name, version in self.bench.versions(STARTED_S).items()}
        return {"juliacall": juliacall.__version__, "julia_manifest": project_fingerprint(), **told}


class JuliaException(Exception):
    """A Julia exception without a known outcome; the message is Julia's own."""


def raised(failure: Any, n_steps: tuple[int, ...] = ()) -> Exception:
    """The exception for a ``Failure`` of the Julia package, which holds an outcome and a message.

    ``n_steps`` are the steps of each trajectory of a batch, if all of them were tried.
    """
    outcome, message = str(failure.outcome), str(failure.message)
    failed = tuple((int(index), Outcome(str(one))) for index, one in failure.trajectories)
    if not outcome:
        return JuliaException(message)
    return SolverFailure(
        Outcome(outcome), message, Trajectories(len(n_steps), False, n_steps, failed) if failed else None
    )
