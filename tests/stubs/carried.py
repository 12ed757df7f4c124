"""Plans of a small catalog, and measuring without workers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from stubs.records import stub_measurement
from stubs.suite import stub_adapters

from sciml_bench.engine import local
from sciml_bench.planning.plan import Plan, make_plan
from sciml_bench.planning.profiles import profile_named
from sciml_bench.planning.selection import Selection
from sciml_bench.planning.settings import Settings
from sciml_bench.record.record import Measurement
from sciml_bench.record.run_folder import Run
from sciml_bench.record.task import Task

NOISE = ("other_load: other processes kept 0.9 processors busy (limit 0.25)",)

Measure = Callable[[Task, int], Measurement]


def made_plan(processes: int = 2, problems: tuple[str, ...] = ("decay",), rerun_noisy: bool = True) -> Plan:
    """Two adapters with one cell each on every problem."""
    profile = dataclasses.replace(profile_named("smoke"), processes=processes, rerun_noisy=rerun_noisy)
    return make_plan(Selection(problems=problems), stub_adapters(), profile, Settings())


def new_run(folder: Path) -> Run:
    return Run.create(folder, "test", plan={}, environment={})


def use(monkeypatch: pytest.MonkeyPatch, measure: Measure) -> None:
    """Measure with this function of the task and the number of measurements before."""
    count = 0

    def measured(tasks: list[Task], _limits: Any, **_options: Any) -> Iterator[Measurement]:
        nonlocal count
        for task in tasks:
            count += 1
            yield measure(task, count - 1)

    monkeypatch.setattr(local, "measure_group", measured)


def noisy_at(*numbers: int) -> Measure:
    return lambda _task, number: stub_measurement(noisy=NOISE if number in numbers else ())
