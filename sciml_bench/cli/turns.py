"""Whose turn it is: which processes of a plan are left, and which groups of cells must be measured once more.

A group is the cells of one problem in one block: they run next to each other in time, because they are compared. Where
one of them was disturbed, all that gave something are measured once more, right after the group, if the profile says
so. What the records say decides, so that a resumed run goes on as it would have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby

from sciml_bench.outcome import Outcome
from sciml_bench.plan.blocks import Slot
from sciml_bench.plan.plan import Plan
from sciml_bench.report.failures import RESULTS
from sciml_bench.store import Record, Run

AGAIN = 1
"""The attempt that a group's repetition is; there is no second one."""

Key = tuple[str, int]


@dataclass
class History:
    """What the records of a run say of each process, by cell_id and block.

    ``failed`` has the first block in which a cell failed throughout.
    """

    attempts: dict[Key, set[int]] = field(default_factory=dict[Key, set[int]])
    useful: set[Key] = field(default_factory=set[Key])
    noisy: set[Key] = field(default_factory=set[Key])
    failed: dict[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def of(cls, run: Run) -> History:
        """The history of a run. A line that is damaged is as if it had not been measured."""
        history = cls()
        for record in run.records(on_damage=lambda _: None):
            history.keep(record)
        return history

    def keep(self, record: Record) -> None:
        """Add a record."""
        key = (record.cell_id, record.block)
        self.attempts.setdefault(key, set()).add(record.attempt)
        if failed_throughout(record):
            self.failed[record.cell_id] = min(record.block, self.failed.get(record.cell_id, record.block))
        elif record.attempt < AGAIN:
            self.useful.add(key)
            if record.noisy:
                self.noisy.add(key)

    def left(self, plan: Plan) -> Iterator[Slot]:
        """The processes of a plan that are still to run, in order."""
        for group in groups(plan, plan.slots):
            yield from self.left_of(plan, group)

    def left_of(self, plan: Plan, group: Iterable[Slot]) -> list[Slot]:
        """The processes of a group that are to run next: those that are left, and after them its repetition.

        A cell of which an earlier block measured nothing, for reasons that lie in its solver, is not run again in
        later blocks: it would fail alike, at the price of its time limit. A cell that broke is, as is one whose solves
        are good.
        """
        keys = {slot: (plan.cell_ids[slot.index], slot.block) for slot in group}
        first = [
            slot
            for slot, key in keys.items()
            if key not in self.attempts and self.failed.get(key[0], slot.block) >= slot.block
        ]
        if first or not plan.profile.rerun_noisy or self.noisy.isdisjoint(keys.values()):
            return first
        return [
            replace(slot, attempt=AGAIN)
            for slot, key in keys.items()
            if key in self.useful and AGAIN not in self.attempts[key]
        ]


def groups(plan: Plan, slots: Iterable[Slot]) -> Iterator[list[Slot]]:
    """Slots that stand together: those of one problem in one block."""
    for _, group in groupby(slots, key=lambda slot: (slot.block, plan.planned[slot.index].cell.problem)):
        yield list(group)


def failed_throughout(record: Record) -> bool:
    """Whether nothing was measured, for reasons that lie in the solver."""
    if record.outcome is Outcome.OK or record.outcome not in RESULTS:
        return False
    return not any(Outcome.OK in (point.solve_outcome, point.gradient_outcome) for point in record.points)
