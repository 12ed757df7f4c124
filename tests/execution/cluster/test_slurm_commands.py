"""What Slurm is asked and told, with its commands replaced."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from sciml_bench.errors import EngineError
from sciml_bench.execution.cluster import slurm
from sciml_bench.execution.cluster.scheduler import Phase
from sciml_bench.execution.cluster.slurm import Slurm, SlurmOptions, minutes
from sciml_bench.execution.cluster.task import Order


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30:00", 30),
        ("1:00:00", 60),
        ("45", 0.75),
        ("2-00:00:00", 2880),
        ("1-12", 2160),
        ("1-12:30", 2190),
        ("infinite", math.inf),
        ("UNLIMITED", math.inf),
        ("n/a", math.inf),
        ("", math.inf),
    ],
)
def test_time_limits_of_slurm(text: str, expected: float):
    assert minutes(text) == expected


def answering(monkeypatch: pytest.MonkeyPatch, answer: Callable[..., str]) -> None:
    monkeypatch.setattr(slurm, "_output", answer)
    monkeypatch.setattr(slurm.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(slurm.importlib.util, "find_spec", lambda _name: object())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, ""),
        ({"partition": "short"}, "the partition short ends tasks after 30 min, and a block may take 45 min"),
        ({"partition": "short,long"}, ""),
        ({"partition": "long,other"}, "this cluster has no partition 'other'"),
        ({"partition": "long"}, ""),
        ({"partition": "free"}, ""),
        ({"partition": "other"}, "this cluster has no partition 'other': give --partition one of free, long, short"),
    ],
)
def test_a_time_that_a_partition_does_not_give_is_named_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], message: str
):
    answering(
        monkeypatch,
        lambda *words: "short*|30:00\nlong|1-00:00:00\nfree|infinite\n" if words[0] == "sinfo" else "",
    )
    scheduler = Slurm(tmp_path, SlurmOptions(time_min=45, **options))
    if not message:
        scheduler.check()
        return
    with pytest.raises(EngineError, match=message):
        scheduler.check()


def test_why_a_task_waits_says_whether_it_ever_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lines = {
        "1_0|PENDING||Priority": Phase.WAITING,
        "1_1|PENDING||Dependency": Phase.WAITING,
        "1_2|PENDING||JobHeldUser": Phase.WAITING,
        "1_3|PENDING||PartitionTimeLimit": Phase.HELD,
        "1_4|PENDING||launch failed requeued held": Phase.HELD,
        "1_5|REQUEUE_HOLD||None": Phase.HELD,
        "1_6|PENDING||QOSMaxWallDurationPerJobLimit": Phase.HELD,
        "1_7|RUNNING|n1|None": Phase.RUNNING,
        "1_8|TIMEOUT|n1|TimeLimit": Phase.ENDED,
        "1_9|PENDING||QOSMaxJobsPerUserLimit": Phase.WAITING,
        "3_1|PENDING||QOSMaxCpuPerJobLimit": Phase.HELD,
        "3_2|PENDING||AssocGrpCpuLimit": Phase.WAITING,
        "2": Phase.ENDED,
    }
    answering(monkeypatch, lambda *_words: "\n".join(lines))
    states = Slurm(tmp_path, SlurmOptions(time_min=45)).states()
    assert [state.phase for state in states.values()] == list(lines.values())
    assert states["1_3"].word == "PENDING (PartitionTimeLimit)"
    assert (states["1_7"].node, states["1_8"].word) == ("n1", "TIMEOUT, so give a longer --time")


def test_a_second_array_waits_where_nodes_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("submitit")
    monkeypatch.setattr("submitit.slurm.slurm.SlurmExecutor.affinity", classmethod(lambda _cls: 1))
    options = SlurmOptions(time_min=45, nodes=4)
    found: list[Any] = []

    def submitted(self: Any, _function: Any, orders: Sequence[Order]) -> list[Any]:
        found.append(self.parameters["additional_parameters"].get("dependency"))
        return []

    monkeypatch.setattr("submitit.SlurmExecutor.map_array", submitted)
    orders = [Order("run", "unit")] * 2
    for each, active in (
        (options, ("7_1", "7_2", "9_0")),
        (options, ("7_1", "7_2")),
        (options, ()),
        (dataclasses.replace(options, nodes=None), ("7_1",) * 9),
    ):
        Slurm(tmp_path, each).submit(orders, (), active)
    assert found == ["afterany:7:9", None, None, None]


def test_cores_of_a_shared_node_take_the_place_of_a_whole_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("submitit")
    monkeypatch.setattr("submitit.slurm.slurm.SlurmExecutor.affinity", classmethod(lambda _cls: 1))
    whole, shared = (Slurm(tmp_path, SlurmOptions(time_min=45, cores=cores)).script(3) for cores in (None, 4))
    assert "#SBATCH --exclusive\n" in whole
    assert "--cpus-per-task" not in whole
    assert "--exclusive" not in shared
    assert "#SBATCH --cpus-per-task=4\n" in shared
    assert "#SBATCH --threads-per-core=1\n" in shared


def test_a_script_needs_the_commands_of_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("submitit")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="srun is not here: run this on a login node"):
        Slurm(tmp_path, SlurmOptions(time_min=45)).script(3)
