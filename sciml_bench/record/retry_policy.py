"""Endings of processes: the ones that are results, that need not be repeated, and that say nothing about the solver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Record

# Outcomes that say something about the solver on this problem. All others say that the measurement itself broke.
RESULTS = frozenset(
    {
        Outcome.OK,
        Outcome.UNSUPPORTED,
        Outcome.TIMEOUT,
        Outcome.SLOW,
        Outcome.MAX_STEPS,
        Outcome.STEP_UNDERFLOW,
        Outcome.NONFINITE,
        Outcome.INACCURATE,
        Outcome.UNCHECKED,
        Outcome.DIVERGED,
    }
)

EQUAL_ENDS = 2
"""This many equal ends of a cell that measured nothing are enough, whatever they were."""


@dataclass(frozen=True)
class Nothing:
    """A process of a cell that measured nothing: its block, how it ended, and whether other work disturbed it."""

    block: int
    outcome: Outcome
    disturbed: bool

    @property
    def is_result(self) -> bool:
        """Return whether it proves a failure of the solver: a time limit passed next to other work does not."""
        return self.outcome in RESULTS and not (self.outcome is Outcome.TIMEOUT and self.disturbed)


def settled(found: Iterable[Nothing]) -> int | None:
    """The block from which on a cell need not run again: such a failure is deterministic, and costs its time limit.

    One failure of the solver is enough, of everything else two equal ones. A worker that was kept from its processors
    settles nothing. ``None`` while nothing is settled.
    """
    counts: Counter[Outcome] = Counter()
    for end in sorted(found, key=lambda end: end.block):
        if end.outcome in (Outcome.OK, Outcome.BUSY_TIMEOUT):
            continue
        counts[end.outcome] += 1
        if end.is_result or counts[end.outcome] == EQUAL_ENDS:
            return end.block
    return None


def measured_something(record: Record) -> bool:
    """Return whether any call of it was good."""
    return record.outcome is Outcome.OK or any(
        Outcome.OK in (point.solve.outcome, point.gradient.outcome) for point in record.points
    )


def is_starved(record: Record) -> bool:
    """Return whether other work kept its worker from its processors until that was ended."""
    training = () if record.training is None else record.training.outcomes
    of_points = (outcome for point in record.points for outcome in point.outcomes)
    return Outcome.BUSY_TIMEOUT in (record.outcome, *training, *of_points)
