"""Our steady-state figure of a call against pyperf's of the same call.

    python benchmarks/against_pyperf.py                                       SciPy and Diffrax on Lotka-Volterra
    python benchmarks/against_pyperf.py lotka-volterra/scipy/rk45/forward/eager   another cell

A pair is one process of ours, the worker of every run, and one in which pyperf's ``Runner`` times the same program by
its own loops and clock. Both are pinned alike and take turns (see ``measure.protocol``), so that they see the
same moments of the machine; the order of the two alternates. From each comes the median of its steady calls of
``solve``. The table shows the median ratio over all pairs and its range. Exit code 1 when a median is off by more than
the bound. Needs pyperf, which the extra ``dev`` brings.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import os
import statistics
import sys
from typing import TextIO

from steady_task import RTOL, steady_task

from sciml_bench.adapters.program import Program
from sciml_bench.engine.group import measure_group
from sciml_bench.engine.limits import Limits
from sciml_bench.host.processes.process import Clock
from sciml_bench.measure import worker
from sciml_bench.measure.protocol import Channel, End, PointDone, Ready
from sciml_bench.measure.turn_token import SharedTurnToken
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import GradientResult, PointResult, SolveResult
from sciml_bench.record.task import Task

CELLS = ("lotka-volterra/scipy/rk45/forward/eager", "lotka-volterra/diffrax/tsit5/checkpointed/compiled")
BOUND = 0.03
LOOP_S = 2.0
# A value of pyperf is a mean over its loops: the longer it is, the more of what the machine did besides is in it.
VALUE_S = 1e-3
SIDES = ("ours", "pyperf")


def main() -> int:
    """Print the table; the exit code says whether every median is within the bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="*", default=CELLS, help="problem/adapter/method/sensitivity/mode")
    parser.add_argument("--pairs", type=int, default=10, help="pairs of processes a cell (default 10)")
    options = parser.parse_args()
    print(f"{'cell':<58} {'ours ms':>9} {'pyperf ms':>10} {'ratio':>7}  range")
    within = [compared(label, options.pairs) for label in options.cells]
    return 0 if all(within) else 1


def compared(label: str, pairs: int) -> bool:
    """One row of the table; whether it is within the bound."""
    found = [pair(label, SIDES if number % 2 else SIDES[::-1]) for number in range(pairs)]
    ratios = sorted(times["ours"] / times["pyperf"] for times in found)
    ratio = statistics.median(ratios)
    ours_ms, theirs_ms = (1e3 * statistics.median(times[side] for times in found) for side in SIDES)
    within = abs(ratio - 1) <= BOUND
    print(
        f"{label:<58} {ours_ms:>9.3f} {theirs_ms:>10.3f} {ratio:>7.3f}  [{ratios[0]:.3f}, {ratios[-1]:.3f}]"
        f"{'' if within else f'  off by more than {BOUND:.0%}'}",
        flush=True,
    )
    return within


def pair(label: str, order: tuple[str, ...]) -> dict[str, float]:
    """Seconds of a solve by either side."""
    task = steady_task(label, LOOP_S)
    tasks = [dataclasses.replace(task, options={"side": side}) for side in order]
    measurements = measure_group(tasks, Limits(timeout_s=120.0), command=(sys.executable, __file__, "--side"))
    times: dict[str, float] = {}
    for side, measurement in zip(order, measurements, strict=True):
        samples = measurement.points[0].solve.counted_ns
        if not samples:
            raise SystemExit(f"{label}: {measurement.outcome} {measurement.message}\n{measurement.stderr_tail}")
        times[side] = statistics.median(samples) / 1e9
    return times


class TaskAndBaton:
    """The standard input of a worker, of which the first line was read already."""

    def __init__(self, first: str, rest: TextIO):
        self._first, self._rest = first, rest

    def readline(self) -> str:
        """The next line."""
        line, self._first = self._first or self._rest.readline(), ""
        return line


def side_of_a_pair(limit_s: str, slice_s: str) -> None:
    """The process of one side."""
    channel = Channel.claim_stdout()
    line = sys.stdin.readline()
    task = Task.from_json(line)
    if task.options["side"] == "ours":
        worker.main([limit_s, slice_s], TaskAndBaton(line, sys.stdin), channel, Clock())  # pyright: ignore[reportArgumentType]
    else:
        pyperf_side(task, channel, float(slice_s))


def pyperf_side(task: Task, channel: Channel, slice_s: float) -> None:
    """The same program, built from the same task, timed by pyperf."""
    import numpy as np
    import pyperf

    clock = Clock()
    channel.send(Ready(clock.now_ns()))
    module, _, function = task.program.partition(":")
    program: Program = getattr(importlib.import_module(module), function)(task)
    inputs = program.prepare(np.array(task.numbers.theta), task.points[0])
    turn_token = SharedTurnToken(clock, channel.send, sys.stdin.readline, slice_s)

    def call() -> None:
        program.synchronise(program.solve(inputs))

    call()
    start_ns = clock.now_ns()
    call()
    call_s = (clock.now_ns() - start_ns) / 1e9
    loops = max(1, round(VALUE_S / call_s))

    def timed(count: int) -> float:
        # What pyperf's bench_func does; between two of its values the other side may have its turn.
        turn_token.between_calls()
        rounds = range(count)
        start = pyperf.perf_counter()
        for _ in rounds:
            call()
        return pyperf.perf_counter() - start

    values = str(max(30, round(LOOP_S / max(VALUE_S, call_s))))
    turn_token.wait(0)
    runner = pyperf.Runner()
    runner.parse_args(["--worker", "--loops", str(loops), "--warmups", "5", "--values", values])
    bench = runner.bench_time_func(task.cell.label, timed)
    assert bench is not None
    samples = tuple(round(1e9 * value) for value in bench.get_values())
    result = PointResult(
        RTOL, RTOL, Outcome.OK, solve=SolveResult(Outcome.OK, ns=samples), gradient=GradientResult(Outcome.OK)
    )
    channel.send(PointDone(0, result, complete=True))
    channel.send(End(Outcome.OK))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--side"]:
        side_of_a_pair(*sys.argv[2:])
        sys.stderr.flush()
        os._exit(0)
    sys.exit(main())
