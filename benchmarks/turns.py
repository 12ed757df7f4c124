"""What taking turns is worth on this machine: how far a cell is apart from itself, in turns and one after the other.

    python benchmarks/turns.py                                       SciPy on Lotka-Volterra
    python benchmarks/turns.py lotka-volterra/diffrax/tsit5/checkpointed/compiled --pairs 20

A pair is two fresh processes of the same cell. In turns their steady loops alternate in slices of milliseconds, as the
cells of a run's group do; else the second process starts when the first has ended. Pairs of the two kinds alternate.
The table shows the spread (standard deviation) of the log ratio of the two medians, and what change of a cell ten such
pairs find with a probability of 80 %. Exit code 1 when turns do not help.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Callable, Iterable

from steady_task import steady_task

from sciml_bench.engine.group import measure_cell, measure_group
from sciml_bench.engine.limits import Limits
from sciml_bench.record.record import Measurement
from sciml_bench.record.task import Task
from sciml_bench.stats.power import smallest_change

CELL = "lotka-volterra/scipy/rk45/forward/eager"
LIMITS = Limits(timeout_s=120.0)
BLOCKS = 10

Pair = Callable[[Task], Iterable[Measurement]]


def main() -> int:
    """Print the table; the exit code says whether the spread is smaller in turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cell", nargs="?", default=CELL, help="problem/adapter/method/sensitivity/mode")
    parser.add_argument("--pairs", type=int, default=12, help="pairs of each kind (default 12)")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of a steady loop (default 2)")
    options = parser.parse_args()
    task = steady_task(options.cell, options.seconds)
    kinds: dict[str, Pair] = {"in turns": in_turns, "one after the other": one_after_the_other}
    ratios: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(options.pairs):
        for name, pair in kinds.items():
            first, second = (seconds_of(measurement) for measurement in pair(task))
            ratios[name].append(math.log(second / first))
    print(f"{options.cell}, {options.pairs} pairs of each kind, loops of {options.seconds:g} s")
    print(f"{'':<22} {'spread':>8}   change that {BLOCKS} pairs find")
    spreads = {name: statistics.stdev(logs) for name, logs in ratios.items()}
    for name, spread in spreads.items():
        print(f"{name:<22} {spread:>8.1%}   {smallest_change(spread, BLOCKS):.1%}")
    return 0 if spreads["in turns"] < spreads["one after the other"] else 1


def in_turns(task: Task) -> Iterable[Measurement]:
    """Two processes whose loops alternate."""
    return measure_group([task, task], LIMITS)


def one_after_the_other(task: Task) -> Iterable[Measurement]:
    """Two processes, each alone."""
    return [measure_cell(task, LIMITS), measure_cell(task, LIMITS)]


def seconds_of(measurement: Measurement) -> float:
    """The median of the steady solves."""
    samples = measurement.points[0].solve.counted_ns
    if not samples:
        raise SystemExit(f"{measurement.outcome} {measurement.message}")
    return statistics.median(samples) / 1e9


if __name__ == "__main__":
    sys.exit(main())
