"""Commands for many models: how each ends, and what becomes of them without workers."""

from __future__ import annotations

import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sciml_bench.errors import EngineError
from sciml_bench.execution.cluster import fan_out


class Future:
    """Is done after so many looks."""

    def __init__(self, looks: int):
        self.looks = looks

    def done(self) -> bool:
        self.looks -= 1
        return self.looks < 0


def as_they_end(monkeypatch: pytest.MonkeyPatch, futures: list[Any], workers: int) -> tuple[list[Any], float]:
    """The futures that ended, and the seconds that passed."""
    seconds = [0.0]
    monkeypatch.setattr(fan_out, "time", SimpleNamespace(sleep=lambda each: seconds.append(seconds[-1] + each)))
    monkeypatch.setattr(
        fan_out,
        "workers_of",
        lambda _client, resource: {f"w{number}": {} for number in range(workers if resource else 99)},
    )
    return list(fan_out._as_they_end(None, futures, "tcp://n1:8786", "bench")), seconds[-1]


def test_all_come_as_they_end(monkeypatch: pytest.MonkeyPatch):
    slow, quick = Future(10_000), Future(3)
    ended, seconds = as_they_end(monkeypatch, [slow, quick], workers=1)
    assert ended == [quick, slow]
    assert seconds > 3600


def test_workers_that_do_not_come_back_end_the_command(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(EngineError, match="all workers have left Dask's scheduler at tcp://n1:8786"):
        as_they_end(monkeypatch, [Future(10**9)], workers=0)


def test_a_command_that_is_killed_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(fan_out, "_COMMAND", f"import os; os.kill(os.getpid(), {signal.SIGKILL.value})")
    assert fan_out._carried_out(["list", "problems"], str(tmp_path)) == (1, "it was ended by signal 9\n")


def test_a_command_says_how_it_ended(tmp_path: Path):
    code, output = fan_out._carried_out(["describe", "nothing-of-this-name"], str(tmp_path))
    assert code == 2
    assert "nothing-of-this-name" in output
    assert fan_out._carried_out(["list"], str(tmp_path / "elsewhere"))[0] == 2
