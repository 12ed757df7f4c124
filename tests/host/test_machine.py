"""What a machine says of itself, from made-up files."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stubs.nvml import FakeNvml

from sciml_bench.host import nvidia
from sciml_bench.host.machine import machine_facts


@pytest.fixture(autouse=True)
def _forget_the_library() -> Iterator[None]:
    nvidia.library.cache_clear()
    yield
    nvidia.library.cache_clear()


def root(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def test_machine_that_shows_nothing_has_unknowns(tmp_path: Path):
    facts = machine_facts(tmp_path)
    assert facts["cpu"]["governor"] is None
    assert facts["cpu"]["caches"] == facts["numa"] == {}
    assert (facts["container"], facts["virtual_machine"], facts["gpus"]) == (None, None, [])
    assert set(facts["kernel_settings"].values()) == {None}
    assert json.loads(json.dumps(facts)) == facts


def test_processor_and_its_settings(tmp_path: Path):
    cpu = "sys/devices/system/cpu"
    facts = machine_facts(
        root(
            tmp_path,
            {
                "proc/cpuinfo": "processor : 0\nmodel name : Abacus 9000\nmicrocode : 0x2b\nflags : fpu sse\n",
                f"{cpu}/cpu0/cpufreq/scaling_governor": "powersave\n",
                f"{cpu}/cpu0/cpufreq/scaling_driver": "intel_pstate\n",
                f"{cpu}/intel_pstate/no_turbo": "0\n",
                f"{cpu}/smt/control": "on\n",
                f"{cpu}/cpu0/cache/index0/level": "1\n",
                f"{cpu}/cpu0/cache/index0/type": "Data\n",
                f"{cpu}/cpu0/cache/index0/size": "48K\n",
                f"{cpu}/isolated": "\n",
                "sys/devices/system/node/node0/cpulist": "0-15\n",
                "sys/devices/system/node/node1/cpulist": "16-31\n",
                "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
                "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
                "proc/sys/kernel/randomize_va_space": "2\n",
            },
        )
    )
    told = facts["cpu"]
    assert (told["model"], told["microcode"]) == ("Abacus 9000", "0x2b")
    assert (told["governor"], told["driver"], told["turbo"], told["smt"]) == ("powersave", "intel_pstate", "on", "on")
    assert told["caches"] == {"L1 Data": "48K"}
    assert facts["numa"] == {"node0": "0-15", "node1": "16-31"}
    assert facts["virtual_machine"] is None
    assert facts["kernel_settings"] == {
        "aslr": "2",
        "clock_source": "tsc",
        "huge_pages": "madvise",
        "isolated_cpus": None,
        "numa_balancing": None,
    }


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({".dockerenv": ""}, "docker"),
        ({"run/.containerenv": ""}, "podman"),
        ({"run/systemd/container": "lxc\n"}, "lxc"),
        ({"proc/1/cgroup": "0::/kubepods/besteffort/pod1/8f\n"}, "kubepods"),
        ({"proc/1/cgroup": "0::/init.scope\n"}, None),
    ],
)
def test_container_is_named(tmp_path: Path, files: dict[str, str], kind: str | None):
    assert machine_facts(root(tmp_path, files))["container"] == kind


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
        ({"sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        (
            {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"},
            2.0,
        ),
        ({"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, None),
    ],
)
def test_quota_of_a_container_is_told_in_processors(tmp_path: Path, files: dict[str, str], cores: float | None):
    assert machine_facts(root(tmp_path, files))["cpu"]["quota_cores"] == cores


def test_virtual_machine_is_named(tmp_path: Path):
    files = {"proc/cpuinfo": "processor : 0\nflags : fpu hypervisor\n"}
    assert machine_facts(root(tmp_path, files))["virtual_machine"] == "unknown"
    files["sys/class/dmi/id/sys_vendor"] = "QEMU\n"
    assert machine_facts(root(tmp_path, files))["virtual_machine"] == "QEMU"


DRIVER = {
    "proc/driver/nvidia/version": "NVRM version: 580.1\nGCC version: 12\n",
    "proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t\t NVIDIA H200\nIRQ: 12\n",
}


def test_gpu_without_nvml_is_what_the_driver_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert machine_facts(root(tmp_path, DRIVER))["gpus"] == [{"model": "NVIDIA H200", "driver": "NVRM version: 580.1"}]


def test_gpu_with_nvml_has_its_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    answers: dict[str, Any] = {"name": "NVIDIA H200", "power_limit": 700_000, "mig": (0, 0)}
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(devices=2, **answers))
    first, second = machine_facts(root(tmp_path, DRIVER))["gpus"]
    assert first == second
    assert (first["model"], first["power_limit_watts"], first["mig"], first["ecc"]) == ("NVIDIA H200", 700.0, 0, None)


def test_nvml_is_not_looked_for_without_a_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(devices=1))
    assert machine_facts(tmp_path)["gpus"] == []
    assert nvidia.library.cache_info().misses == 0
