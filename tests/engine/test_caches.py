"""Cold and warm compile caches, proven by the files around each worker and by what the framework found."""

from __future__ import annotations

import pytest
from stubs.tasks import stub_task

from sciml_bench.engine.group import FILL, measure_cell
from sciml_bench.engine.limits import Limits
from sciml_bench.measure.protocol import Enter, Event
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Measurement
from sciml_bench.record.task import Cell, Point

pytestmark = pytest.mark.usefixtures("stub_path")

COLD = Cell("decay", "stub", "closed_form", "discrete", "compiled")
WARM = Cell("decay", "stub", "closed_form", "discrete", "compiled-warm")
POINTS = (Point(1e-4, 1e-4), Point(1e-6, 1e-6))


def measured(program: str, cell: Cell, events: list[Event] | None = None) -> Measurement:
    task = stub_task(program, cell=cell, points=POINTS)
    return measure_cell(task, Limits(timeout_s=60.0), on_event=None if events is None else events.append)


def test_cold_cache_is_empty_and_gives_nothing():
    measurement = measured("FindsCompiledCode", COLD)
    # The cache is one that must be asked for, and nobody does for a cold cell.
    assert measurement.compile_cache_files == {"before": 0, "after": 0}
    assert measurement.compile_cache_hits == 0
    assert measurement.fill_s == 0.0


def test_warm_cache_was_filled_by_another_process():
    events: list[Event] = []
    measurement = measured("FindsCompiledCode", WARM, events)
    assert measurement.outcome is Outcome.OK
    assert measurement.compile_cache_files == {"before": 1, "after": 1}
    assert measurement.compile_cache_hits == 1
    assert measurement.fill_s > 0.0
    # Nothing of the process that filled it is told or kept.
    assert [event for event in events if event == Enter(FILL)] == [Enter(FILL)]
    assert sum(event == Enter("build") for event in events) == 1
    assert [len(point.solve.ns) for point in measurement.points] == [3, 3]


def test_framework_that_leaves_nothing_behind_is_unsupported():
    measurement = measured("good", WARM)
    assert (measurement.outcome, measurement.phase) == (Outcome.UNSUPPORTED, FILL)
    assert measurement.message == "while the caches were filled: the framework left nothing in its compile cache"
    assert [point.outcome for point in measurement.points] == [Outcome.UNSUPPORTED] * 2
    assert measurement.points[0].solve.ns == ()


def test_process_that_fails_to_fill_is_the_cell_s_failure():
    measurement = measured("FillsNothingAndDies", WARM)
    assert (measurement.outcome, measurement.phase) == (Outcome.CRASH, FILL)
    assert "SIGSEGV" in measurement.message
    assert len(measurement.points) == 2
