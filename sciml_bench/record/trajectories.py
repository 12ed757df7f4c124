"""The outcome of each trajectory of a batch."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sciml_bench.record.outcome import Outcome

MAX_STORED_TRAJECTORIES = 10_000


@dataclass(frozen=True)
class Trajectories:
    """Steps and outcome of each of ``size`` trajectories, in their order.

    With ``shared_steps`` the library integrates them as one large system: they take the same steps, and fail together,
    so that none has a separate outcome. ``n_steps`` then holds that one number, otherwise one for each trajectory; it
    is empty if the library does not count, or if there are more than :data:`MAX_STORED_TRAJECTORIES`: the statistics
    then have the largest, the least and the mean. ``failed`` holds index and outcome of the failed ones, the first
    :data:`MAX_STORED_TRAJECTORIES` of ``n_failed``, which is ``None`` if there are no more.
    """

    size: int
    shared_steps: bool
    n_steps: tuple[int, ...] = ()
    failed: tuple[tuple[int, Outcome], ...] = ()
    n_failed: int | None = None

    @classmethod
    def each(cls, n_steps: Sequence[int], failed: Iterable[tuple[int, Outcome]]) -> Trajectories:
        """Return trajectories that each take their own steps."""
        most, all_failed = MAX_STORED_TRAJECTORIES, tuple(failed)
        kept = tuple(n_steps) if len(n_steps) <= most else ()
        n_failed = len(all_failed) if len(all_failed) > most else None
        return cls(len(n_steps), False, kept, all_failed[:most], n_failed)

    @classmethod
    def as_one_system(cls, size: int, n_steps: float | None) -> Trajectories | None:
        """Return the trajectories of a batch integrated with shared steps; ``None`` for a single trajectory."""
        return None if size == 1 else cls(size, True, () if n_steps is None else (int(n_steps),))

    @property
    def outcomes(self) -> Counter[Outcome]:
        """Return the number of trajectories for each outcome; failed ones beyond the stored count as the last does."""
        counted = Counter(outcome for _, outcome in self.failed)
        if self.n_failed is not None:
            counted[self.failed[-1][1]] += self.n_failed - len(self.failed)
        return Counter({Outcome.OK: self.size - counted.total()}) + counted

    @property
    def total_steps(self) -> int | None:
        """Steps of all trajectories together, a shared one counted for each; ``None`` if steps are not counted."""
        if not self.n_steps:
            return None
        return self.size * self.n_steps[0] if self.shared_steps else sum(self.n_steps)

    @property
    def median_steps(self) -> float | None:
        """The median number of steps of a trajectory; ``None`` if steps are not counted."""
        return statistics.median(self.n_steps) if self.n_steps else None
