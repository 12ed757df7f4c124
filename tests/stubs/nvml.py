"""A made-up NVML: one device whose answers tests set."""

from __future__ import annotations

import types
from typing import Any


class NVMLError(Exception):
    pass


class Process(types.SimpleNamespace):
    pid: int
    usedGpuMemory: int | None


class FakeNvml(types.ModuleType):
    """The functions of ``pynvml`` that are used. A question without an answer is refused, as by an old device."""

    NVMLError = NVMLError
    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0
    nvmlClocksEventReasonGpuIdle = 1
    nvmlClocksEventReasonApplicationsClocksSetting = 2
    nvmlClocksEventReasonSwPowerCap = 4
    nvmlClocksEventReasonHwThermalSlowdown = 64

    def __init__(self, devices: int = 1, **answers: Any):
        super().__init__("pynvml")
        self.devices = devices
        self.answers = answers
        self.asked: list[Any] = []

    def nvmlInit(self) -> None:
        if not self.devices:
            raise NVMLError("NVML Shared Library Not Found")

    def nvmlDeviceGetCount(self) -> int:
        return self.devices

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        if index >= self.devices:
            raise NVMLError("Invalid Argument")
        self.asked.append(index)
        return index

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> int:
        self.asked.append(uuid)
        return 0

    def _answer(self, name: str) -> Any:
        if name not in self.answers:
            raise NVMLError("Not Supported")
        return self.answers[name]

    def nvmlDeviceGetName(self, _handle: int) -> str:
        return self._answer("name")

    def nvmlDeviceGetClockInfo(self, _handle: int, clock: int) -> int:
        return self._answer("clocks")[clock - 1]

    def nvmlDeviceGetTemperature(self, _handle: int, _sensor: int) -> int:
        return self._answer("temperature")

    def nvmlDeviceGetCurrentClocksEventReasons(self, _handle: int) -> int:
        return self._answer("reasons")

    def nvmlDeviceGetComputeRunningProcesses(self, _handle: int) -> list[Process]:
        return self._answer("processes")

    def nvmlDeviceGetTotalEnergyConsumption(self, _handle: int) -> int:
        return self._answer("millijoules")

    def nvmlDeviceGetEnforcedPowerLimit(self, _handle: int) -> int:
        return self._answer("power_limit")

    def nvmlDeviceGetMigMode(self, _handle: int) -> tuple[int, int]:
        return self._answer("mig")

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("nvmlDevice", "nvmlSystem")):
            return lambda *_: self._answer(name)
        raise AttributeError(name)
