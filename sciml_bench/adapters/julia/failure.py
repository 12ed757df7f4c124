"""From what Julia says of a failure to a typed outcome."""

from __future__ import annotations

from typing import Any

from sciml_bench.outcome import Outcome, SolverFailure
from sciml_bench.trajectories import Trajectories


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
