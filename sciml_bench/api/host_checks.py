"""The machine and the harness for programs: what disturbs timings here, and how far verdicts can be trusted."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sciml_bench.api.stored_run import RESULTS
from sciml_bench.errors import UsageError

if TYPE_CHECKING:
    from sciml_bench.analysis.selftest.store import SelfTest
    from sciml_bench.host.doctor.finding import Finding


def doctor(window_s: float = 1.0) -> tuple[Finding, ...]:
    """Look for sources of timing noise on this machine, the most disturbing first; nothing is changed.

    ``finding.found``, ``finding.why`` and ``finding.cure`` say what disturbs, why it matters, and how to remove it.
    Rates are sampled for ``window_s`` seconds.

    >>> {finding.status.value for finding in api.doctor(0.1)} <= {"disturbs", "note", "fine", "unknown"}
    True

    Raises:
        UsageError: nothing can be read, for example without /proc.
    """
    from sciml_bench.host.doctor import examine
    from sciml_bench.host.doctor.readings import gather

    readings = gather(window_s)
    if not readings.readable:
        raise UsageError("nothing can be read here: neither /proc nor /sys, nor the list of processes; mount /proc")
    return tuple(examine(readings))


def selftest(
    minutes: float = 10.0,
    *,
    seed: int = 0,
    out: Path | str = RESULTS,
    wait: bool = False,
    progress: Callable[[float], object] | None = None,
) -> SelfTest:
    """Measure how often verdicts are wrong on this machine, and which slowdowns they find.

    ``found.figures.passed`` is the answer; the figures are kept below ``out`` and head the reports of this machine.
    ``progress`` is called after each block with the share of the time that is used up.

    Raises:
        UsageError: the time was too short for figures.
        EngineError: another benchmark runs on this host; ``wait`` waits for it.
    """
    from sciml_bench.analysis.selftest.figures import figures
    from sciml_bench.analysis.selftest.store import Writer
    from sciml_bench.execution.selftest import Measured, measure, workload
    from sciml_bench.host.environment import environment_facts
    from sciml_bench.host.lock import host_lock

    def tell(_measured: Measured, share: float) -> None:
        if progress is not None:
            progress(share)

    measured, interrupted, chosen = Measured(), False, workload()
    with host_lock(label="api.selftest", wait_s=None if wait else 0.0):
        writer = Writer(Path(out), environment_facts(), datetime.datetime.now(datetime.UTC))
        try:
            measure(chosen, writer, measured, seconds=60 * minutes, seed=seed, tell=tell)
        except KeyboardInterrupt:
            interrupted = True
    try:
        found = figures(measured.series, seed)
    except ValueError as error:
        raise UsageError(f"too little to tell: {error}; give more minutes, or see {writer.folder}") from error
    return writer.finish(found, processes=measured.processes, noisy=measured.noisy, interrupted=interrupted)
