"""NVIDIA devices through NVML (``nvidia-ml-py``, which imports as ``pynvml``): imported when a cell runs on one."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

# Reasons for lower clocks that disturb a measurement. The others are an idle device and clocks that somebody set.
_SLOWED_BY = (
    "HwPowerBrakeSlowdown",
    "HwSlowdown",
    "HwThermalSlowdown",
    "SwPowerCap",
    "SwThermalSlowdown",
    "SyncBoost",
)


_DRIVER = Path("/proc/driver/nvidia/gpus")


def uses_nvidia(device: str) -> bool:
    """Return whether a cell's device is one of NVIDIA's."""
    return device.partition(":")[0] in ("cuda", "gpu")


@cache
def library() -> Any | None:
    """NVML, ready for use; ``None`` without the package, the driver or a device."""
    try:
        nvml: Any = importlib.import_module("pynvml")
    except ImportError:
        return None
    try:
        nvml.nvmlInit()
        return nvml if nvml.nvmlDeviceGetCount() else None
    except nvml.NVMLError:
        return None


def is_present() -> bool:
    """Return whether the driver or NVML shows a device; imports no framework."""
    return any(_DRIVER.glob("*/information")) or library() is not None


class Gpu:
    """The device that a worker with these environment variables sees as its first."""

    def __init__(self, nvml: Any, variables: Mapping[str, str]):
        self._nvml = nvml
        first = variables.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0].strip() or "0"
        if first.isdigit():
            self.handle = nvml.nvmlDeviceGetHandleByIndex(int(first))
        else:
            self.handle = nvml.nvmlDeviceGetHandleByUUID(first)

    @classmethod
    def of(cls, device: str, variables: Mapping[str, str] | None = None) -> Gpu | None:
        """The device of a cell, ``None`` when it runs on the processor or NVML cannot be used."""
        nvml = library() if uses_nvidia(device) else None
        if nvml is None:
            return None
        try:
            return cls(nvml, os.environ if variables is None else variables)
        except nvml.NVMLError:
            return None

    def energy_joules(self) -> float | None:
        """Energy since the driver was loaded; ``None`` where the device does not count it."""
        millijoules = self._ask(lambda: self._nvml.nvmlDeviceGetTotalEnergyConsumption(self.handle))
        return None if millijoules is None else millijoules / 1e3

    def held_bytes(self, pids: Collection[int]) -> int | None:
        """Device memory that these processes hold, ``None`` if the driver does not report it (most containers)."""
        held = [process.usedGpuMemory for process in self._processes() if process.pid in pids]
        known = [size for size in held if size is not None]
        return sum(known) if known else None

    def state(self, pids: Collection[int] = ()) -> dict[str, Any]:
        """Clocks, temperature, reasons for lower clocks, and how many other processes compute on the device."""
        nvml, handle = self._nvml, self.handle
        return {
            "name": self._ask(lambda: nvml.nvmlDeviceGetName(handle)),
            "sm_mhz": self._ask(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
            "memory_mhz": self._ask(lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM)),
            "temperature_c": self._ask(lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
            "throttle_reasons": self._throttle_reasons(),
            "other_processes": sum(process.pid not in pids for process in self._processes()),
        }

    def _throttle_reasons(self) -> list[str]:
        """Names of the reasons that lower the clocks now."""
        nvml = self._nvml
        bits = self._ask(lambda: nvml.nvmlDeviceGetCurrentClocksEventReasons(self.handle)) or 0
        return [name for name in _SLOWED_BY if bits & getattr(nvml, f"nvmlClocksEventReason{name}", 0)]

    def _processes(self) -> list[Any]:
        return self._ask(lambda: self._nvml.nvmlDeviceGetComputeRunningProcesses(self.handle)) or []

    def _ask(self, question: Callable[[], Any]) -> Any | None:
        # Each driver and device answers some questions only.
        try:
            return question()
        except self._nvml.NVMLError:
            return None
