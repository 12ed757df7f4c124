"""Findings from readings that were made by hand: each disturbance is seen, and a quiet machine is called quiet."""

from __future__ import annotations

from pathlib import Path

import pytest

from sciml_bench.host.doctor import CHECKS, examination_document, examine
from sciml_bench.host.doctor.finding import Finding, Status
from sciml_bench.host.doctor.gpu_readings import GpuReading
from sciml_bench.host.doctor.readings import ProcessReading, Readings, gather
from sciml_bench.render.doctor import lines

CPU = "/sys/devices/system/cpu"
CLOCK = "/sys/devices/system/clocksource/clocksource0"

QUIET = {
    "/proc/stat": "cpu  100 0 50 1000 3 0 0 0 0 0\ncpu0 100 0 50 1000 3 0 0 0 0 0\n",
    "/proc/meminfo": "MemTotal: 16000000 kB\nMemAvailable: 14000000 kB\nSwapTotal: 2000000 kB\nSwapFree: 2000000 kB\n",
    "/proc/vmstat": "pgfault 99\npswpin 5\npswpout 7\n",
    "/proc/cpuinfo": "model name\t: Some processor\nflags\t\t: fpu vme tsc\n",
    "/proc/pressure/cpu": "some avg10=0.00 avg60=8.12 avg300=6.64 total=1\nfull avg10=0.00 avg60=0.00 total=0\n",
    "/proc/pressure/memory": "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
    "/proc/sys/kernel/randomize_va_space": "2\n",
    "/proc/sys/kernel/numa_balancing": "0\n",
    "/sys/devices/system/node/online": "0\n",
    "/sys/fs/cgroup/cpu.max": "max 100000\n",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "/sys/class/power_supply/AC/online": "1\n",
    "/sys/class/thermal/thermal_zone0/temp": "45000\n",
    "/sys/class/thermal/thermal_zone0/type": "x86_pkg_temp\n",
    "/sys/class/thermal/thermal_zone0/trip_point_0_temp": "95000\n",
    "/sys/class/thermal/thermal_zone0/trip_point_0_type": "passive\n",
    f"{CPU}/cpu0/cpufreq/scaling_governor": "performance\n",
    f"{CPU}/cpu0/cpufreq/scaling_driver": "acpi-cpufreq\n",
    f"{CPU}/cpu0/cpufreq/scaling_max_freq": "3000000\n",
    f"{CPU}/cpu0/cpufreq/cpuinfo_max_freq": "3000000\n",
    f"{CPU}/cpu0/cpufreq/scaling_cur_freq": "2999000\n",
    f"{CPU}/cpu0/thermal_throttle/core_throttle_count": "0\n",
    f"{CPU}/cpufreq/boost": "0\n",
    f"{CPU}/isolated": "1\n",
    f"{CPU}/online": "0-1\n",
    f"{CPU}/smt/active": "0\n",
    f"{CPU}/smt/control": "off\n",
    f"{CLOCK}/current_clocksource": "tsc\n",
    f"{CLOCK}/available_clocksource": "tsc hpet acpi_pm \n",
}


def readings(changes: dict[str, str] | None = None, before: dict[str, str] | None = None, **facts) -> Readings:
    """A quiet machine, but for these files. ``before`` are files that were different a moment ago."""
    after = QUIET | (changes or {})
    known = {"usable": frozenset({0, 1}), "load": (0.02, 0.05, 0.1)} | facts
    return Readings(before=after | (before or {}), after=after, **known)


def finding(key: str, *arguments, **facts) -> Finding:
    (found,) = [item for item in examine(readings(*arguments, **facts)) if item.id == key]
    return found


def test_a_quiet_machine_is_called_quiet():
    assert {item.id: item.found for item in examine(readings()) if item.status is not Status.FINE} == {}
    assert len(examine(readings())) >= len(CHECKS) - 2


DISTURBED = {
    "governor": {f"{CPU}/cpu0/cpufreq/scaling_governor": "powersave"},
    "turbo": {f"{CPU}/cpufreq/boost": "1"},
    "time_source": {f"{CLOCK}/current_clocksource": "hpet"},
    "quota": {"/sys/fs/cgroup/cpu.max": "150000 100000", "/sys/fs/cgroup/cpu.stat": "nr_periods 9\nnr_throttled 4\n"},
    "memory": {"/proc/meminfo": "MemTotal: 16000000 kB\nMemAvailable: 100000 kB\n"},
    "aslr": {"/proc/sys/kernel/randomize_va_space": "0"},
    "power": {"/sys/class/power_supply/AC/online": "0"},
    "thermal": {"/sys/class/thermal/thermal_zone0/temp": "90000"},
    "load": {"/proc/pressure/cpu": "some avg10=12.50 avg60=8.12 avg300=6.64 total=1"},
}


@pytest.mark.parametrize("key", DISTURBED)
def test_a_disturbance_is_seen_with_its_reason_and_its_cure(key):
    found = finding(key, DISTURBED[key])
    assert found.status is Status.DISTURBS
    assert found.why
    assert found.cure is not None
    assert found.cure.command or found.cure.advice


NOTED = {
    "smt": {f"{CPU}/smt/active": "1"},
    "isolation": {f"{CPU}/isolated": ""},
    "virtualisation": {"/proc/cpuinfo": "flags : fpu hypervisor tsc", "/.dockerenv": ""},
    "clocks": {f"{CPU}/cpu0/cpufreq/scaling_max_freq": "2000000"},
    "numa": {"/sys/devices/system/node/online": "0-1", "/proc/sys/kernel/numa_balancing": "1"},
    "huge_pages": {"/sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never"},
}


@pytest.mark.parametrize("key", NOTED)
def test_what_is_good_to_know_is_noted(key):
    assert finding(key, NOTED[key]).status is Status.NOTE


UNSEEN = {
    "governor": "*cpufreq*",
    "turbo": "*boost*",
    "smt": "*smt*",
    "isolation": "*isolated*",
    "time_source": "*clocksource*",
    "thermal": "*thermal*",
    "quota": "*cgroup*",
    "steal": "*stat",
    "memory": "*meminfo*",
    "virtualisation": "*cpuinfo",
    "aslr": "*randomize*",
}


@pytest.mark.parametrize("key", UNSEEN)
def test_what_cannot_be_seen_is_neither_fine_nor_noisy(key):
    import fnmatch

    files = {path: text for path, text in QUIET.items() if not fnmatch.fnmatch(path, UNSEEN[key])}
    (found,) = [item for item in examine(Readings(before=files, after=files)) if item.id == key]
    assert found.status is Status.UNKNOWN
    assert found.cure is None


def test_cures_are_exact():
    governor = finding("governor", DISTURBED["governor"]).cure
    assert governor is not None
    assert governor.command == f"echo performance | sudo tee {CPU}/cpu*/cpufreq/scaling_governor"
    assert governor.root
    assert governor.undo == f"echo powersave | sudo tee {CPU}/cpu*/cpufreq/scaling_governor"
    intel = finding("turbo", {f"{CPU}/intel_pstate/no_turbo": "0"}).cure
    assert intel is not None
    assert intel.command == f"echo 1 | sudo tee {CPU}/intel_pstate/no_turbo"
    quota = finding("quota", DISTURBED["quota"])
    assert quota.found.startswith("1.5 processors in /sys/fs/cgroup, stopped 4 times")
    assert quota.cure is not None
    assert quota.cure.command == "echo max | sudo tee /sys/fs/cgroup/cpu.max"
    assert quota.cure.undo == "echo '150000 100000' | sudo tee /sys/fs/cgroup/cpu.max"


def test_the_old_control_groups_have_quotas_too():
    folder = "/sys/fs/cgroup/cpu/box"
    files = {f"{folder}/cpu.cfs_quota_us": "50000", f"{folder}/cpu.cfs_period_us": "100000"}
    found = finding("quota", files)
    assert found.status is Status.NOTE
    assert found.found.startswith(f"0.5 processors in {folder}")
    assert found.cure is not None
    assert found.cure.command == f"echo -1 | sudo tee {folder}/cpu.cfs_quota_us"
    unlimited = {f"{folder}/cpu.cfs_quota_us": "-1", f"{folder}/cpu.cfs_period_us": "100000"}
    assert finding("quota", unlimited).status is Status.FINE


@pytest.mark.parametrize(
    ("stolen", "status"), [(0, Status.FINE), (5, Status.NOTE), (30, Status.DISTURBS)], ids=["none", "little", "much"]
)
def test_stolen_time_is_that_of_the_window_and_since_the_start(stolen, status):
    now = {"/proc/stat": f"cpu  1100 0 50 1000 3 0 0 {stolen} 0 0"}
    before = {"/proc/stat": "cpu  100 0 50 1000 3 0 0 0 0 0"}
    assert finding("steal", now, before).status is status


def test_swapping_now_disturbs_and_pages_that_were_swapped_out_are_noted():
    swapped = "MemTotal: 16000000 kB\nMemAvailable: 14000000 kB\nSwapTotal: 2000000 kB\nSwapFree: 1000000 kB\n"
    then = finding("memory", {"/proc/meminfo": swapped})
    assert then.status is Status.NOTE
    assert then.cure is not None
    assert then.cure.command == "sudo swapoff -a"
    moved = finding("memory", {"/proc/vmstat": "pswpin 9\npswpout 7\n"}, {"/proc/vmstat": "pswpin 5\npswpout 7\n"})
    assert moved.status is Status.DISTURBS


def test_throttling_counts_only_while_we_look():
    path = f"{CPU}/cpu0/thermal_throttle/core_throttle_count"
    assert finding("thermal", {path: "7"}).status is Status.NOTE
    assert finding("thermal", {path: "7"}, {path: "5"}).found.startswith("throttled 2 times just now")


def test_isolated_processors_that_may_not_be_used():
    found = finding("isolation", {f"{CPU}/isolated": "2-3"})
    assert found.status is Status.DISTURBS
    assert found.cure is not None
    assert found.cure.command == "taskset -c 2-3 sciml-bench …"


def test_busy_processes_are_named_and_idle_ones_are_not():
    processes = (ProcessReading(11, "compiler", 0.9, own=True), ProcessReading(12, "sleeper", 0.01, own=True))
    found = finding("processes", processes=processes)
    assert found.status is Status.DISTURBS
    assert "compiler (process 11) 90 %" in found.found
    assert "sleeper" not in found.found
    assert found.cure is not None
    assert (found.cure.command, found.cure.root) == ("kill -STOP 11", False)
    others = finding("processes", processes=(ProcessReading(13, "theirs", 0.9, own=False),)).cure
    assert others is not None
    assert (others.command, others.undo, others.root) == ("sudo kill -STOP 13", "sudo kill -CONT 13", True)


def test_variables_that_reach_workers_are_told_from_those_that_do_not():
    found = examine(
        readings(
            variables=frozenset({"OMP_NUM_THREADS", "JAX_COMPILATION_CACHE_DIR", "LD_LIBRARY_PATH", "EDITOR"}),
            inherited=frozenset({"LD_LIBRARY_PATH", "EDITOR"}),
        )
    )
    told = {item.id: item for item in found if "variables" in item.id}
    assert told["thread_variables_outside"].found == "set, but workers do not get it: OMP_NUM_THREADS"
    assert told["cache_variables_outside"].found.endswith(": JAX_COMPILATION_CACHE_DIR")
    assert told["framework_variables"].found == "set, and workers get it: LD_LIBRARY_PATH"
    assert not any("EDITOR" in item.found for item in found)


def test_a_device_that_is_as_it_should_be_and_one_that_is_not():
    good = GpuReading(0, "H", True, 1980, 1980, (), 40, 0, 0)
    bad = GpuReading(1, "H", False, 900, 1980, ("power limit",), 91, 2, 30)
    found = {item.id: item for item in examine(readings(gpus=(good, bad))) if item.id.startswith("gpu")}
    assert {key for key, item in found.items() if item.status is Status.DISTURBS} == {
        "gpu1_persistence",
        "gpu1_clocks",
        "gpu1_processes",
        "gpu1_temperature",
    }
    assert "slowed by power limit" in found["gpu1_clocks"].found
    cure = found["gpu1_persistence"].cure
    assert cure is not None
    assert cure.command == "sudo nvidia-smi -i 1 -pm 1"


def test_a_device_that_cannot_be_asked_is_not_called_fine():
    found = finding("gpu", gpus=None, gpu_reason="no library")
    assert (found.status, found.found) == (Status.UNKNOWN, "no library")


def test_what_disturbs_comes_first():
    found = examine(readings(DISTURBED["aslr"]))
    assert found[0].id == "aslr"
    assert examination_document(found)["counts"]["disturbs"] == 1


@pytest.mark.parametrize("width", [60, 80, 200])
def test_commands_are_never_broken(width):
    found = examine(readings(DISTURBED["governor"] | NOTED["isolation"]))
    text = list(lines(found, width))
    for item in found:
        if item.cure and item.cure.command:
            assert any(line.endswith(f": {item.cure.command}") for line in text)
    assert all(len(line) <= width or "cure" in line or "afterwards" in line for line in text)


def test_the_files_of_a_host_are_found_below_its_root(tmp_path: Path):
    for path, text in (
        ("proc/self/cgroup", "4:memory:/x\n3:cpu,cpuacct:/box\n0::/box/inner\n"),
        ("proc/stat", "cpu  1 2 3 4 5 6 7 8 9 10\n"),
        ("sys/fs/cgroup/box/cpu.max", "100000 100000\n"),
        ("sys/fs/cgroup/box/inner/cpu.stat", "nr_throttled 3\n"),
        ("sys/fs/cgroup/other/cpu.max", "5 100000\n"),
        ("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n"),
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "schedutil\n"),
    ):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    seen = gather(0.01, tmp_path)
    assert seen.readable
    assert set(seen.matching("/sys/fs/cgroup*")) == {
        "/sys/fs/cgroup/box/cpu.max",
        "/sys/fs/cgroup/box/inner/cpu.stat",
        "/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us",
    }
    assert seen.text(f"{CPU}/cpu0/cpufreq/scaling_governor") == "schedutil"
    assert seen.window_s >= 0.01


def test_processors_are_in_the_order_of_their_numbers():
    files = {f"{CPU}/cpu{n}/cpufreq/scaling_governor": str(n) for n in (10, 9, 1)}
    assert list(Readings(before={}, after=files).matching(f"{CPU}/cpu*").values()) == ["1", "9", "10"]


def test_nothing_readable():
    assert not Readings(before={}, after={}).readable
