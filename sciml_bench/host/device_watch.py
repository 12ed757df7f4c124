"""A worker's use of its GPU while it runs: its memory, and reasons for lowered clocks."""

from __future__ import annotations

from collections.abc import Collection

from sciml_bench.host.nvidia import Gpu


class DeviceWatch:
    """The largest memory and all reasons for lower clocks seen so far."""

    def __init__(self, gpu: Gpu):
        self._gpu = gpu
        self.peak_bytes: int | None = None
        self.throttle_reasons: set[str] = set()

    def look(self, pids: Collection[int]) -> None:
        """Look once; ``pids`` are the worker and its children."""
        held = self._gpu.held_bytes(pids)
        if held is not None:
            self.peak_bytes = max(held, self.peak_bytes or 0)
        self.throttle_reasons.update(self._gpu.state(pids)["throttle_reasons"])
