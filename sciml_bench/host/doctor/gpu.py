"""Findings about NVIDIA devices."""

from __future__ import annotations

from collections.abc import Iterator

from sciml_bench.host.doctor.finding import Cure, Finding, Status
from sciml_bench.host.doctor.gpu_readings import GpuReading
from sciml_bench.host.doctor.readings import Readings

_HOT_C = 80
_BUSY_PERCENT = 5


def devices(readings: Readings) -> Iterator[Finding]:
    """Everything about every device; nothing if there is none."""
    if readings.gpus is None:
        yield Finding("gpu", "GPU", Status.UNKNOWN, readings.gpu_reason)
        return
    for gpu in readings.gpus:
        yield _persistence(gpu)
        yield _clocks(gpu)
        yield from _company(gpu)
        yield from _heat(gpu)


def _persistence(gpu: GpuReading) -> Finding:
    key, title = f"gpu{gpu.index}_persistence", f"GPU {gpu.index} persistence"
    if gpu.persistence is None:
        return Finding(key, title, Status.UNKNOWN, f"{gpu.name} does not report")
    if gpu.persistence:
        return Finding(key, title, Status.FINE, "on")
    return Finding(
        key,
        title,
        Status.DISTURBS,
        "off",
        "the driver is unloaded with the last process and loaded again by the next: seconds in every time to the "
        "first gradient",
        Cure(f"sudo nvidia-smi -i {gpu.index} -pm 1", root=True, undo=f"sudo nvidia-smi -i {gpu.index} -pm 0"),
    )


def _clocks(gpu: GpuReading) -> Finding:
    key, title = f"gpu{gpu.index}_clocks", f"GPU {gpu.index} clocks"
    if gpu.sm_clock_mhz is None or gpu.max_sm_clock_mhz is None:
        return Finding(key, title, Status.UNKNOWN, f"{gpu.name} does not report")
    found = f"{gpu.sm_clock_mhz} of {gpu.max_sm_clock_mhz} MHz now"
    if gpu.slowed_by:
        advice = "cool it, raise its power limit, or lock a clock that it can hold"
        why = "the device lowers its own clock in the middle of a run"
        found += f", slowed by {' and '.join(gpu.slowed_by)}"
        return Finding(key, title, Status.DISTURBS, found, why, _lock(gpu, advice))
    why = "without a lock the clock follows load and heat; the driver does not report whether it is locked"
    return Finding(key, title, Status.NOTE, found, why, _lock(gpu, "a lower clock that it holds for hours is better"))


def _lock(gpu: GpuReading, advice: str) -> Cure:
    clock = gpu.max_sm_clock_mhz
    command = f"sudo nvidia-smi -i {gpu.index} --lock-gpu-clocks={clock},{clock}"
    return Cure(command, root=True, undo=f"sudo nvidia-smi -i {gpu.index} --reset-gpu-clocks", advice=advice)


def _company(gpu: GpuReading) -> Iterator[Finding]:
    key, title = f"gpu{gpu.index}_processes", f"GPU {gpu.index} other processes"
    busy = (gpu.utilisation_percent or 0) >= _BUSY_PERCENT
    if gpu.processes is None and gpu.utilisation_percent is None:
        yield Finding(key, title, Status.UNKNOWN, f"{gpu.name} does not report")
    elif gpu.processes or busy:
        yield Finding(
            key,
            title,
            Status.DISTURBS if busy else Status.NOTE,
            f"{gpu.processes or 'unknown'} compute processes, {gpu.utilisation_percent or 0} % busy",
            "kernels of other processes take turns with the measured ones",
            Cure("nvidia-smi --query-compute-apps=pid,name,used_memory --format=csv", advice="end what you find"),
        )
    else:
        yield Finding(key, title, Status.FINE, "none")


def _heat(gpu: GpuReading) -> Iterator[Finding]:
    if gpu.temperature_c is not None and gpu.temperature_c >= _HOT_C:
        yield Finding(
            f"gpu{gpu.index}_temperature",
            f"GPU {gpu.index} temperature",
            Status.DISTURBS,
            f"{gpu.temperature_c} °C",
            "a hot device lowers its clock until it has cooled",
            Cure(advice="let it cool, or lock a lower clock"),
        )


CHECKS = (devices,)
