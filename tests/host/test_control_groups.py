"""Limits of memory by control groups, of both versions, in folders made for them."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from sciml_bench.engine import limits
from sciml_bench.host.control_groups import memory_limit


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"proc/self/cgroup": "0::/\n"}, None),
        ({"proc/self/cgroup": "0::/slurm/job_7\n", "sys/fs/cgroup/slurm/job_7/memory.max": "max\n"}, None),
        (
            {
                "proc/self/cgroup": "0::/slurm/job_7/step\n",
                "sys/fs/cgroup/slurm/job_7/memory.max": "4096\n",
                "sys/fs/cgroup/slurm/job_7/step/memory.max": "8192\n",
                "sys/fs/cgroup/slurm/job_8/memory.max": "1\n",
            },
            4096,
        ),
        (
            {
                "proc/self/cgroup": "5:cpu,cpuacct:/other\n4:memory:/slurm/uid_0\n",
                "sys/fs/cgroup/memory/slurm/uid_0/memory.limit_in_bytes": "2048\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            },
            2048,
        ),
        ({"proc/self/cgroup": "4:memory\nnonsense\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "x"}, None),
    ],
)
def test_the_smallest_limit_of_the_own_groups_counts(tmp_path: Path, files: dict[str, str], expected: int | None):
    assert memory_limit(write(tmp_path, files)) == expected


def test_a_worker_gets_less_than_its_job_has(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "memory_limit", lambda: 2**30)
    assert 0.5 * 2**30 < limits.memory_limit_bytes() < 2**30
    monkeypatch.setattr(limits, "memory_limit", lambda: None)
    assert limits.memory_limit_bytes() > 0.5 * psutil.virtual_memory().total
    monkeypatch.setattr(limits, "memory_limit", lambda: 2**62)
    assert limits.memory_limit_bytes() < psutil.virtual_memory().total
