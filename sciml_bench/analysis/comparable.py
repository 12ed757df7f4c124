"""Permission to name winners among the cells of a run, and the number of disturbed processes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sciml_bench.analysis.summary import CellSummary, RunSummary


@dataclass(frozen=True)
class Disturbed:
    """Of ``total`` processes, the number disturbed by other work on the machine."""

    count: int
    total: int

    @property
    def all(self) -> bool:
        """Return whether every process was."""
        return 0 < self.total == self.count

    @property
    def mark(self) -> str:
        """The mark after a verdict that rests on them; empty if none was disturbed."""
        return f" (disturbed: {self.count} of {self.total} processes)" if self.count else ""


def disturbed(cells: Iterable[CellSummary]) -> Disturbed:
    """Of the processes that count; each cell counts once."""
    different = {id(cell): cell for cell in cells}.values()
    noisy = [bool(process.noisy) for cell in different for process in cell.processes]
    return Disturbed(sum(noisy), len(noisy))


def why_not_comparable(summary: RunSummary) -> str:
    """Return why no winner is named in a run; empty where winners may be."""
    profile = summary.plan.profile
    if not profile.comparable:
        return f"profile {profile.name} runs one process per cell; use quick or more"
    found = disturbed(summary.cells.values())
    if found.all:
        return (
            f"other work on the machine disturbed all {found.total} processes, so a winner is at most provisional; "
            "measure again when `sciml-bench doctor` finds the machine quiet"
        )
    return ""
