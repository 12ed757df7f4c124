"""The cost of checking the outputs of timed calls: its share of a standard process, and what it moves in the medians.

    python benchmarks/checking_cost.py                   cells of five frameworks
    python benchmarks/checking_cost.py CELL… [--pairs 40] [--rtol 1e-4,1e-8]

In the worker of each cell short steady loops alternate, with outputs kept and without; each pair gives
the ratio of its medians. Then the cell is measured as in profile standard, while a clock sums up the time that outputs
are kept and checked. One call in a check is not in the sum: it also measures memory, and is made in any case. Exit code
1 if a share is above its bound, or a median ratio outside its own with an interval (95 %) that excludes 1.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

CELLS = (
    "lotka-volterra/scipy/rk45/forward/eager",
    "lotka-volterra/scipy/rk45/forward/compiled",
    "lotka-volterra/diffrax/tsit5/checkpointed/compiled",
    "lotka-volterra/torchdiffeq/dopri5/discrete/eager",
    "robertson/tensorflow/bdf/forward/compiled",
)
MOST_SHARE, MOST_MOVED = 0.01, 0.005
LOOP_S, CALLS, SETTLING = 0.25, 9, 4


def main() -> int:
    """Print a line for each kind of call and tolerance, and for each cell's share."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="*", metavar="CELL", help="problem/adapter/method/sensitivity/mode")
    parser.add_argument("--pairs", type=int, default=40, help="pairs of loops (default 40)")
    parser.add_argument("--rtol", default="1e-4,1e-8", help="tolerances (default 1e-4,1e-8)")
    options = parser.parse_args()
    rtols = [float(word) for word in options.rtol.split(",")]
    print(f"{'cell':<52} {'call':<9} {'rtol':>7} {'ms':>9} {'ratio':>8}  interval")
    within = [shown(label, rtols, options.pairs) for label in options.cells or CELLS]
    return 0 if all(within) else 1


def shown(label: str, rtols: list[float], pairs: int) -> bool:
    """Measure a cell in a worker and print its lines."""
    from steady_task import steady_task

    from sciml_bench.engine.group import measure_cell
    from sciml_bench.engine.limits import Limits
    from sciml_bench.planning.profiles import profile_named

    standard = profile_named("standard")
    points = tuple(point for point in standard.points if point.rtol in rtols)
    task = dataclasses.replace(steady_task(label, 1.0), sampling=standard.sampling, points=points)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.json"
        command = (sys.executable, __file__, "--worker", str(pairs), str(path))
        measurement = measure_cell(task, Limits(600.0), command=command)
        if not path.is_file():
            print(f"{label}: {measurement.outcome}: {measurement.message}")
            return False
        found = json.loads(path.read_text())
    good = True
    for row in found["rows"]:
        low, middle, high = interval(row["ratios"])
        bad = abs(middle - 1) > MOST_MOVED and not low <= 1 <= high
        good &= not bad
        print(
            f"{label:<52} {row['call']:<9} {row['rtol']:>7.0e} {row['ms']:>9.4f} {middle:>8.4f}  "
            f"[{low:.4f}, {high:.4f}]{' outside' * bad}"
        )
    share = found["checks_s"] / (found["wall_s"] - found["pairs_s"])
    good &= share <= MOST_SHARE
    print(f"{label:<52} {'share':<9} {share:>7.2%} of {found['wall_s'] - found['pairs_s']:.1f} s", flush=True)
    return good


def interval(ratios: list[float]) -> tuple[float, float, float]:
    """The median with its 95 % interval of order statistics."""
    from scipy.stats import binom

    ordered = sorted(ratios)
    rank = int(binom.ppf(0.025, len(ordered), 0.5))
    return ordered[max(0, rank - 1)], statistics.median(ordered), ordered[min(len(ordered) - 1, len(ordered) - rank)]


def is_filled(count: int, seconds: float) -> bool:
    """Whether a loop is long enough for a median."""
    return count >= CALLS and seconds > LOOP_S


def worker(pairs: int, path: Path) -> int:
    """A worker whose clock also times the checks; it writes what it found beside its reports."""
    from sciml_bench.measure import loop_checks, point_runner, sampling, worker
    from sciml_bench.measure.answers import Answers

    start_s, found = time.perf_counter(), dict[str, Any](rows=[], checks_s=0.0, pairs_s=0.0)

    def timed(function: Callable[..., Any], sign: int = 1) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            began_s = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                found["checks_s"] += sign * (time.perf_counter() - began_s)

        return call

    offer, measure_steady = Answers.offer, point_runner.CellMeasurer._measure_steady

    def pairs_first(runner: Any, half: Any, call: Any, index: int) -> None:
        began_s = time.perf_counter()
        thetas, ratios = runner._thetas(call, index, 0), list[float]()
        medians: dict[bool, float] = {}
        # In turn the one and the other first, so that a process that still becomes faster favours none; and it has
        # settled after the first pairs.
        for pair in range(-SETTLING, pairs):
            for kept in (True, False) if pair % 2 else (False, True):
                loop = sampling.Loop.checked() if kept else sampling.Loop()
                clock, sampled = runner._phases.clock, runner._task.sampling
                loop.fill(call, thetas, clock, 60.0, is_filled, batched=sampled)
                medians[kept] = statistics.median(loop.ns)
            if pair >= 0:
                ratios.append(medians[True] / medians[False])
        rtol = runner._task.points[index].rtol
        found["rows"].append({"call": call.kind, "rtol": rtol, "ms": medians[False] / 1e6, "ratios": ratios})
        found["pairs_s"] += time.perf_counter() - began_s
        Answers.offer = timed(offer)
        measure_steady(runner, half, call, index)
        Answers.offer = offer

    point_runner.CellMeasurer._measure_steady = pairs_first
    loop_checks.working_bytes = timed(loop_checks.working_bytes, -1)
    point_runner.check_loop = timed(loop_checks.check_loop)
    status = worker.serve(worker.main)
    found["wall_s"] = time.perf_counter() - start_s
    path.write_text(json.dumps(found))
    return status


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        _, pairs, path = sys.argv[1:4]
        del sys.argv[1:4]
        os._exit(worker(int(pairs), Path(path)))
    sys.exit(main())
