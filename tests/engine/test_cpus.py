"""Which processors a worker gets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sciml_bench.host.affinity import choose_cpus, pinned


def make_system(folder: Path, cores: dict[int, str]) -> Path:
    for cpu, siblings in cores.items():
        topology = folder / f"cpu{cpu}" / "topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(siblings + "\n")
    return folder


@pytest.mark.parametrize(
    ("threads", "chosen"),
    [(1, {7}), (2, {7, 6}), (4, {7, 6, 5, 4}), (5, {7, 6, 5, 4, 3}), (8, set(range(8))), (99, set(range(8)))],
)
def test_one_of_each_core_comes_before_a_second_of_any(tmp_path: Path, threads: int, chosen: set[int]):
    # Four cores with two processors each: 0 and 4, 1 and 5, ...
    system = make_system(tmp_path, {cpu: f"{cpu % 4},{cpu % 4 + 4}" for cpu in range(8)})
    assert choose_cpus(threads, set(range(8)), system) == chosen


def test_neighbouring_siblings(tmp_path: Path):
    system = make_system(tmp_path, {cpu: f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}" for cpu in range(4)})
    assert choose_cpus(2, set(range(4)), system) == {3, 1}


def test_only_allowed_processors_are_taken(tmp_path: Path):
    assert choose_cpus(2, {0, 2, 5}, tmp_path) == {5, 2}


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity calls")
def test_pinning_ends_with_its_body():
    before = os.sched_getaffinity(0)
    with pinned(1):
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before
