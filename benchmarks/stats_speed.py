"""How long the statistics take for the records of a large study.

    python benchmarks/stats_speed.py                   100 000 records of 30 iterations, 10 to a cell
    python benchmarks/stats_speed.py --records 10000   a smaller study

Everything that a report and a comparison compute is timed, each step once: reducing every record to its median and
variation, a centre with its interval for each cell, paired ratios of one half of the cells to the other, the two-level
bootstrap of every one of them, verdicts over the family, variance components of 100 pilots, a geometric mean and
performance profiles. All of it runs on one thread. Exit code 1 when its processor time is
above the bound; the wall time beside it also holds what else the machine was doing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sciml_bench.stats import aggregate, bootstrap, location, ratio, spread, verdict

BOUND_S = 5.0
PROCESSES, ITERATIONS, SOLVERS = 10, 30, 20

Result = TypeVar("Result")


def main() -> int:
    """Print a line a step; the exit code says whether the total is within the bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000, help="how many (default 100000)")
    options = parser.parse_args()
    cells = records(max(2 * SOLVERS, options.records // PROCESSES))
    steps = Steps()
    study(cells, steps)
    steps.show("total", steps.wall_s, steps.processor_s)
    print(f"{len(cells) * PROCESSES} records; the bound is {BOUND_S:g} s")
    return 0 if steps.processor_s < BOUND_S else 1


class Steps:
    """Times steps and prints each: seconds on the wall and of the processor."""

    def __init__(self) -> None:
        self.wall_s = self.processor_s = 0.0
        print(f"{'':<44} {'wall s':>8} {'processor s':>12}")

    def __call__(self, name: str, step: Callable[[], Result]) -> Result:
        wall_s, processor_s = time.perf_counter(), time.process_time()
        result = step()
        wall_s, processor_s = time.perf_counter() - wall_s, time.process_time() - processor_s
        self.wall_s += wall_s
        self.processor_s += processor_s
        self.show(name, wall_s, processor_s)
        return result

    def show(self, name: str, wall_s: float, processor_s: float) -> None:
        """Print a line."""
        print(f"{name:<44} {wall_s:8.3f} {processor_s:12.3f}")


def records(cells: int) -> list[list[list[float]]]:
    """Iterations of each process of each cell, as they are read from a file: lists of numbers, of unequal lengths.

    2 % between processes and 1 % within, 5 % of iterations disturbed. One cell in ten of the second half is slower.
    """
    random = np.random.default_rng(0)
    logs = random.normal(0, 0.02, (cells, PROCESSES, 1)) + random.normal(0, 0.01, (cells, PROCESSES, ITERATIONS))
    logs += np.where(random.random(logs.shape) < 0.05, random.exponential(0.2, logs.shape), 0)
    logs[cells // 2 :: 10] += 0.2
    lengths = random.integers(ITERATIONS - 5, ITERATIONS, (cells, PROCESSES), endpoint=True)
    return [
        [process[:length] for process, length in zip(cell, of, strict=True)]
        for cell, of in zip(np.exp(logs).tolist(), lengths.tolist(), strict=True)
    ]


def study(cells: list[list[list[float]]], timed: Steps) -> None:
    """All the statistics of a study, a step at a time."""
    half = len(cells) // 2
    base, new = cells[:half], cells[half : 2 * half]
    reduced = timed("medians and variation of records", lambda: [[*map(spread.iterations, cell)] for cell in cells])
    timed("centres of cells with intervals", lambda: [location.centre(cell) for cell in reduced])
    medians = [[process.median for process in cell if process is not None] for cell in reduced]
    pairs = list(zip(medians[:half], medians[half : 2 * half], strict=True))
    found = timed("paired ratios", lambda: {key: ratio.paired_ratio(*pair) for key, pair in enumerate(pairs)})
    timed("two-level bootstrap, 10 000 resamples each", lambda: [*map(bootstrap.hierarchical_ratio, base, new)])
    judged = timed("verdicts over the family", lambda: verdict.judge(found))
    timed("geometric mean of all ratios", lambda: aggregate.geometric_mean(each.estimate for each in found.values()))
    costs = {solver: dict(enumerate(each[0] for each in medians[solver::SOLVERS])) for solver in range(SOLVERS)}
    fewest = min(map(len, costs.values()))
    whole = {solver: {p: of[p] for p in range(fewest)} for solver, of in costs.items()}
    timed(f"profiles of {SOLVERS} solvers, {fewest} problems", lambda: aggregate.performance_profile(whole))
    words = Counter(str(each.verdict) for each in judged.values())
    print(f"{len(found)} comparisons: " + ", ".join(f"{number} {word}" for word, number in words.most_common()))


if __name__ == "__main__":
    sys.exit(main())
