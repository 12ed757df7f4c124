"""From what Julia says of a failure to a typed outcome."""

from __future__ import annotations

from typing import Any

from sciml_bench.outcome import Outcome, SolverFailure


class JuliaException(Exception):
    """An exception of Julia that stands for no known failure; the message is Julia's own."""


def raised(failure: Any) -> Exception:
    """The exception that stands for a ``Failure`` of the Julia package, which holds an outcome and a message."""
    outcome, message = str(failure.outcome), str(failure.message)
    if outcome:
        return SolverFailure(Outcome(outcome), message)
    return JuliaException(message)
