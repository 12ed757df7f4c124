"""The remaining processes of a run, and the groups of cells that must be measured once more.

A group is the cells of one problem in one block: they run next to each other in time, because they are compared. If
one of them was disturbed, all with a result are measured once more, right after the group, if the profile says so. The
records decide, so that a resumed run continues in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from sciml_bench.planning.blocks import Slot
from sciml_bench.planning.plan import Plan
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Placement, Record
from sciml_bench.record.retry_policy import RESULTS, Nothing, is_starved, measured_something, settled
from sciml_bench.record.run_folder import Run

AGAIN = 1
"""The attempt of a group's repetition; there is no second one."""

Key = tuple[str, int]
"""A process: cell_id and block."""


@dataclass
class History:
    """The records of each process.

    ``nothing`` has the processes of a cell that measured nothing, ``starved`` the processes that other work kept from
    their processors.
    """

    attempts: dict[Key, set[int]] = field(default_factory=dict[Key, set[int]])
    useful: set[Key] = field(default_factory=set[Key])
    noisy: set[Key] = field(default_factory=set[Key])
    starved: set[Key] = field(default_factory=set[Key])
    nothing: dict[str, list[Nothing]] = field(default_factory=dict[str, list[Nothing]])

    @classmethod
    def of(cls, records: Iterable[Record]) -> History:
        """The history that records tell."""
        history = cls()
        for record in records:
            history.keep(record)
        return history

    @classmethod
    def of_run(cls, run: Run) -> History:
        """The history of a run. A damaged line counts as not measured."""
        return cls.of(run.records(on_damage=lambda _: None))

    def keep(self, record: Record) -> None:
        """Add a record."""
        key = (record.cell_id, record.block)
        self.attempts.setdefault(key, set()).add(record.attempt)
        measured = measured_something(record)
        starved = is_starved(record)
        if not (measured or starved) and record.outcome is not Outcome.OK:
            end = Nothing(record.block, record.outcome, bool(record.noisy))
            self.nothing.setdefault(record.cell_id, []).append(end)
        # A time limit that was passed next to other work is not a result yet.
        doubtful = record.outcome not in RESULTS or (record.outcome is Outcome.TIMEOUT and bool(record.noisy))
        if record.attempt < AGAIN and (measured or starved or doubtful):
            self.useful.add(key)
            if record.noisy:
                self.noisy.add(key)
            if starved:
                self.starved.add(key)

    def left_of(self, group: Sequence[Placement], *, rerun_noisy: bool) -> list[Placement]:
        """The processes of a group that run next: the remaining ones, then its repetition.

        A cell that failed in a way that is settled, see :func:`settled`, is not run again in later blocks: it would
        fail in the same way, at the price of its time limit. One with good solves is. A group in which other work kept
        a worker from its processors is always repeated, whatever ``rerun_noisy`` says.
        """
        keys = [(place.cell_id, place.block) for place in group]
        first = [
            place
            for place, key in zip(group, keys, strict=True)
            if key not in self.attempts and not self._is_settled(*key)
        ]
        disturbed = self.starved | (self.noisy if rerun_noisy else set[Key]())
        if first or disturbed.isdisjoint(keys):
            return first
        return [
            replace(place, attempt=AGAIN)
            for place, key in zip(group, keys, strict=True)
            if key in self.useful and AGAIN not in self.attempts[key]
        ]

    def has_begun(self, group: Sequence[Placement]) -> bool:
        """Return whether a process of a group was measured."""
        return any((place.cell_id, place.block) in self.attempts for place in group)

    def _is_settled(self, cell_id: str, block: int) -> bool:
        """Return whether a process before this block has settled that the cell fails."""
        last = settled(self.nothing.get(cell_id, ()))
        return last is not None and last < block


def groups(plan: Plan) -> Iterator[list[Placement]]:
    """The processes of a plan, those together that stand together: one problem in one block."""
    for _, group in groupby(plan.slots, key=lambda slot: (slot.block, plan.planned[slot.index].cell.problem)):
        yield [placement(plan, slot) for slot in group]


def placement(plan: Plan, slot: Slot) -> Placement:
    """The plan's facts about a process."""
    planned = plan.planned[slot.index]
    return Placement(
        cell_id=plan.cell_ids[slot.index],
        block=slot.block,
        order=slot.order,
        division=planned.division,
        profile=plan.profile.name,
        smoke_only=not plan.profile.comparable,
        spec_hash=plan.task_factory.entries[planned.cell.problem].spec_hash,
        attempt=slot.attempt,
    )


def slot_of(plan: Plan, place: Placement) -> Slot:
    """The plan's own name of a process."""
    return Slot(place.block, place.order, plan.index_of[place.cell_id], place.attempt)


def remaining(plan: Plan, run: Run) -> list[Slot]:
    """The processes of a plan that are still to run, in order."""
    history = History.of_run(run)
    return [
        slot_of(plan, place)
        for group in groups(plan)
        for place in history.left_of(group, rerun_noisy=plan.profile.rerun_noisy)
    ]
