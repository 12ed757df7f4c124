"""The engine on Dask: workers on this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from needs import lacking
from stubs.studies import command, done, facts, records, study, the_run, until, verified

reason = lacking("distributed")
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)


class Workers:
    """A scheduler of Dask and its workers, in processes that end with the tests."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        file = folder / "scheduler.json"
        self._start("scheduler", "--scheduler-file", str(file), "--port", "0", "--no-dashboard", "--host", "127.0.0.1")
        until(lambda: file.is_file() and file.read_text(), "no scheduler")
        self.address: str = json.loads(file.read_text())["address"]

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        return self._start(
            "worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1",
            "--local-directory", str(self._folder), *options,
        )  # fmt: skip

    def stop(self) -> None:
        for process in reversed(self._processes):
            if process.poll() is None:
                process.terminate()
        for process in self._processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self, name: str, *options: str) -> subprocess.Popen[bytes]:
        with (self._folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_" + name, *options], stdout=log, stderr=log
            )
        self._processes.append(process)
        return process


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    found = Workers(tmp_path_factory.mktemp("dask"))
    try:
        yield found
    finally:
        found.stop()


def test_a_study_is_the_same_here_and_on_a_worker_of_dask(tmp_path: Path):
    first = done(command(), study(tmp_path / "here"), os.environ)
    second = done(command("--engine", "dask"), study(tmp_path / "there"), os.environ)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    ran, sent = the_run(tmp_path / "here"), the_run(tmp_path / "there")
    assert json.loads((ran / "plan.json").read_text())["hash"] == json.loads((sent / "plan.json").read_text())["hash"]
    assert facts(ran) == facts(sent)
    assert "VALID" in verified(sent, os.environ)


def test_workers_without_the_resource_are_refused_with_the_command_that_starts_one(tmp_path: Path, workers: Workers):
    plain = workers.start()
    words = command("--engine", "dask", "--scheduler", workers.address)
    until(lambda: "Registered to" in (workers._folder / "worker.log").read_text(), "no worker")
    found = done(words, study(tmp_path / "study"), os.environ)
    plain.terminate()
    plain.wait()
    assert found.returncode == 2
    assert "--resources bench=1" in found.stderr


def test_a_scheduler_that_is_not_there_is_refused(tmp_path: Path):
    words = command("--engine", "dask", "--scheduler", "tcp://127.0.0.1:9")
    found = done(words, study(tmp_path / "study"), os.environ)
    assert found.returncode == 2
    assert "does not answer" in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.slow
def test_a_worker_that_dies_loses_and_doubles_nothing(tmp_path: Path, workers: Workers):
    first = workers.start("--resources", "bench=1")
    folder = study(tmp_path / "study")
    words = command("--engine", "dask", "--scheduler", workers.address, "--any-node", profile="quick")
    submitting = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    until(lambda: (folder / "runs").exists() and list(the_run(folder).glob("tasks/*/shard")), "no task began")
    tasks = [process for process in psutil.Process(first.pid).children() if "task" in " ".join(process.cmdline())]
    first.send_signal(signal.SIGKILL)
    psutil.wait_procs(tasks, timeout=30)
    assert not any(process.is_running() for process in tasks)
    second = workers.start("--resources", "bench=1")
    said = submitting.communicate(timeout=300)[0]
    second.terminate()
    second.wait()
    assert submitting.returncode == 0, said
    processes = [(record["cell_id"], record["block"]) for record in records(the_run(folder))]
    assert len(processes) == len(set(processes)) == 12
    assert verified(the_run(folder), os.environ)


def test_workers_take_one_model_each(tmp_path: Path, workers: Workers):
    worker = workers.start()
    folder = study(tmp_path / "study")
    words = [sys.executable, "-m", "sciml_bench", "each"]
    models = ["slow.toml", "fast.toml", "--scheduler", workers.address]
    found = done([*words, "compute", *models, "--option=--solution-only"], folder, os.environ)
    advised = done([*words, "advise", *models], folder, os.environ)
    worker.terminate()
    worker.wait()
    assert found.returncode == 0, found.stdout + found.stderr
    assert {path.name for path in folder.glob("*.reference.json")} == {"slow.reference.json", "fast.reference.json"}
    assert {"slow.toml:", "fast.toml:"} <= set(found.stdout.splitlines())
    assert advised.returncode == 2
    assert "no workers with the resource bench" in advised.stderr
    nobody = done([*words, "check", "robertson", "--scheduler", workers.address], folder, os.environ)
    assert nobody.returncode == 2
    assert "has no workers" in nobody.stderr
