"""The fixed rule by which a measurement counts as disturbed."""

from __future__ import annotations

from typing import Any

import pytest

from sciml_bench.host.disturbances import disturbances

QUIET: dict[str, Any] = {
    "before": {
        "load_1min": 1.2,
        "cpu_mhz": 3000.0,
        "throttle_count": 7,
        "temperature_c": 60.0,
        "temperature_limit_c": 90.0,
    },
    "after": {
        "load_1min": 1.9,
        "cpu_mhz": 2000.0,
        "throttle_count": 7,
        "temperature_c": 89.0,
        "temperature_limit_c": 90.0,
    },
    "during": {
        "wall_s": 60.0,
        "other_cpus": 0.2,
        "stolen_cpus": 0.01,
        "displaced_cpus": 0.03,
        "involuntary_switches_per_s": 800.0,
        "clock_gap_s": 0.02,
    },
}


def changed(when: str, **changes: Any) -> dict[str, Any]:
    return QUIET | {when: QUIET[when] | changes}


def reasons(conditions: dict[str, Any], threads: int = 1, processors: int = 2) -> list[str]:
    return disturbances(conditions, threads=threads, processors=processors)


def test_quiet_machine_is_not_noisy():
    assert reasons(QUIET) == []


def test_machine_that_shows_nothing_is_not_called_noisy():
    nothing = {"load_1min": 0.0, "cpu_mhz": None, "throttle_count": None, "temperature_c": None}
    assert reasons({"before": nothing, "after": nothing, "during": {"wall_s": 0.0, "clock_gap_s": 0.0}}) == []
    assert reasons({}) == []


@pytest.mark.parametrize(
    ("when", "changes", "reason"),
    [
        ("during", {"other_cpus": 0.9}, "other_load: other processes kept 0.9 processors busy (limit 0.25)"),
        ("during", {"stolen_cpus": 0.05}, "stolen: the host took 0.05 processors away (limit 0.02)"),
        (
            "during",
            {"displaced_cpus": 0.3},
            "displaced: others took 0.3 of the worker's own processors (limit 0.05)",
        ),
        ("during", {"clock_gap_s": -3600.0}, "clock: the clock of the day went 3600 s apart from the measuring clock"),
        ("before", {"load_1min": 3.5}, "load: the load average was 3.5 before the start (limit 3)"),
        ("after", {"throttle_count": 9}, "throttled: the processor was slowed 2 times for its heat"),
        ("after", {"temperature_c": 91.0}, "hot: the processor was at 91 °C (limit 90 °C)"),
        ("before", {"gpus": [{"other_processes": 2}]}, "gpu_shared: 2 other processes computed on the GPU"),
        ("during", {"gpu_throttle_reasons": ["SwPowerCap"]}, "gpu_throttled: the GPU was slowed (SwPowerCap)"),
    ],
)
def test_each_disturbance_has_its_reason(when: str, changes: dict[str, Any], reason: str):
    assert reasons(changed(when, **changes)) == [reason]


def test_limits_grow_with_the_threads_and_the_machine():
    busy = changed("during", other_cpus=2.0, displaced_cpus=0.08)
    assert len(reasons(busy)) == 2
    assert reasons(busy, threads=2, processors=64) == []


def test_clock_may_drift_a_little_over_a_long_measurement():
    assert reasons(changed("during", clock_gap_s=0.5, wall_s=600.0)) == []
    assert len(reasons(changed("during", clock_gap_s=0.5, wall_s=60.0))) == 1
