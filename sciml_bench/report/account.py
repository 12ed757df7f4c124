"""The sum that no cell can vanish from: planned = measured + failed + skipped (+ not run yet)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sciml_bench.outcome import Outcome
from sciml_bench.plan.products import count
from sciml_bench.report.summary import RunSummary


@dataclass(frozen=True)
class Account:
    """Counts of cells. ``failed`` is by outcome, ``skipped`` by reason; ``not_run`` is not 0 after an interruption."""

    planned: int
    measured: int
    failed: dict[Outcome, int]
    skipped: dict[str, int]
    not_run: int

    @property
    def sentence(self) -> str:
        """The sum in words."""
        failed, skipped = sum(self.failed.values()), sum(self.skipped.values())
        kinds = ", ".join(f"{outcome} {count}" for outcome, count in self.failed.items())
        text = f"planned {self.planned} = measured {self.measured} + failed {failed}"
        text += f" ({kinds})" if kinds else ""
        text += f" + skipped {skipped}"
        return f"{text} + not run yet {self.not_run}" if self.not_run else text


def account(summary: RunSummary) -> Account:
    """Count every cell of a run once."""
    outcomes = [cell.outcome for cell in summary.cells.values()]
    failed = Counter(outcome for outcome in outcomes if outcome not in (None, Outcome.OK))
    skipped = Counter({entry["reason"]: count(entry["cells"]) for entry in summary.plan["skipped"]})
    return Account(
        planned=len(summary.cells) + skipped.total(),
        measured=outcomes.count(Outcome.OK),
        failed={outcome: count for outcome, count in failed.most_common() if outcome is not None},
        skipped=dict(skipped.most_common()),
        not_run=outcomes.count(None),
    )


def grouped(reasons: Iterable[str]) -> dict[str, int]:
    """How many cells share each reason, the most frequent first."""
    return dict(Counter(reasons).most_common())
