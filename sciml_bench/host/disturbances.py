"""The definition of a disturbed measurement: one rule, fixed in advance, for every worker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sciml_bench.host.conditions import Conditions

OTHER_CPUS = 0.25
"""Processors that other processes keep busy on average. On large machines 5 % of the processors, if that is more."""

OTHER_SHARE = 0.05

STOLEN_CPUS = 0.02
"""Processors that the host gives to other virtual machines on average."""

DISPLACED_CPUS = 0.05
"""Of the worker's own processors, how much other processes took on average, per processor. Involuntary context
switches are recorded and not judged: the threads of one framework displace each other hundreds of times a second."""

LOAD_ABOVE_CPUS = 1.0
"""Runnable processes above the number of processors, on average over the minute before."""

CLOCK_GAP_S = 0.1

CLOCK_GAP_SHARE = 1e-3
"""By how much the clock of the day may part from the measuring one: an adjustment of it is slower than this share."""


def disturbances(conditions: Conditions, *, threads: int, processors: int) -> list[str]:
    """Return why a measurement under these conditions is noisy, each as ``id: sentence``; empty when it is not."""
    before, after, during = (conditions.get(name, {}) for name in ("before", "after", "during"))
    return [*_meanwhile(during, threads, processors), *_state(before, after, processors), *_gpu(before, after, during)]


def _meanwhile(during: Conditions, threads: int, processors: int) -> Iterator[str]:
    limit = max(OTHER_CPUS, OTHER_SHARE * processors)
    if _above(during.get("other_cpus"), limit):
        yield f"other_load: other processes kept {during['other_cpus']:g} processors busy (limit {limit:g})"
    if _above(during.get("stolen_cpus"), STOLEN_CPUS):
        yield f"stolen: the host took {during['stolen_cpus']:g} processors away (limit {STOLEN_CPUS:g})"
    limit = DISPLACED_CPUS * threads
    if _above(during.get("displaced_cpus"), limit):
        yield f"displaced: others took {during['displaced_cpus']:g} of the worker's own processors (limit {limit:g})"
    gap_s = abs(during.get("clock_gap_s") or 0.0)
    if gap_s > CLOCK_GAP_S + CLOCK_GAP_SHARE * max(during.get("wall_s") or 0.0, 0.0):
        yield f"clock: the clock of the day went {gap_s:g} s apart from the measuring clock"


def _state(before: Conditions, after: Conditions, processors: int) -> Iterator[str]:
    limit = processors + LOAD_ABOVE_CPUS
    if _above(before.get("load_1min"), limit):
        yield f"load: the load average was {before['load_1min']:g} before the start (limit {limit:g})"
    slowed = (after.get("throttle_count") or 0) - (before.get("throttle_count") or 0)
    if slowed > 0:
        yield f"throttled: the processor was slowed {slowed} times for its heat"
    hot_c = after.get("temperature_limit_c")
    if hot_c and _above(after.get("temperature_c"), hot_c):
        yield f"hot: the processor was at {after['temperature_c']:g} °C (limit {hot_c:g} °C)"


def _gpu(before: Conditions, after: Conditions, during: Conditions) -> Iterator[str]:
    gpus = [*before.get("gpus", ()), *after.get("gpus", ())]
    others = max((gpu.get("other_processes") or 0 for gpu in gpus), default=0)
    if others:
        yield f"gpu_shared: {others} other processes computed on the GPU"
    slowed = during.get("gpu_throttle_reasons") or ()
    if slowed:
        yield f"gpu_throttled: the GPU was slowed ({', '.join(slowed)})"


def _above(value: Any, limit: float) -> bool:
    return value is not None and value > limit
