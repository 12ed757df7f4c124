"""Whether winners may be named among the cells of a run, and how many of their processes were disturbed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sciml_bench.report.summary import CellSummary, RunSummary


@dataclass(frozen=True)
class Disturbed:
    """How many of so many processes were disturbed by other work on the machine."""

    count: int
    total: int

    @property
    def all(self) -> bool:
        """Whether every process was."""
        return 0 < self.total == self.count

    @property
    def mark(self) -> str:
        """What stands behind a verdict that rests on them; empty where none was disturbed."""
        return f" (disturbed: {self.count} of {self.total} processes)" if self.count else ""


def disturbed(cells: Iterable[CellSummary]) -> Disturbed:
    """Of the processes that count; each cell counts once."""
    different = {id(cell): cell for cell in cells}.values()
    noisy = [bool(process.noisy) for cell in different for process in cell.processes]
    return Disturbed(sum(noisy), len(noisy))


def why_not_comparable(summary: RunSummary) -> str:
    """Why no winner is named in a run; empty where winners may be."""
    profile = summary.plan["profile"]
    if not profile["comparable"]:
        return f"profile {profile['name']} runs one process per cell; use quick or more"
    found = disturbed(summary.cells.values())
    if found.all:
        return (
            f"other work on the machine disturbed all {found.total} processes, so no winner is named; measure again "
            "when `sciml-bench doctor` finds the machine quiet"
        )
    return ""


def comparable(summary: RunSummary) -> bool:
    """Whether winners may be named."""
    return not why_not_comparable(summary)
