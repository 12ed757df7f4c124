"""The sum that no cell can vanish from: planned = measured + failed + skipped (+ not run yet)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sciml_bench.analysis.summary import RunSummary
from sciml_bench.planning.labels import count
from sciml_bench.record.outcome import Outcome


@dataclass(frozen=True)
class CellTally:
    """Counts of cells. ``failed`` is by outcome, ``skipped`` by reason; ``not_run`` is not 0 after an interruption."""

    planned: int
    measured: int
    failed: dict[Outcome, int]
    skipped: dict[str, int]
    not_run: int

    @property
    def sentence(self) -> str:
        """The sum in words."""
        text = f"planned {self.planned} = measured {self.measured} + failed {self._failures}"
        text += f" + skipped {sum(self.skipped.values())}"
        return f"{text} + not run yet {self.not_run}" if self.not_run else text

    @property
    def short_sentence(self) -> str:
        """The selected cells in words."""
        number, _, kinds = self._failures.partition(" ")
        text = f"{self.measured} {'cell' if self.measured == 1 else 'cells'} measured, {number} failed"
        text += f" {kinds}" if kinds else ""
        text += f", {self.not_run} not run yet" if self.not_run else ""
        return f"{text}; {sum(self.skipped.values())} others are not part of this run"

    @property
    def _failures(self) -> str:
        kinds = ", ".join(f"{outcome} {count}" for outcome, count in self.failed.items())
        return f"{sum(self.failed.values())}{f' ({kinds})' if kinds else ''}"


def cell_tally(summary: RunSummary) -> CellTally:
    """Count every cell of a run once."""
    outcomes = [cell.outcome for cell in summary.cells.values()]
    failed = Counter(outcome for outcome in outcomes if outcome not in (None, Outcome.OK))
    skipped = Counter({skip.reason: count(skip.cells) for skip in summary.plan.skipped})
    return CellTally(
        planned=len(summary.cells) + skipped.total(),
        measured=outcomes.count(Outcome.OK),
        failed={outcome: count for outcome, count in failed.most_common() if outcome is not None},
        skipped=dict(skipped.most_common()),
        not_run=outcomes.count(None),
    )


def grouped(reasons: Iterable[str]) -> dict[str, int]:
    """Return how many cells share each reason, the most frequent first."""
    return dict(Counter(reasons).most_common())
