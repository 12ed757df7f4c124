"""Reasons why a reference could not be computed."""

from __future__ import annotations

from sciml_bench.errors import SciMLBenchError


class ReferenceFailure(SciMLBenchError):
    """No reference could be made or certified; the message names the time reached and the cause.

    ``t`` is where a solution could not be followed further, if that is the reason.
    """

    def __init__(self, message: str, t: float | None = None):
        super().__init__(message)
        self.t = t

    def near(self, other: ReferenceFailure | None) -> bool:
        """Return whether both are failures at the same time, to six digits, or neither has one."""
        if other is None or self.t is None or other.t is None:
            return other is not None and self.t is other.t
        return abs(self.t - other.t) <= 1e-6 * max(abs(self.t), abs(other.t))


class StepFailure(Exception):
    """The stage equations of a step could not be solved; the text says why."""


class LimitReached(ReferenceFailure):
    """A computation was given up at its limit; the message says which limit it was and how far it got."""
