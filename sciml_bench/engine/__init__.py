"""Starts workers and waits for them: one fresh process per cell, on this host, one benchmark at a time."""

from __future__ import annotations

from sciml_bench.engine.cell_run import measures_energy
from sciml_bench.engine.limits import Limits, memory_limit_bytes
from sciml_bench.engine.local import EngineError, measure_cell, measure_group
from sciml_bench.engine.lock import host_lock
from sciml_bench.engine.measurement import Measurement

__all__ = [
    "EngineError",
    "Limits",
    "Measurement",
    "host_lock",
    "measure_cell",
    "measure_group",
    "measures_energy",
    "memory_limit_bytes",
]
