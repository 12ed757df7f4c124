"""Temporary folders of dead processes are removed, and no others."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sciml_bench.host import temporary
from sciml_bench.host.processes import identity

KILLED = """
import os, signal
from sciml_bench.host.temporary import temporary_folder
folder = temporary_folder("worker")
print(folder.name, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_a_folder_of_a_killed_process_is_swept():
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, check=False)
    folder = Path(done.stdout.strip())
    assert folder.is_dir()
    assert temporary.sweep() == 1
    assert not folder.exists()


def test_folders_of_living_processes_and_of_others_stay(tmp_path: Path):
    with temporary.temporary_folder("worker") as mine:
        others = [
            "sciml_bench_worker_abc", "sciml_bench_source_1_2_3_x", "other_worker_0_1_1_x",
            # Another table of processes, in which that number may be alive.
            f"sciml_bench_worker_1{identity.namespace()}_999999_1_x",
        ]  # fmt: skip
        for name in others:
            (tmp_path / name).mkdir()
        link = tmp_path / f"sciml_bench_worker_{identity.namespace()}_999999_1_x"
        link.symlink_to(tmp_path / "sciml_bench_worker_abc")
        assert temporary.sweep() == 0
        assert Path(mine).is_dir()
        assert all((tmp_path / name).is_dir() for name in others)
        assert link.is_symlink()


def test_a_number_that_was_given_again_is_another_process(tmp_path: Path):
    stale = tmp_path / f"sciml_bench_worker_{identity.namespace()}_{os.getpid()}_1_x"
    stale.mkdir()
    assert temporary.sweep() == 1
    assert not stale.exists()
