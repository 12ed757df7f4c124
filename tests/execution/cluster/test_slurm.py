"""The engine on a real Slurm: two virtual nodes on this machine."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from needs import lacking
from stubs.slurm import DAEMONS, TwoNodes
from stubs.studies import command, done, facts, records, study, the_run, until, verified

missing = [name for name in DAEMONS if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") is None]
reason = f"no {missing[0]} here; Debian's packages: slurmctld slurmd slurm-client" if missing else lacking("submitit")
pytestmark = [pytest.mark.slurm, pytest.mark.skipif(bool(reason), reason=reason)]


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoNodes]:
    os.environ["PATH"] += ":/usr/sbin"
    nodes = TwoNodes(tmp_path_factory.mktemp("slurm"))
    try:
        if not nodes.start():
            pytest.skip("Slurm's daemons do not start on this machine")
        yield nodes
    finally:
        nodes.stop()


def on_slurm(*options: str, profile: str = "smoke") -> list[str]:
    return command("--engine", "slurm", "--partition", "low", "--any-node", *options, profile=profile)


def test_a_study_is_the_same_here_and_on_slurm(tmp_path: Path, slurm: TwoNodes):
    here, there = tmp_path / "here", tmp_path / "there"
    first = done(command(), study(here), slurm.variables)
    second = done(on_slurm("--nodes", "2"), study(there), slurm.variables)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    ran, sent = the_run(here), the_run(there)
    plans = [json.loads((run / "plan.json").read_text()) for run in (ran, sent)]
    assert plans[0]["hash"] == plans[1]["hash"]

    assert facts(ran) == facts(sent)
    assert "VALID" in verified(sent, slurm.variables)
    machines = [json.loads(path.read_text())["node"] for path in sent.glob("tasks/*/machine.json")]
    assert set(machines) <= {"n1", "n2"}
    assert len(machines) == len(list(sent.glob("units/*.json")))


@pytest.mark.slow
def test_faults_lose_and_double_nothing(tmp_path: Path, slurm: TwoNodes):
    """Tasks cancelled, put back and preempted, a node and the submitting process killed, and a second submitter."""
    folder = study(tmp_path)
    words = on_slurm(profile="quick")
    first = subprocess.Popen(words, cwd=folder, env=slurm.variables, stdout=subprocess.PIPE, text=True)
    until(lambda: (folder / "runs").exists() and list(the_run(folder).glob("tasks/*/shard")), "no task began")
    run = the_run(folder)
    other = done(words, folder, slurm.variables)
    assert other.returncode == 2
    assert "is being measured by process" in other.stderr

    def running() -> list[str]:
        return slurm.said("squeue", "-h", "-r", "-t", "RUNNING", "-p", "low", "-o", "%i").split()

    until(running, "no task runs")
    slurm.said("scancel", running()[0])
    until(running, "no task runs")
    put_back = running()[0]
    slurm.said("scontrol", "requeue", put_back)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    slurm.said("sbatch", "-p", "high", "-w", "n1", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 1")
    until(running, "no task runs")
    slurm.kill_node("n2")
    # As the controller finds out by its own timeout, minutes later.
    slurm.said("scontrol", "update", "nodename=n2", "state=down", "reason=killed")
    slurm.start_node("n2")
    slurm.said("scontrol", "update", "nodename=n2", "state=resume")
    second = subprocess.Popen(words, cwd=folder, env=slurm.variables, stdout=subprocess.PIPE, text=True)
    while second.poll() is None:
        # Slurm lets tasks that it put back wait for two minutes.
        for task in slurm.said("squeue", "-h", "-r", "-t", "PENDING", "-o", "%i").split():
            slurm.said("scontrol", "update", f"jobid={task}", "starttime=now")
        time.sleep(1)
    said = second.communicate()[0]
    assert second.returncode == 0, said
    processes = [(record["cell_id"], record["block"]) for record in records(run)]
    assert len(processes) == len(set(processes)) == 12
    assert "planned" in verified(run, slurm.variables)
    status = done([sys.executable, "-m", "sciml_bench", "status", str(run), "--json"], folder, slurm.variables)
    assert json.loads(status.stdout)["counts"]["measured"] == len(list(run.glob("units/*.json")))
    assert sum(1 for _ in run.glob("tasks/*")) > len(list(run.glob("units/*.json")))


def test_an_unknown_partition_is_refused_before_anything_is_submitted(tmp_path: Path, slurm: TwoNodes):
    words = command("--engine", "slurm", "--partition", "gpu")
    found = done(words, study(tmp_path), slurm.variables)
    assert found.returncode == 2
    assert found.stderr.strip().endswith("this cluster has no partition 'gpu': give --partition one of high, low.")
    assert not (tmp_path / "runs").exists()


def test_a_cluster_that_does_not_answer_is_refused(tmp_path: Path, slurm: TwoNodes):
    conf = tmp_path / "slurm.conf"
    conf.write_text(slurm.conf.read_text().replace("SlurmctldPort=", "SlurmctldPort=1 # ") + "\nMessageTimeout=2\n")
    words = ["env", f"SLURM_CONF={conf}", *command("--engine", "slurm")]
    found = done(words, study(tmp_path), slurm.variables)
    assert found.returncode == 2
    assert "Slurm's controller does not answer" in found.stderr


def test_the_script_is_printed_and_nothing_is_submitted(tmp_path: Path, slurm: TwoNodes):
    found = done(on_slurm("--time", "2h", "--dry-run"), study(tmp_path), slurm.variables)
    assert found.returncode == 0
    for line in ("--exclusive", "--partition=low", "--time=120", "--array=0-1%2"):
        assert f"#SBATCH {line}\n" in found.stdout
    assert not (tmp_path / "runs").exists()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity calls here")
@pytest.mark.slow
def test_cores_of_shared_nodes_are_enough_if_tasks_are_kept_on_them(tmp_path: Path, slurm: TwoNodes):
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        pytest.skip("two processors are needed")
    slurm.pin(processors[:2])
    try:
        found = done(on_slurm("--cores", "2"), study(tmp_path), slurm.variables)
    finally:
        slurm.pin(processors)
    assert found.returncode == 0, found.stderr
    assert "warning: other jobs may share the nodes" in found.stdout
    run = the_run(tmp_path)
    assert "VALID" in verified(run, slurm.variables)
    assert len(list(run.glob("tasks/*/shard"))) == len(list(run.glob("units/*.json")))
