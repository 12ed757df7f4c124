"""Energy of loops, from made-up counters and a clock that advances by a known amount."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from stubs.clock import FakeClock

from sciml_bench.host.energy import EnergyCounter, EnergyMeter, energy_counters


def powercap(folder: Path, **domains: tuple[str, int, int]) -> Path:
    """A folder like the kernel's: name, microjoules and range of each domain."""
    for domain, (name, energy_uj, range_uj) in domains.items():
        path = folder / domain.replace("_", ":")
        path.mkdir(parents=True)
        (path / "name").write_text(f"{name}\n")
        (path / "energy_uj").write_text(f"{energy_uj}\n")
        (path / "max_energy_range_uj").write_text(f"{range_uj}\n")
    return folder


class Draws:
    """A counter of something that draws a known power on a fake clock."""

    def __init__(self, clock: FakeClock, watts: float):
        self.clock, self.watts = clock, watts

    def counter(self, wraps_at: float | None = None) -> EnergyCounter:
        def joules() -> float:
            total = self.watts * self.clock.ns / 1e9
            return total if wraps_at is None else total % wraps_at

        return EnergyCounter("package-0", joules, wraps_at)


def meter(clock: FakeClock, watts: float = 50.0, wraps_at: float | None = None) -> EnergyMeter:
    return EnergyMeter([Draws(clock, watts).counter(wraps_at)], clock)


def test_packages_and_their_memory_are_counted_and_nothing_twice(tmp_path: Path):
    folder = powercap(
        tmp_path,
        **{
            "intel-rapl_0": ("package-0", 2_000_000, 10**9),
            "intel-rapl_0_0": ("core", 1_500_000, 10**9),
            "intel-rapl_0_1": ("dram", 500_000, 10**9),
            "intel-rapl_1": ("psys", 9_000_000, 10**9),
        },
    )
    counters, reason = energy_counters("cpu", folder)
    assert {counter.name: counter.read() for counter in counters} == {
        "package-0@intel-rapl:0": 2.0,
        "dram@intel-rapl:0:1": 0.5,
    }
    assert reason == ""
    assert counters[0].wraps_at == 1000.0


def test_machine_without_counters_is_not_measurable(tmp_path: Path):
    counters, reason = energy_counters("cpu", tmp_path / "nowhere")
    assert counters == []
    clock = FakeClock()
    silent = EnergyMeter(counters, clock, reason)
    with silent.loop(0, "solve", lambda: 1):
        clock.sleep(60)
    assert silent.report() == {"not_measurable": "this machine shows no energy counter of its processor"}
    assert silent.idle_watts() is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_counters_that_only_root_may_read_are_named(tmp_path: Path):
    folder = powercap(tmp_path, **{"intel-rapl_0": ("package-0", 1, 10)})
    (folder / "intel-rapl:0/energy_uj").chmod(0)
    assert "may be read by root only" in energy_counters("cpu", folder)[1]


def test_refused_counter_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = powercap(tmp_path, **{"intel-rapl_0": ("package-0", 1, 10)})
    read = Path.read_text

    def refuse(path: Path, **options: str) -> str:
        if path.name == "energy_uj":
            raise PermissionError(13, "Permission denied")
        return read(path, **options)

    monkeypatch.setattr(Path, "read_text", refuse)
    counters, reason = energy_counters("cpu", folder)
    assert counters == []
    assert reason == f"{folder}/intel-rapl:0/energy_uj may be read by root only"


def test_long_loop_has_its_joules_and_calls():
    clock = FakeClock()
    measured = meter(clock)
    for point, kind, seconds in ((0, "solve", 6.0), (0, "gradient", 4.9), (1, "solve", 10.0)):
        with measured.loop(point, kind, lambda: 30):
            clock.sleep(seconds)
    report = measured.report()
    assert [(loop["point"], loop["kind"], loop["calls"]) for loop in report["loops"]] == [
        (0, "solve", 30),
        (1, "solve", 30),
    ]
    assert report["joules"] == pytest.approx(800.0)
    assert report["window_s"] == pytest.approx(16.0)
    assert report["sources"] == ["package-0"]


def test_short_loops_are_not_measurable():
    clock = FakeClock()
    measured = meter(clock)
    with measured.loop(0, "solve", lambda: 1000):
        clock.sleep(1.0)
    assert measured.report() == {
        "not_measurable": "no steady loop lasted 5 s, the shortest that means something",
    }


def test_loop_that_fails_is_not_kept():
    clock = FakeClock()
    measured = meter(clock)

    def fail() -> None:
        with measured.loop(0, "solve", lambda: 1):
            clock.sleep(60.0)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert "not_measurable" in measured.report()


def test_counter_that_starts_again_loses_nothing():
    clock = FakeClock()
    measured = meter(clock, watts=50.0, wraps_at=450.0)
    clock.sleep(5.0)
    with measured.loop(0, "solve", lambda: 3):
        clock.sleep(8.0)
    assert measured.report()["joules"] == pytest.approx(400.0)


def test_idle_power_is_taken_while_nothing_runs():
    clock = FakeClock()
    assert meter(clock, watts=12.5).idle_watts() == pytest.approx(12.5)
    assert clock.ns == 2_000_000_000
