"""NVIDIA devices, with a made-up library in the place of NVML."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from stubs.nvml import FakeNvml, Process

from sciml_bench.host import nvidia
from sciml_bench.host.energy import energy_counters
from sciml_bench.host.nvidia import Gpu


@pytest.fixture(autouse=True)
def _forget_the_library() -> Iterator[None]:
    nvidia.library.cache_clear()
    yield
    nvidia.library.cache_clear()


def use(monkeypatch: pytest.MonkeyPatch, nvml: FakeNvml) -> FakeNvml:
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    return nvml


def test_cells_on_the_processor_ask_nobody(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert Gpu.of("cpu") is None
    assert nvidia.library.cache_info().misses == 0


def test_no_package_no_driver_and_no_device_are_no_gpu(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert Gpu.of("cuda") is None
    nvidia.library.cache_clear()
    use(monkeypatch, FakeNvml(devices=0))
    assert Gpu.of("cuda") is None


@pytest.mark.parametrize(
    ("visible", "asked"),
    [({}, 0), ({"CUDA_VISIBLE_DEVICES": "1,0"}, 1), ({"CUDA_VISIBLE_DEVICES": "GPU-8f"}, "GPU-8f")],
)
def test_device_is_the_first_that_the_worker_sees(
    monkeypatch: pytest.MonkeyPatch, visible: dict[str, str], asked: int | str
):
    nvml = use(monkeypatch, FakeNvml(devices=2))
    assert Gpu.of("cuda", visible) is not None
    assert nvml.asked == [asked]


def test_number_that_no_device_has_is_no_gpu(monkeypatch: pytest.MonkeyPatch):
    use(monkeypatch, FakeNvml(devices=1))
    assert Gpu.of("cuda", {"CUDA_VISIBLE_DEVICES": "7"}) is None


def test_state_of_a_device(monkeypatch: pytest.MonkeyPatch):
    processes = [Process(pid=10, usedGpuMemory=3), Process(pid=11, usedGpuMemory=4)]
    use(
        monkeypatch,
        FakeNvml(name="H200", clocks=(1980, 3201), temperature=41, reasons=1 | 2 | 4 | 64, processes=processes),
    )
    gpu = Gpu.of("cuda", {})
    assert gpu is not None
    assert gpu.state({10}) == {
        "name": "H200",
        "sm_mhz": 1980,
        "memory_mhz": 3201,
        "temperature_c": 41,
        "throttle_reasons": ["HwThermalSlowdown", "SwPowerCap"],
        "other_processes": 1,
    }
    assert gpu.held_bytes({10, 11}) == 7


def test_device_that_answers_nothing_has_unknowns(monkeypatch: pytest.MonkeyPatch):
    use(monkeypatch, FakeNvml())
    gpu = Gpu.of("cuda", {})
    assert gpu is not None
    assert gpu.state() == {
        "name": None,
        "sm_mhz": None,
        "memory_mhz": None,
        "temperature_c": None,
        "throttle_reasons": [],
        "other_processes": 0,
    }
    assert gpu.energy_joules() is None
    assert gpu.held_bytes({1}) is None


def test_memory_that_the_driver_hides_is_unknown(monkeypatch: pytest.MonkeyPatch):
    use(monkeypatch, FakeNvml(processes=[Process(pid=10, usedGpuMemory=None)]))
    gpu = Gpu.of("cuda", {})
    assert gpu is not None
    assert gpu.held_bytes({10}) is None


def test_energy_of_a_device_is_a_counter(monkeypatch: pytest.MonkeyPatch, tmp_path):
    nvml = use(monkeypatch, FakeNvml(millijoules=5000))
    ((counter,), reason) = energy_counters("cuda", tmp_path)
    nvml.answers["millijoules"] = 12_500
    assert (counter.name, counter.between(5.0, counter.read()), reason) == ("gpu", 7.5, "")


def test_a_driver_or_nvml_shows_that_there_is_a_device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(nvidia, "_DRIVER", tmp_path)
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert not nvidia.is_present()
    (tmp_path / "0000:01:00.0").mkdir()
    (tmp_path / "0000:01:00.0" / "information").touch()
    assert nvidia.is_present()
    nvidia.library.cache_clear()
    monkeypatch.setattr(nvidia, "_DRIVER", tmp_path / "nothing")
    use(monkeypatch, FakeNvml())
    assert nvidia.is_present()
