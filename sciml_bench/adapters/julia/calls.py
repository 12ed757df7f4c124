"""What Julia's own clock and project tell, alike for programs of solvers and of models. Imports nothing of Julia."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import juliacall

from sciml_bench.adapters.base import Inside, Program
from sciml_bench.adapters.julia.installation import fingerprint
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.trajectories import Trajectories

# From what Julia says of a failure to a typed outcome.


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


# What every program in Julia tells of its calls, whatever it computes.

# Before NumPy and all other frameworks: a library loaded earlier may bring another version of what Julia needs.


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
