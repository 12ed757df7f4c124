"""The record that counts if a cell was measured more than once in a block: one rule, fixed before measuring."""

from __future__ import annotations

from collections.abc import Iterable

from sciml_bench.record.record import Record


def supersedes(later_attempt: int, earlier_attempt: int) -> bool:
    """Return whether a record counts in the place of one on an earlier line for the same cell and block."""
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
