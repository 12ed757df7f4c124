"""One process for many cells: what one leaves in it, and the limit of each."""

from __future__ import annotations

import pytest
from stubs.tasks import stub_task

from sciml_bench.engine.limits import Limits
from sciml_bench.engine.shared_worker import SharedWorker
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.task import Point, Sampling

pytestmark = pytest.mark.usefixtures("stub_path")


def test_a_cell_has_neither_the_messages_nor_the_largest_memory_of_the_one_before():
    with SharedWorker(Limits(30.0)) as worker:
        first = worker.measure(stub_task("SpeaksAndHolds"))
        second = worker.measure(stub_task("good"))
    assert (first.stderr_tail, second.stderr_tail) == ("held", "")
    assert first.peak_rss_bytes > 200_000_000 > second.peak_rss_bytes > 0


def test_loops_end_by_the_limit_of_their_cell_and_not_by_that_of_the_process():
    calls = Sampling(warm_up_calls=1, steady_calls=40, steady_s=0.0, max_steady_calls=40, perturbation=1e-6)
    task = stub_task("TakesAFifthOfASecond", sampling=calls, points=(Point(1e-6, 1e-6),), calls=("solve",))
    with SharedWorker(Limits(60.0)) as worker:
        worker.measure(stub_task("good"))
        found = worker.measure(task, 3.0)
    assert (found.outcome, found.points[0].truncated) == (Outcome.OK, True)
    assert 1 <= len(found.points[0].solve.ns) < 40
