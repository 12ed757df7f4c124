"""Read-only facts from NVIDIA's management library about each device."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sciml_bench.host.extras import install_command

# Reasons for a reduced clock, by NVML's bits (nvml.h, nvmlClocksEventReason*). Idle and applications' own settings
# are no disturbance.
REASONS = {
    0x4: "power limit",
    0x8: "hardware slowdown",
    0x20: "software thermal limit",
    0x40: "hardware thermal limit",
    0x80: "power brake",
}


@dataclass(frozen=True)
class GpuReading:
    """One device. ``None`` where the driver does not report it. Clocks in MHz, ``temperature_c`` in degrees Celsius."""

    index: int
    name: str
    persistence: bool | None = None
    sm_clock_mhz: int | None = None
    max_sm_clock_mhz: int | None = None
    slowed_by: tuple[str, ...] = ()
    temperature_c: int | None = None
    processes: int | None = None
    utilisation_percent: int | None = None


def read_gpus(present: bool) -> tuple[tuple[GpuReading, ...] | None, str]:
    """Every device, or ``None`` and the reason where devices are present but cannot be asked."""
    try:
        nvml: Any = importlib.import_module("pynvml")
    except ImportError:
        return (None, f"its state needs nvidia-ml-py: {install_command('gpu')}") if present else ((), "")
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return (None, f"NVIDIA's driver does not answer: {error}") if present else ((), "")
    try:
        return tuple(_read(nvml, index) for index in range(nvml.nvmlDeviceGetCount())), ""
    except nvml.NVMLError as error:
        return None, f"NVIDIA's driver does not answer: {error}"
    finally:
        nvml.nvmlShutdown()


def _read(nvml: Any, index: int) -> GpuReading:
    device = nvml.nvmlDeviceGetHandleByIndex(index)

    def ask(question: Callable[..., Any], *arguments: Any) -> Any:
        # A device without a feature answers with an error; that is an answer like any other.
        try:
            return question(device, *arguments)
        except nvml.NVMLError:
            return None

    name = ask(nvml.nvmlDeviceGetName) or "unknown"
    persistence = ask(nvml.nvmlDeviceGetPersistenceMode)
    reasons = ask(nvml.nvmlDeviceGetCurrentClocksThrottleReasons) or 0
    processes = ask(nvml.nvmlDeviceGetComputeRunningProcesses)
    utilisation = ask(nvml.nvmlDeviceGetUtilizationRates)
    return GpuReading(
        index=index,
        name=name.decode() if isinstance(name, bytes) else name,
        persistence=None if persistence is None else bool(persistence),
        sm_clock_mhz=ask(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_SM),
        max_sm_clock_mhz=ask(nvml.nvmlDeviceGetMaxClockInfo, nvml.NVML_CLOCK_SM),
        slowed_by=tuple(name for bit, name in REASONS.items() if reasons & bit),
        temperature_c=ask(nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU),
        processes=None if processes is None else len(processes),
        utilisation_percent=None if utilisation is None else utilisation.gpu,
    )
