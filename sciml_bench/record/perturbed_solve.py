"""The outcome of one solve for a perturbed theta."""

from __future__ import annotations

from dataclasses import dataclass

from sciml_bench.record.outcome import Outcome

PHASE = "stability"

WRONG_FACTOR = 1000.0


@dataclass(frozen=True)
class PerturbedSolve:
    """One solve: which draw of theta, at which point, how it ended, and its largest mixed error if it succeeded."""

    draw: int
    point: int
    outcome: Outcome
    error: float | None = None

    def kind(self, rtol: float) -> str | None:
        """``right``, ``honest`` about failing, or ``silent``: success is reported, but the error is past a thousand
        tolerances. ``None`` without an error to judge by, or where the machine was too busy to tell.
        """
        if self.outcome is Outcome.BUSY_TIMEOUT:
            return None
        if self.outcome is not Outcome.OK:
            return "honest"
        if self.error is None:
            return None
        return "silent" if self.error > WRONG_FACTOR * rtol else "right"
