"""Which record counts where a cell was measured more than once in a block. One rule, fixed before anything is measured.

A disturbed group of cells is measured once more, and both records are kept; a failed cell may be measured again on
request. Of one cell in one block the record of the highest attempt counts, and of equal attempts the later line.
"""

from __future__ import annotations

from collections.abc import Iterable

from sciml_bench.store.record import Record


def supersedes(later_attempt: int, earlier_attempt: int) -> bool:
    """Whether a record counts in the place of one on an earlier line for the same cell and block."""
    return later_attempt >= earlier_attempt


def counting_records(records: Iterable[Record]) -> dict[tuple[str, int], Record]:
    """The record that counts for each (cell_id, block), in the order in which these first appear in the file."""
    counting: dict[tuple[str, int], Record] = {}
    for record in records:
        key = (record.cell_id, record.block)
        known = counting.get(key)
        if known is None or supersedes(record.attempt, known.attempt):
            counting[key] = record
    return counting
