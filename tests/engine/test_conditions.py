"""The machine around a worker."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from stubs.nvml import FakeNvml, Process
from stubs.tasks import stub_task

from sciml_bench.engine.group import measure_cell
from sciml_bench.engine.limits import Limits
from sciml_bench.host import conditions, nvidia
from sciml_bench.host.conditions import Counters, state_now
from sciml_bench.host.device_watch import DeviceWatch
from sciml_bench.host.nvidia import Gpu
from sciml_bench.record.task import Cell

BEFORE = Counters(100.0, 5000.0, 1000.0, 10.0, 500.0, 300.0, 200.0)


def test_what_others_did_is_what_was_not_ones_own():
    after = Counters(110.0, 5010.0, 1015.0, 11.0, 509.0, 308.0, 207.0)
    assert BEFORE.until(after) == {
        "wall_s": 10.0,
        "other_cpus": 0.7,
        "displaced_cpus": 0.2,
        "stolen_cpus": 0.1,
        "clock_gap_s": 0.0,
    }


def test_ticks_that_lag_behind_are_no_negative_load():
    during = BEFORE.until(Counters(101.0, 5001.0, 1000.9, 10.0, 500.9, 301.0, 201.0))
    assert (during["other_cpus"], during["displaced_cpus"]) == (0.0, 0.0)


def test_clock_of_the_day_that_is_set_is_seen():
    assert BEFORE.until(Counters(110.0, 5010.0 - 3600.0, 1010.0, 10.0, 510.0, 310.0, 210.0))["clock_gap_s"] == -3600.0


def test_no_time_between_two_looks_is_no_division_by_zero():
    assert BEFORE.until(BEFORE) == {"wall_s": 0.0, "clock_gap_s": 0.0}


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity calls")
def test_busy_neighbour_is_seen_and_where_it_runs():
    cpu = max(os.sched_getaffinity(0))
    with subprocess.Popen(
        [sys.executable, "-c", f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nprint(flush=True)\nwhile True: pass"],
        stdout=subprocess.PIPE,
    ) as neighbour:
        try:
            assert neighbour.stdout is not None
            neighbour.stdout.readline()
            before = Counters.now({cpu})
            time.sleep(1.0)
            during = before.until(Counters.now({cpu}))
        finally:
            neighbour.kill()
    # It has not ended when the counters are read, so its time is not one's own.
    assert during["other_cpus"] > 0.3
    assert during["displaced_cpus"] > 0.3


def test_children_that_have_ended_are_ones_own():
    before = Counters.now({0})
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.5: pass"], check=True)
    assert Counters.now({0}).own_s - before.own_s > 0.4


def test_state_is_told_in_numbers_or_as_unknown():
    state = state_now({0})
    assert state["load_1min"] >= 0.0
    assert set(state) == {"load_1min", "cpu_mhz", "throttle_count", "temperature_c", "temperature_limit_c"}
    assert all(value is None or isinstance(value, int | float) for value in state.values())


def test_clock_and_throttling_are_those_of_the_worker_s_processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for cpu, khz, count in ((0, 3_000_000, 1), (1, 2_000_000, 5), (2, 1_000_000, 7)):
        for name, value in (
            ("cpufreq/scaling_cur_freq", khz),
            ("thermal_throttle/core_throttle_count", count),
            ("thermal_throttle/package_throttle_count", 10),
        ):
            path = tmp_path / f"cpu{cpu}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{value}\n")
    monkeypatch.setattr(conditions, "_CPU_FOLDER", tmp_path)
    state = state_now({1, 2})
    assert state["cpu_mhz"] == 1500.0
    assert state["throttle_count"] == 32


def test_clock_of_a_virtual_machine_is_read_from_its_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\ncpu MHz\t\t: 2000.0\n\nprocessor\t: 1\ncpu MHz\t\t: 2400.5\n")
    monkeypatch.setattr(conditions, "_CPU_FOLDER", tmp_path)
    monkeypatch.setattr(conditions, "_CPUINFO", cpuinfo)
    assert state_now({1})["cpu_mhz"] == 2400.5


def test_hottest_sensor_of_the_processor_counts(monkeypatch: pytest.MonkeyPatch):
    sensors = {
        "coretemp": [SimpleNamespace(current=60.0, high=90.0, critical=100.0)] * 2
        + [SimpleNamespace(current=71.0, high=None, critical=100.0)],
        "nvme": [SimpleNamespace(current=99.0, high=80.0, critical=85.0)],
    }
    monkeypatch.setattr(psutil, "sensors_temperatures", lambda: sensors, raising=False)
    state = state_now({0})
    assert (state["temperature_c"], state["temperature_limit_c"]) == (71.0, 100.0)


def test_cell_on_a_gpu_has_its_memory_and_conditions(monkeypatch: pytest.MonkeyPatch, stub_path: None):
    class Watched(FakeNvml):
        """Tells of every process that asks for itself, and of a stranger."""

        def nvmlDeviceGetComputeRunningProcesses(self, _handle: int) -> list[Process]:
            workers = [Process(pid=child.pid, usedGpuMemory=2**20) for child in psutil.Process().children()]
            return [*workers, Process(pid=1, usedGpuMemory=2**30)]

    nvidia.library.cache_clear()
    monkeypatch.setitem(sys.modules, "pynvml", Watched(clocks=(1980, 3201), reasons=4))
    try:
        cell = Cell("decay", "stub", "closed_form", "discrete", "eager", device="cuda")
        measurement = measure_cell(stub_task("good", cell=cell), Limits(timeout_s=60.0))
    finally:
        nvidia.library.cache_clear()
    assert measurement.peak_device_bytes == 2**20
    assert measurement.conditions["before"]["gpus"][0]["other_processes"] == 1
    assert measurement.conditions["during"]["gpu_throttle_reasons"] == ["SwPowerCap"]
    assert {reason.partition(":")[0] for reason in measurement.noisy} >= {"gpu_shared", "gpu_throttled"}


def test_cell_on_the_processor_has_no_device():
    measurement = measure_cell(stub_task(), Limits(timeout_s=60.0), command=[sys.executable, "-S", "-c", "pass"])
    assert measurement.peak_device_bytes is None
    assert "gpus" not in measurement.conditions["before"]


def test_gpu_is_told_with_the_machine_and_watched_while_it_works():
    nvml = FakeNvml(clocks=(1980, 3201), reasons=4, processes=[Process(pid=7, usedGpuMemory=100)])
    gpu = Gpu(nvml, {})
    assert state_now({0}, gpu)["gpus"][0]["sm_mhz"] == 1980
    watch = DeviceWatch(gpu)
    for size, reason in ((300, 64), (200, 1)):
        nvml.answers |= {"processes": [Process(pid=7, usedGpuMemory=size)], "reasons": reason}
        watch.look({7})
    assert watch.peak_bytes == 300
    assert watch.throttle_reasons == {"HwThermalSlowdown"}


def test_partners_on_the_same_gpu_are_no_company(monkeypatch: pytest.MonkeyPatch):
    nvidia.library.cache_clear()
    processes = [Process(pid=10, usedGpuMemory=3), Process(pid=11, usedGpuMemory=4)]
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(name="H200", processes=processes))
    gpu = Gpu.of("gpu", {})
    nvidia.library.cache_clear()
    assert state_now([0], gpu)["gpus"][0]["other_processes"] == 2
    assert state_now([0], gpu, {10})["gpus"][0]["other_processes"] == 1
    assert state_now([0], gpu, {10, 11})["gpus"][0]["other_processes"] == 0
