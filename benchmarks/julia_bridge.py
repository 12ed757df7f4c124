"""What the bridge to Julia costs, and what our Julia code costs over an expert's, measured in one run.

    python benchmarks/julia_bridge.py                      every problem
    python benchmarks/julia_bridge.py --problem robertson  only this one

Julia must be set up (`sciml-bench julia setup`), with what the expert's code loads added to its project:
BenchmarkTools, ForwardDiff, OrdinaryDiffEqRosenbrock, OrdinaryDiffEqTsit5, SciMLBase, SparseArrays and StaticArrays;
for the neural ODEs also ComponentArrays, Lux, Random, SciMLSensitivity and Zygote.
For solve and gradient there are three times of one call: across juliacall, as our workers time it; the same Julia
code inside Julia, by BenchmarkTools; and the expert's version (`handwritten/julia_*.jl`), by BenchmarkTools.
They take turns in short slices, in random order, so that whatever else the machine does meets all three; each round
gives ratios, and the table shows their medians with a 95 % interval (of order statistics). Results are compared
before anything is timed. Exit code 1 when a median is past its bound.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent)]

# Problem → method, kind of gradient and rtol. The solves take from tens of microseconds to tens of milliseconds.
CASES = {
    "lotka-volterra": ("tsit5", "forward", 1e-8),
    "robertson": ("rodas5p", "forward", 1e-8),
    "brusselator-2d": ("rodas5p", "forward", 1e-6),
    "spiral-node": ("tsit5", "gauss-reversediff", 1e-6),
    "small-node": ("tsit5", "gauss-reversediff", 1e-6),
}
ACROSS_BOUND = 1.02
"""For calls of a millisecond and more: the bridge's cost does not depend on how long a call takes."""
LONG_NS = 1e6
EXPERT_BOUND = 1.05
AGREEMENT = 1e-3
FEWEST_ROUNDS = 15
CALLS = ("solve_call", "gradient_call")


def main() -> int:
    """Print the table; the exit code says whether every median is within its bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", action="append", choices=CASES, help="only this problem; may be repeated")
    parser.add_argument("--rounds", type=int, default=201, help="most rounds of a row (default 201)")
    parser.add_argument("--seconds", type=float, default=0.05, help="seconds of each time in a round (default 0.05)")
    parser.add_argument(
        "--row-seconds", type=float, default=60.0,
        help=f"where calls are long, rounds end after so many seconds, but not before {FEWEST_ROUNDS} (default 60)",
    )  # fmt: skip
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        for problem in options.problem:
            for row in rows(problem, options):
                print(json.dumps(row), file=sys.__stdout__, flush=True)
        return 0
    print(f"{'problem':<16} {'call':<9} {'across ms':>10} {'inside ms':>10} {'expert ms':>10}  "
          f"{'across/inside':<24} {'inside/expert':<24} bridge us")  # fmt: skip
    within = [show(row) for problem in options.problem or CASES for row in worker_rows(problem, options)]
    return 0 if within and all(within) else 1


def worker_rows(problem: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of one problem, measured in a process of its own that starts with the Julia that is set up."""
    from sciml_bench.adapters.julia import installation

    reason = installation.lacking()
    if reason:
        sys.exit(f"ERROR: {reason}")
    command = [
        sys.executable, __file__, "--worker", f"--problem={problem}", f"--rounds={options.rounds}",
        f"--seconds={options.seconds}", f"--row-seconds={options.row_seconds}",
    ]  # fmt: skip
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", **installation.variables()}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"ERROR: the process that measures {problem} ended with code {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def rows(problem: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Solve and gradient of one problem."""
    import numpy as np

    from sciml_bench.adapters import registry
    from sciml_bench.adapters.julia.program import JuliaProgram, julia
    from sciml_bench.emit import source
    from sciml_bench.record.task import Cell, Point, Sampling, Task
    from sciml_bench.spec import catalog

    method, sensitivity, rtol = CASES[problem]
    loaded = catalog.load(problem)
    numbers, declared = loaded.numbers(), registry.adapter("julia")
    task = Task(
        cell=Cell(problem, "julia", method, sensitivity, "compiled"), program=declared.program,
        source=source(loaded, declared.target), numbers=numbers, points=(Point(rtol, rtol / 100),),
        sampling=Sampling(1, 1, 0.0, 1, 0.0), seed=0, threads=1, error_bound=1e-3, gradient_error_bound=1e-2,
    )  # fmt: skip
    program = JuliaProgram(task)
    bench = program.bench
    inputs = program.prepare(np.array(numbers.theta), task.points[0])
    julia.seval(f'include(raw"{FOLDER / "handwritten" / "julia_experts.jl"}")')
    experts = julia.Experts
    calls, order = by_expert(loaded, inputs, task.points[0])
    solve = Three(lambda: program.solve(inputs), experts.own_call(bench.run_solve, inputs), calls[0], experts)
    gradient = Three(lambda: program.gradient(inputs), experts.own_call(bench.run_gradient, inputs), calls[1], experts)
    ours = program.read_solution(program.solve(inputs)).ys
    compare("solution", ours, np.array(experts.flat(solve.expert())).T)
    theirs = np.array(bench.restored(order, gradient.expert()))
    compare("gradient", program.read_gradient(program.gradient(inputs)).gradient, theirs)
    return [
        {"problem": problem, "call": name, **three.measured(options)}
        for name, three in (("solve", solve), ("gradient", gradient))
    ]


def by_expert(loaded: Any, inputs: Any, point: Any) -> tuple[list[Any], Any]:
    """The expert's solve and gradient, and where weights lie in their order, that of Lux's arrays; or ``None``."""
    import numpy as np

    from sciml_bench.adapters.julia.program import julia

    numbers = loaded.numbers()
    if loaded.networks:
        julia.seval(f'include(raw"{FOLDER / "handwritten" / "julia_neural_experts.jl"}")')
        experts, order = julia.NeuralExperts, inputs.cell.order
        weights = julia.SciMLBench.arranged(order, np.array(numbers.p))
        data = np.array(loaded.loss.data)
        by_hand = experts.problem(loaded.name, np.array(numbers.y0), weights, np.array(numbers.save_times), data)
        return [getattr(experts, name)(by_hand, point.rtol, point.atol) for name in CALLS], order
    experts = julia.Experts
    vectors = (numbers.y0, numbers.p, numbers.save_times, numbers.breakpoints)
    atol = np.array(numbers.atol_scale) * point.atol
    by_hand = experts.problem(loaded.name, *(np.array(v, dtype=float) for v in vectors), atol)
    return [getattr(experts, name)(by_hand, np.array(numbers.theta), point.rtol) for name in CALLS], None


def compare(what: str, ours: Any, theirs: Any) -> None:
    """End here when the two versions do not compute the same."""
    import numpy as np

    error = np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs))
    if not error < AGREEMENT:
        raise SystemExit(f"our {what} and the expert's differ by {error:.1e}")


class Three:
    """One call in three ways."""

    def __init__(self, across: Callable[[], Any], inside: Any, expert: Any, experts: Any):
        self.across, self.expert = across, expert
        self._timers = {"inside": experts.timer(inside), "expert": experts.timer(expert)}
        self._median_ns = experts.median_ns

    def measured(self, options: argparse.Namespace) -> dict[str, list[float]]:
        """Nanoseconds of each way, one number a round."""
        times: dict[str, list[float]] = {"across": [], "inside": [], "expert": []}
        order = random.Random(1)
        end = time.perf_counter() + options.row_seconds
        # The first round is for warming up.
        for number in range(options.rounds + 1):
            if number > FEWEST_ROUNDS and time.perf_counter() > end:
                break
            for way in order.sample(sorted(times), len(times)):
                seconds = options.seconds
                ns = self._across_ns(seconds) if way == "across" else self._median_ns(self._timers[way], seconds)
                if number:
                    times[way].append(float(ns))
        return times

    def _across_ns(self, seconds: float) -> float:
        """Each call is timed by itself, as a worker does it."""
        taken: list[int] = []
        end = time.perf_counter() + seconds
        while not taken or time.perf_counter() < end:
            start = time.perf_counter_ns()
            self.across()
            taken.append(time.perf_counter_ns() - start)
        return statistics.median(taken)


def show(row: dict[str, Any]) -> bool:
    """Print a row; whether it is within the bounds."""
    across, inside, expert = (row[name] for name in ("across", "inside", "expert"))
    bridge, bridge_text = ratio(across, inside)
    code, code_text = ratio(inside, expert)
    milliseconds = " ".join(f"{statistics.median(ns) / 1e6:>10.4f}" for ns in (across, inside, expert))
    fixed_us = statistics.median(a - i for a, i in zip(across, inside, strict=True)) / 1e3
    long = statistics.median(inside) >= LONG_NS
    good = code <= EXPERT_BOUND and (not long or bridge <= ACROSS_BOUND)
    print(f"{row['problem']:<16} {row['call']:<9} {milliseconds}  {bridge_text:<24} {code_text:<24} {fixed_us:8.2f}"
          f"{'' if good else '  past its bound'}", flush=True)  # fmt: skip
    return good


def ratio(above: list[float], below: list[float]) -> tuple[float, str]:
    """The median of the rounds' ratios, and it as text with its interval."""
    ratios = sorted(a / b for a, b in zip(above, below, strict=True))
    # Ranks between which the median lies with 95 %: a normal approximation of the binomial distribution.
    n = len(ratios)
    low = max(math.floor((n - 1.96 * math.sqrt(n)) / 2), 0)
    middle = statistics.median(ratios)
    return middle, f"{middle:.3f} ({ratios[low]:.3f}–{ratios[n - 1 - low]:.3f})"


if __name__ == "__main__":
    sys.exit(main())
