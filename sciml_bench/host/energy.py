"""Energy of the steady loops, from counters of the processor packages (RAPL) and of NVIDIA devices (NVML).

Counters are refreshed every millisecond (RAPL) to every 0.1 s (NVML, see arXiv 2312.02741), and count everything that
the package or device does: loops shorter than five seconds are not measurable, and the machine's idle power is
measured just before the worker starts and reported as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sciml_bench.host.nvidia import Gpu
from sciml_bench.host.processes.process import Clock

SHORTEST_WINDOW_S = 5.0
IDLE_WINDOW_S = 2.0

_POWERCAP = Path("/sys/class/powercap")
_MICROJOULES = 1e-6


@dataclass(frozen=True)
class EnergyCounter:
    """A counter of joules that only grows, but restarts from 0 at ``wraps_at`` if that is set."""

    name: str
    read: Callable[[], float]
    wraps_at: float | None = None

    def between(self, before: float, after: float) -> float:
        """The joules between two readings that are not a whole round apart."""
        grown = after - before
        return grown if grown >= 0 or self.wraps_at is None else grown + self.wraps_at


def energy_counters(device: str, powercap: Path = _POWERCAP) -> tuple[list[EnergyCounter], str]:
    """The counters for a cell's device, and why there are none."""
    counters, reason = _packages(powercap)
    gpu = Gpu.of(device)
    if gpu is not None and gpu.energy_joules() is not None:
        counters.append(EnergyCounter("gpu", lambda: gpu.energy_joules() or 0.0))
    return counters, "" if counters else reason


def _packages(powercap: Path) -> tuple[list[EnergyCounter], str]:
    """Processor packages and their memory. By default the kernel lets only root read them."""
    counters: list[EnergyCounter] = []
    reason = "this machine shows no energy counter of its processor"
    for folder in sorted(powercap.glob("*rapl:*")):
        try:
            name = (folder / "name").read_text(encoding="ascii").strip()
            if not name.startswith(("package", "dram")):
                continue
            path = folder / "energy_uj"
            float(path.read_text(encoding="ascii"))
            wraps_at = float((folder / "max_energy_range_uj").read_text(encoding="ascii")) * _MICROJOULES
        except PermissionError:
            reason = f"{folder / 'energy_uj'} may be read by root only"
            continue
        except (OSError, ValueError):
            continue
        counters.append(EnergyCounter(f"{name}@{folder.name}", _reader(path), wraps_at))
    return counters, reason


def _reader(path: Path) -> Callable[[], float]:
    return lambda: float(path.read_text(encoding="ascii")) * _MICROJOULES


class EnergyMeter:
    """Reads the counters around loops of calls and keeps the loops that were long enough."""

    def __init__(self, counters: Sequence[EnergyCounter], clock: Clock, reason: str = ""):
        self._counters = counters
        self._clock = clock
        self._reason = reason
        self._loops: list[dict[str, Any]] = []

    @contextmanager
    def loop(self, point: int, kind: str, calls: Callable[[], int]) -> Iterator[None]:
        """Measure the body, a loop of ``calls()`` calls; one that raises is not kept."""
        if not self._counters:
            yield
            return
        before, start_ns = self._read(), self._clock.now_ns()
        yield
        window_s = (self._clock.now_ns() - start_ns) / 1e9
        joules = self._joules(before, self._read())
        if window_s >= SHORTEST_WINDOW_S:
            found = {"point": point, "kind": kind, "joules": joules, "window_s": window_s, "calls": calls()}
            self._loops.append(found)

    def idle_watts(self) -> float | None:
        """The machine's power now, over two seconds in which this process sleeps."""
        if not self._counters:
            return None
        before, start_ns = self._read(), self._clock.now_ns()
        self._clock.sleep(IDLE_WINDOW_S)
        joules = self._joules(before, self._read())
        return joules / ((self._clock.now_ns() - start_ns) / 1e9)

    def report(self) -> dict[str, Any]:
        """The loops and their sums, or why there are none. Idle energy is not subtracted."""
        if not self._counters:
            return {"not_measurable": self._reason}
        if not self._loops:
            return {
                "not_measurable": f"no steady loop lasted {SHORTEST_WINDOW_S:g} s, the shortest that means something"
            }
        return {
            "joules": sum(loop["joules"] for loop in self._loops),
            "window_s": sum(loop["window_s"] for loop in self._loops),
            "idle_watts": None,
            "sources": [counter.name for counter in self._counters],
            "loops": self._loops,
        }

    def _read(self) -> list[float]:
        return [counter.read() for counter in self._counters]

    def _joules(self, before: Sequence[float], after: Sequence[float]) -> float:
        pairs = zip(self._counters, before, after, strict=True)
        return sum(counter.between(first, last) for counter, first, last in pairs)
