"""Releases of a package against each other, on runs made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from stubs.reported import cell, plan, point, record, summarise

from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.releases.releases import FIRST, Change, Found, changes
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Record

OLD, NEW = "diffrax-0.7.1", "diffrax-0.7.2"
BLOCKS = 6


def records(
    environment: str, gradient_ms: float = 2.0, first_s: float = 5.0, outcome: Outcome = Outcome.OK
) -> list[Record]:
    which = cell(adapter=f"diffrax@{environment}")
    found: list[Record] = []
    for block in range(BLOCKS):
        # Something that differs from block to block, as processes do.
        factor = 1.0 + 0.002 * block
        times = {"process": int(first_s * factor * 1e9), "built": int(first_s * 1e9)}
        points = [point(1e-4, gradient_ms=gradient_ms * factor, outcome=outcome)]
        changed = {"time_to_first_gradient_ns": times} if outcome is Outcome.OK else {}
        found.append(record(which, points, block=block, **changed))
    return found


def of(*runs: list[Record], names: tuple[str, ...] = (OLD, NEW)) -> dict[str, Change]:
    cells = [run[0].cell for run in runs]
    summary = summarise(plan(cells), [one for run in runs for one in run])
    return {change.quantity: change for change in changes(Analysis(summary, Path("run")), names)}


def estimate(change: Change) -> float:
    assert change.ratio is not None
    return change.ratio.estimate


def test_a_slower_release_is_slower_by_its_factor():
    found = of(records(OLD), records(NEW, gradient_ms=4.2))
    assert found["gradient"].found is Found.SLOWER
    assert estimate(found["gradient"]) == pytest.approx(2.1)
    assert (found["gradient"].older, found["gradient"].newer) == (OLD, NEW)
    assert found["gradient"].way.adapter == "diffrax"
    assert found["solve"].found is Found.SAME
    assert found[FIRST].found is Found.SAME


def test_the_order_of_releases_is_the_order_of_the_command():
    found = of(records(OLD), records(NEW, gradient_ms=4.2), names=(NEW, OLD))
    assert found["gradient"].found is Found.FASTER
    assert found["gradient"].newer == OLD


def test_a_release_that_takes_longer_to_its_first_gradient():
    found = of(records(OLD), records(NEW, first_s=15.0))
    assert found[FIRST].found is Found.SLOWER
    assert estimate(found[FIRST]) == pytest.approx(3.0)
    assert found["gradient"].found is Found.SAME


def test_the_same_release_twice_names_nothing():
    assert {change.found for change in of(records(OLD), records(NEW)).values()} == {Found.SAME}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (Outcome.OK, Outcome.CRASH, Found.BROKEN),
        (Outcome.CRASH, Outcome.OK, Found.MENDED),
        (Outcome.CRASH, Outcome.CRASH, Found.FAILS),
    ],
)
def test_a_release_that_fails(old: Outcome, new: Outcome, expected: Found):
    (change,) = of(records(OLD, outcome=old), records(NEW, outcome=new)).values()
    assert (change.found, change.ratio, change.outcome) == (expected, None, "crash")


def test_other_cells_of_the_run_are_not_compared():
    other = [record(cell(adapter="scipy"), [point(1e-4)], block=block) for block in range(BLOCKS)]
    assert set(of(records(OLD), records(NEW), other)) == {FIRST, "gradient", "solve"}
