"""Which record counts when a cell was measured more than once in a block."""

from __future__ import annotations

import dataclasses

from stubs.records import stub_record

from sciml_bench.record.record import Record
from sciml_bench.record.supersession import counting_records, supersedes


def record(cell_id: str, block: int, attempt: int, started_at: str = "2026-11-21T10:00:00") -> Record:
    return dataclasses.replace(stub_record(cell_id, block, started_at=started_at), attempt=attempt)


def test_highest_attempt_counts_wherever_it_stands():
    first, again = record("a", 0, 0), record("a", 0, 1)
    assert counting_records([first, again]) == {("a", 0): again}
    assert counting_records([again, first]) == {("a", 0): again}


def test_later_line_counts_among_equal_attempts():
    first, later = record("a", 0, 0), record("a", 0, 0, "2026-11-21T11:00:00")
    assert counting_records([first, later]) == {("a", 0): later}
    assert counting_records([later, first]) == {("a", 0): first}


def test_cells_and_blocks_do_not_stand_in_for_each_other():
    records = [record("a", 0, 0), record("a", 1, 0), record("b", 0, 0)]
    assert list(counting_records(records).values()) == records


def test_rule_in_numbers():
    assert [supersedes(later, earlier) for later, earlier in ((0, 0), (1, 0), (0, 1), (1, 1))] == [
        True,
        True,
        False,
        True,
    ]
