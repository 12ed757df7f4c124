"""Which processors a worker is pinned to, on machines made of files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sciml_bench.host.affinity import choose_cpus, usable_cores


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """Four cores with two threads each: processors 0 and 4 share the first."""
    for cpu in range(8):
        folder = tmp_path / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{cpu % 4},{cpu % 4 + 4}\n")
    return tmp_path


def test_threads_get_a_core_each_before_two_share_one(system: Path):
    assert choose_cpus(4, set(range(8)), system) == {4, 5, 6, 7}
    assert choose_cpus(2, {0, 4, 1}, system) == {1, 4}
    assert choose_cpus(9, {0, 4}, system) == {0, 4}


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity calls here")
def test_two_threads_of_a_core_count_once(system: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0, 4, 5})
    assert usable_cores(system) == 2
