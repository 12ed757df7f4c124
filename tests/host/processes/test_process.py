"""How often the process was displaced, with made-up counts."""

from __future__ import annotations

import resource
from types import SimpleNamespace

import pytest
from stubs.clock import FakeClock

from sciml_bench.host.processes.process import PreemptionCounter


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What the kernel has counted; tests set it."""
    usage = SimpleNamespace(ru_nivcsw=1000)
    monkeypatch.setattr(resource, "getrusage", lambda _who: usage)
    return usage


def test_only_what_happens_while_watching_counts(counted: SimpleNamespace):
    clock = FakeClock()
    displacements = PreemptionCounter(clock)
    for _ in range(2):
        counted.ru_nivcsw += 5000
        clock.sleep(100.0)
        with displacements.watched():
            counted.ru_nivcsw += 30
            clock.sleep(3.0)
    assert displacements.per_s == 10.0


def test_loop_that_fails_counts_too(counted: SimpleNamespace):
    clock = FakeClock()
    displacements = PreemptionCounter(clock)

    def fail() -> None:
        with displacements.watched():
            counted.ru_nivcsw += 8
            clock.sleep(2.0)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert displacements.per_s == 4.0


def test_without_a_loop_nothing_is_known():
    assert PreemptionCounter(FakeClock()).per_s is None
