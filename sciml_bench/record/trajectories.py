"""What became of each trajectory of a batch."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass

from sciml_bench.record.outcome import Outcome


@dataclass(frozen=True)
class Trajectories:
    """Steps and outcome of each of ``size`` trajectories, in their order.

    With ``shared_steps`` the library integrates them as one large system: they take the same steps, and fail together,
    so that none has an outcome of its own. ``n_steps`` then holds that one number, else one for each trajectory; it is
    empty where the library does not count. ``failed`` holds index and outcome of those that failed.
    """

    size: int
    shared_steps: bool
    n_steps: tuple[int, ...] = ()
    failed: tuple[tuple[int, Outcome], ...] = ()

    @classmethod
    def as_one_system(cls, size: int, n_steps: float | None) -> Trajectories | None:
        """Those of a batch that is integrated with shared steps; ``None`` for a single trajectory."""
        return None if size == 1 else cls(size, True, () if n_steps is None else (int(n_steps),))

    @property
    def outcomes(self) -> Counter[Outcome]:
        """How many trajectories ended in each way."""
        counted = Counter(outcome for _, outcome in self.failed)
        return Counter({Outcome.OK: self.size - len(self.failed)}) + counted

    @property
    def total_steps(self) -> int | None:
        """Steps of all trajectories together, a shared one counted for each; ``None`` where they are not counted."""
        if not self.n_steps:
            return None
        return self.size * self.n_steps[0] if self.shared_steps else sum(self.n_steps)

    @property
    def median_steps(self) -> float | None:
        """Steps that a trajectory takes in the median; ``None`` where they are not counted."""
        return statistics.median(self.n_steps) if self.n_steps else None
