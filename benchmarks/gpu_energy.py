"""The energy of a steady loop on a GPU, as our meter has it, against an integral of the power that NVML reads.

    python benchmarks/gpu_energy.py
    python benchmarks/gpu_energy.py --seconds 30

The meter takes the difference of the device's own counter of joules. The check samples the device's momentary power
every 20 ms in another thread and integrates it by trapezoids; it shares no reading with the meter. Exit code 1 when
the two differ by more than 5 %.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

BOUND = 0.05
EVERY_S = 0.02


def main() -> int:
    """Print both numbers; the exit code says whether they agree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=12.0, help="length of the loop (default 12)")
    options = parser.parse_args()

    import torch

    from sciml_bench.host.energy import EnergyMeter, energy_counters
    from sciml_bench.host.processes.process import Clock

    counters, reason = energy_counters("gpu")
    of_gpu = [counter for counter in counters if counter.name == "gpu"]
    if not of_gpu or not torch.cuda.is_available():
        print(f"not measurable here: {reason or 'PyTorch sees no GPU'}")
        return 0
    matrix = torch.randn(8192, 8192, device="cuda")
    meter, calls = EnergyMeter(of_gpu, Clock()), 0
    idle_watts = meter.idle_watts()
    power = PowerLaw()
    # The device is under load before the loop begins, as a steady loop's is.
    until = time.monotonic() + 2.0
    while time.monotonic() < until:
        work(matrix)
    power.start()
    with meter.loop(0, "solve", lambda: calls):
        until = time.monotonic() + options.seconds
        while time.monotonic() < until:
            work(matrix)
            calls += 1
    joules = power.stop()
    told = meter.report()
    ratio = told["joules"] / joules
    print(f"idle {idle_watts:.1f} W; {calls} calls in {told['window_s']:.2f} s")
    print(f"meter {told['joules']:.1f} J, integral of {len(power.samples)} readings {joules:.1f} J, ratio {ratio:.4f}")
    return 0 if abs(ratio - 1.0) <= BOUND else 1


def work(matrix: Any) -> None:
    """One call that keeps the device busy."""
    import torch

    torch.mm(matrix, matrix)
    torch.cuda.synchronize()


class PowerLaw:
    """Samples the momentary power of the first device until it is stopped."""

    def __init__(self) -> None:
        from sciml_bench.host.nvidia import Gpu, library

        gpu, nvml = Gpu.of("gpu"), library()
        assert gpu is not None
        assert nvml is not None
        handle = gpu.handle

        def watts() -> float:
            (value,) = nvml.nvmlDeviceGetFieldValues(handle, [nvml.NVML_FI_DEV_POWER_INSTANT])
            # Older drivers have the mean of the last second only.
            milliwatts = value.value.uiVal if value.nvmlReturn == 0 else nvml.nvmlDeviceGetPowerUsage(handle)
            return milliwatts / 1e3

        self._watts, self._stopped = watts, threading.Event()
        self.samples: list[tuple[float, float]] = []
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def start(self) -> None:
        """Begin to sample."""
        self._thread.start()

    def stop(self) -> float:
        """The joules since the start."""
        self._stopped.set()
        self._thread.join()
        pairs = zip(self.samples, self.samples[1:], strict=False)
        return sum((later - earlier) * (a + b) / 2 for (earlier, a), (later, b) in pairs)

    def _sample(self) -> None:
        while not self._stopped.is_set():
            self._read()
            time.sleep(EVERY_S)
        self._read()

    def _read(self) -> None:
        watts = self._watts()
        self.samples.append((time.monotonic(), watts))


if __name__ == "__main__":
    sys.exit(main())
