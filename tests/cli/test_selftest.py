"""``selftest``: what is measured, what is kept, and exit codes. Most of it with measurements that are drawn."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

import pytest
from stubs import compared
from stubs.points import changed
from stubs.records import stub_measurement
from stubs.tasks import stub_task

from sciml_bench.analysis.selftest.blocks import ROLES
from sciml_bench.cli import exit_codes
from sciml_bench.execution import selftest
from sciml_bench.host.lock import host_lock
from sciml_bench.planning.profiles import profile_named
from sciml_bench.record.record import read_records
from sciml_bench.record.task import Point, Sampling


class FakeTime:
    """Each measurement takes a second."""

    def __init__(self):
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def fake(monkeypatch):
    """No process is started; samples follow the slowdown that the task asks for."""
    clock = FakeTime()
    generator = random.Random(1)
    state: dict[str, Any] = {"spread": 0.01, "stop_after": None, "disturbed": set()}
    tasks = []

    def measured(tasks, _limits):
        return map(measured_alone, tasks)

    def measured_alone(task):
        if state["stop_after"] is not None and len(tasks) >= state["stop_after"]:
            raise KeyboardInterrupt
        tasks.append(task)
        clock.seconds += 1.0
        slow = 1.0 + task.options["slow_down"]
        process = slow * generator.lognormvariate(0.0, state["spread"])
        (good, *_) = stub_measurement().points
        samples = tuple(round(1e6 * process * generator.lognormvariate(0.0, 0.001)) for _ in range(15))
        point = changed(good, solve={"ns": samples}, gradient={"ns": tuple(3 * ns for ns in samples)})
        noisy = ("other_load: something else ran",) if len(tasks) in state["disturbed"] else ()
        return stub_measurement(points=(point,), noisy=noisy)

    monkeypatch.setattr(selftest, "measure_group", measured)
    monkeypatch.setattr(selftest, "time", clock)
    monkeypatch.setattr(selftest, "workload", stub_workload)
    return state, tasks


def stub_workload() -> selftest.Workload:
    sampling = Sampling(warm_up_calls=1, steady_calls=30, steady_s=0.0, max_steady_calls=30, perturbation=1e-6)
    return selftest.Workload(stub_task(points=(Point(1e-6, 1e-6),), sampling=sampling), "5bec")


def folder() -> Path:
    (path,) = (Path("results") / "selftest").iterdir()
    return path


def test_a_good_machine_passes_and_its_figures_are_kept(cli, fake):
    done = cli("selftest", "--minutes", "2")
    assert done.code == exit_codes.OK, done.err
    assert done.out.startswith("PASSED\n")
    assert (folder() / "figures.json").is_file()
    records = list(read_records(folder() / "records.jsonl"))
    assert len(records) == 120
    assert {record.cell_id for record in records} == set(ROLES)


def test_blocks_are_complete_and_in_the_order_of_each(cli, fake):
    _, tasks = fake
    cli("selftest", "--minutes", "2")
    blocks = [tuple(task.options["slow_down"] for task in tasks[k : k + 4]) for k in range(0, len(tasks), 4)]
    assert all(sorted(block) == [0.0, 0.0, 0.03, 0.1] for block in blocks)
    assert len(set(blocks)) > 5
    assert blocks[1] == blocks[2] == blocks[5][::-1] == (0.0, 0.0, 0.03, 0.1), "fixed, and alternating"
    assert len({task.seed for task in tasks[:4]}) == 1, "all roles of a block see the same inputs"
    assert {task.program for task in tasks} == {"sciml_bench.measure.selftest:slowed"}


def test_a_disturbed_block_counts(cli, fake):
    fake[0]["disturbed"] = {2}
    done = cli("selftest", "--minutes", "2", "--json")
    records = list(read_records(folder() / "records.jsonl"))
    assert {record.attempt for record in records} == {0}
    assert [bool(record.noisy) for record in records[:4]] == [False, True, False, False]
    assert done.json["noisy_processes"] == 1


def test_a_noisy_machine_does_not_pass(cli, fake):
    fake[0]["spread"] = 0.5
    done = cli("selftest", "--minutes", "2", "--json")
    assert done.code == exit_codes.CHECK_FAILED
    assert not done.json["passed"]
    assert done.json["found"]["slower-10"]["count"] < 0.9 * done.json["found"]["slower-10"]["total"]


def test_interrupting_keeps_what_there_is(cli, fake):
    fake[0]["stop_after"] = 90
    done = cli("selftest", "--minutes", "2")
    assert done.code == exit_codes.INTERRUPTED
    assert done.out.startswith("PASSED, but interrupted\n")
    assert "22 blocks" in done.out


def test_interrupted_too_early(cli, fake):
    fake[0]["stop_after"] = 9
    done = cli("selftest")
    assert done.code == exit_codes.INTERRUPTED
    assert "interrupted, too early for figures: 2 complete blocks were measured" in done.err


def test_too_little_time_to_tell(cli, fake):
    done = cli("selftest", "--minutes", "0.1")
    assert done.code == exit_codes.USAGE
    assert (
        "too little to tell: 1 complete blocks were measured, at least 12 are needed, 3 of each order; "
        "give more --minutes" in done.err
    )


def test_two_at_a_time_are_refused(cli, fake, tmp_path):
    with host_lock(label="the other one", path=tmp_path / "host.lock"):
        done = cli("selftest")
    assert done.code == exit_codes.USAGE
    assert "another benchmark runs on this host" in done.err


def test_the_workload_is_sampled_as_a_published_table_is():
    """Else its figures would not hold for such a table."""
    task = selftest.workload().task
    standard = profile_named("standard").sampling
    assert task.sampling == dataclasses.replace(standard, warm_up_s=0.0)
    assert len(task.points) == 1
    assert not task.draws


@pytest.mark.parametrize("minutes", ["0", "-1", "soon"])
def test_wrong_minutes(cli, minutes):
    assert cli("selftest", "--minutes", minutes).code == exit_codes.USAGE


def test_its_figures_head_reports(cli, fake):
    run = compared.run(Path("results"), "base").folder.name
    assert cli("show", run, "--all").out.startswith("self-test: none here yet; ")
    cli("selftest", "--minutes", "2")
    shown = cli("show", run, "--all").out
    assert "made on another machine" in shown.splitlines()[0]
    told = cli("show", run, "--json").json["selftest"]
    assert told["passed"]
    assert not told["same_machine"]
    new = compared.run(Path("results"), "new", seed=2).folder.name
    assert cli("compare", run, new).out.startswith("self-test of ")


def test_real_processes_are_measured(cli, monkeypatch):
    """One block, in workers."""
    monkeypatch.setattr(selftest, "workload", stub_workload)
    done = cli("selftest", "--minutes", "0.001")
    assert done.code == exit_codes.USAGE
    records = list(read_records(folder() / "records.jsonl"))
    assert len(records) == 4
    assert all(record.outcome == "ok" for record in records), [record.message for record in records]
    assert all(len(record.points[0].gradient.ns) >= 30 for record in records)
