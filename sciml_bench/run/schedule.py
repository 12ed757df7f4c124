"""Whose turn it is: which processes of a plan are left, and which groups of cells must be measured once more.

A group is the cells of one problem in one block: they run next to each other in time, because they are compared. Where
one of them was disturbed, all that gave something are measured once more, right after the group, if the profile says
so. What the records say decides, so that a resumed run goes on as it would have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby

from sciml_bench.analysis.failures import RESULTS, Nothing, settled
from sciml_bench.plan.cells import Slot
from sciml_bench.plan.plan import Plan
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Record
from sciml_bench.record.run_folder import Run

AGAIN = 1
"""The attempt that a group's repetition is; there is no second one."""

Key = tuple[str, int]


@dataclass
class History:
    """What the records of a run say of each process, by cell_id and block.

    ``nothing`` has the processes of a cell that measured nothing, ``starved`` those that other work kept from their
    processors.
    """

    attempts: dict[Key, set[int]] = field(default_factory=dict[Key, set[int]])
    useful: set[Key] = field(default_factory=set[Key])
    noisy: set[Key] = field(default_factory=set[Key])
    starved: set[Key] = field(default_factory=set[Key])
    nothing: dict[str, list[Nothing]] = field(default_factory=dict[str, list[Nothing]])

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
        measured = measured_something(record)
        starved = is_starved(record)
        if not measured and record.outcome is not Outcome.OK:
            end = Nothing(record.block, record.outcome, bool(record.noisy))
            self.nothing.setdefault(record.cell_id, []).append(end)
        # A time limit that was passed beside other work is no result yet.
        doubtful = record.outcome not in RESULTS or (record.outcome is Outcome.TIMEOUT and bool(record.noisy))
        if record.attempt < AGAIN and (measured or starved or doubtful):
            self.useful.add(key)
            if record.noisy:
                self.noisy.add(key)
            if starved:
                self.starved.add(key)

    def left(self, plan: Plan) -> Iterator[Slot]:
        """The processes of a plan that are still to run, in order."""
        for group in groups(plan, plan.slots):
            yield from self.left_of(plan, group)

    def left_of(self, plan: Plan, group: Iterable[Slot]) -> list[Slot]:
        """The processes of a group that are to run next: those that are left, and after them its repetition.

        A cell that failed in a way that is settled, see :func:`settled`, is not run again in later blocks: it would
        fail alike, at the price of its time limit. One whose solves are good is. A group in which other work kept a
        worker from its processors is repeated whatever the profile.
        """
        keys = {slot: (plan.cell_ids[slot.index], slot.block) for slot in group}
        first = [
            slot for slot, key in keys.items() if key not in self.attempts and not self._is_settled(key[0], slot.block)
        ]
        disturbed = self.starved | (self.noisy if plan.profile.rerun_noisy else set[Key]())
        if first or disturbed.isdisjoint(keys.values()):
            return first
        return [
            replace(slot, attempt=AGAIN)
            for slot, key in keys.items()
            if key in self.useful and AGAIN not in self.attempts[key]
        ]

    def _is_settled(self, cell_id: str, block: int) -> bool:
        """Whether a process before this block has settled that the cell fails."""
        last = settled(self.nothing.get(cell_id, ()))
        return last is not None and last < block


def groups(plan: Plan, slots: Iterable[Slot]) -> Iterator[list[Slot]]:
    """Slots that stand together: those of one problem in one block."""
    for _, group in groupby(slots, key=lambda slot: (slot.block, plan.planned[slot.index].cell.problem)):
        yield list(group)


def measured_something(record: Record) -> bool:
    """Whether any call of it was good."""
    return record.outcome is Outcome.OK or any(
        Outcome.OK in (point.solve.outcome, point.gradient.outcome) for point in record.points
    )


def is_starved(record: Record) -> bool:
    """Whether other work kept its worker from its processors until that was ended."""
    training = () if record.training is None else (record.training.outcome,)
    return Outcome.BUSY_TIMEOUT in (record.outcome, *training, *(point.outcome for point in record.points))
