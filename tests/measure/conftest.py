"""What tests of measuring share."""

from __future__ import annotations

import pytest
from stubs import programs, turn_programs
from stubs.clock import FakeTime

from sciml_bench.host.processes import process


@pytest.fixture
def fake_time(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """The real clock and the programs of the tests on a time that no other process of the machine can disturb."""
    fake = FakeTime()
    for module in (process, programs, turn_programs):
        monkeypatch.setattr(module, "time", fake)
    return fake
