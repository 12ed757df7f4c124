"""What our adapters cost over hand-written code: the same framework, method and tolerances, timed against each other.

    python benchmarks/adapter_tax.py                       every framework that is installed
    python benchmarks/adapter_tax.py scipy torchdiffeq     only these

One process a framework. The two programs are called in turn, in random order, and each pair of calls gives a ratio;
the table shows the median ratio with its 95 % interval (of order statistics). Results are compared before anything
is timed. Exit code 1 when a median is above the bound.

It sees what our layers add to a configuration: calls, conversions, emitted code that is worse than code by hand. It
cannot see that a configuration is the wrong one: method, sensitivity, tolerances and the form of the equations are the
adapter's own on both sides. ``best_configuration.py`` compares with what an expert would choose instead.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

FRAMEWORKS = ("scipy", "torchdiffeq", "diffrax", "tensorflow", "casadi", "diffsol", "sksundae")
BOUND = 1.05
# A sample is as many calls as fill this, so that the clock and the interpreter's pauses do not matter.
SAMPLE_S = 0.02
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
AGREEMENT = 1e-3


def main() -> int:
    """Print the table; the exit code says whether every median is within the bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frameworks", nargs="*", help=f"any of {', '.join(FRAMEWORKS)}")
    parser.add_argument("--problem", action="append", default=[], help="only this problem; may be repeated")
    parser.add_argument("--pairs", type=int, default=40, help="pairs of samples a row (default 40)")
    parser.add_argument("--row-s", type=float, default=60.0, help="most seconds a row (default 60)")
    parser.add_argument(
        "--clock", choices=CLOCKS, default="wall", help="cpu counts the process's own time, for a machine that is busy"
    )
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := set(options.frameworks) - set(FRAMEWORKS):
        parser.error(f"no such framework: {', '.join(sorted(unknown))}; there are {', '.join(FRAMEWORKS)}")
    if options.worker:
        for row in measure(options):
            print(json.dumps(row), file=sys.__stdout__, flush=True)
        return 0
    print(f"{'framework':<12} {'problem':<16} {'call':<9} {'ours ms':>9} {'by hand ms':>11} {'ratio':>7}  interval")
    within = [show(row) for name in options.frameworks or FRAMEWORKS for row in rows_of(name, options)]
    return 0 if within and all(within) else 1


def rows_of(framework: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Rows of one framework, from a process of its own."""
    from sciml_bench.adapters import registry

    lacking = registry.missing(registry.adapter(framework))
    if lacking is not None:
        print(f"{framework:<12} skipped: {lacking.reason}")
        return
    command = [sys.executable, __file__, framework, "--worker", f"--pairs={options.pairs}", f"--row-s={options.row_s}"]
    command += [f"--clock={options.clock}", *(f"--problem={name}" for name in options.problem)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        for line in worker.stdout:
            yield json.loads(line)
    if worker.returncode:
        yield {"framework": framework, "error": f"its process died with code {worker.returncode}"}


def show(row: dict[str, Any]) -> bool:
    """Print a row; whether it is within the bound."""
    if "error" in row:
        print(f"{row['framework']:<12} {row.get('problem', ''):<16} {row['error']}", flush=True)
        return False
    within = row["ratio"] <= BOUND
    print(
        f"{row['framework']:<12} {row['problem']:<16} {row['call']:<9} {row['ours_ms']:>9.2f} {row['hand_ms']:>11.2f} "
        f"{row['ratio']:>7.3f}  [{row['low']:.3f}, {row['high']:.3f}]{'' if within else f'  above {BOUND}'}",
        flush=True,
    )
    return within


def measure(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Worker side: every problem of one framework, solve and gradient."""
    framework = options.frameworks[0]
    # As the engine's workers are: a compiled program that hands parts of itself to other threads waits for them.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    # What a framework prints goes to standard error; standard output holds the rows.
    sys.stdout = sys.stderr
    for problem, make in cases(framework).items():
        if options.problem and problem not in options.problem:
            continue
        hand = make()
        name = {"framework": framework, "problem": problem}
        program, inputs = adapter_program(framework, problem, hand)
        if wrong := disagreement(program, inputs, hand):
            yield {**name, "error": wrong}
            continue
        for call in ("solve", "gradient"):
            if getattr(hand, call) is None:
                continue
            ours = waited(partial(getattr(program, call), inputs), program.synchronise)
            by_hand = waited(getattr(hand, call), hand.synchronise)
            yield {**name, "call": call, **compare(ours, by_hand, options)}


def cases(framework: str) -> dict[str, Callable[[], Any]]:
    """The hand-written programs of a framework by problem, the neural ones last."""
    found = dict(importlib.import_module(f"handwritten.{framework}").CASES)
    if (FOLDER / "handwritten" / f"{framework}_neural.py").exists():
        found |= importlib.import_module(f"handwritten.{framework}_neural").CASES
    return found


def adapter_program(framework: str, problem: str, hand: Any) -> tuple[Any, Any]:
    """Our program for the same cell and point of a problem of the catalog, and its inputs."""
    from sciml_bench.spec import catalog

    return program_of(framework, catalog.load(problem), hand)


def program_of(framework: str, problem: Any, hand: Any, device: str = "cpu") -> tuple[Any, Any]:
    """Our program for a loaded problem, and its inputs."""
    import numpy as np

    from sciml_bench.adapters import registry
    from sciml_bench.emit import source
    from sciml_bench.record.task import Cell, Point, Sampling, Task

    adapter, point = registry.adapter(framework), Point(hand.rtol, hand.atol)
    task = Task(
        cell=Cell(problem.name, framework, hand.method, hand.sensitivity, hand.mode, device=device),
        program=adapter.program,
        source=source(problem, adapter.target),
        numbers=problem.numbers(),
        points=(point,),
        sampling=Sampling(warm_up_calls=1, steady_calls=1, steady_s=0.0, max_steady_calls=1, perturbation=0.0),
        seed=0,
        threads=1,
        error_bound=1.0,
        gradient_error_bound=1.0,
    )
    module, _, function = adapter.program.partition(":")
    program = getattr(importlib.import_module(module), function)(task)
    return program, program.prepare(np.array(task.numbers.theta), point)


def disagreement(program: Any, inputs: Any, hand: Any) -> str:
    """Why the two programs do not compute the same; empty when they do. Also the first, compiling, call of both."""
    import numpy as np

    output = program.solve(inputs)
    program.synchronise(output)
    ours, by_hand = program.read_solution(output).ys, np.asarray(hand.solve())
    if ours.shape != by_hand.shape:
        return f"our solution has shape {ours.shape}, the hand-written one {by_hand.shape}"
    pairs = {"solution": (ours, by_hand)}
    if hand.gradient is not None:
        output = program.gradient(inputs)
        program.synchronise(output)
        found = program.read_gradient(output)
        loss, gradient = hand.gradient()
        parts = gradient if isinstance(gradient, tuple) else (gradient,)
        by_hand = np.concatenate([np.asarray(part).ravel() for part in parts])
        pairs["gradient"] = (found.gradient, by_hand)
        pairs["loss"] = (np.array(found.loss), np.asarray(loss))
    for name, (one, other) in pairs.items():
        error = float(np.linalg.norm(one - other) / np.linalg.norm(other))
        if not error < AGREEMENT:
            return f"the two {name}s differ by {error:.1e}: {one} and {other}"
    return ""


def waited(call: Callable[[], Any], synchronise: Callable[[Any], None]) -> Callable[[], None]:
    """One call and the wait for its result."""

    def run() -> None:
        synchronise(call())

    return run


def compare(ours: Callable[[], None], by_hand: Callable[[], None], options: argparse.Namespace) -> dict[str, float]:
    """Median times and the median of paired ratios with its interval."""
    clock = CLOCKS[options.clock]

    def sample(run: Callable[[], None], calls: int) -> float:
        return seconds_a_call(run, calls, clock)

    for run in (ours, by_hand, ours, by_hand):
        run()
    calls = max(1, math.ceil(SAMPLE_S / min(sample(ours, 1), sample(by_hand, 1))))
    order = random.Random(0)
    until = time.perf_counter() + options.row_s
    samples: list[tuple[float, float]] = []
    while len(samples) < options.pairs and (len(samples) < 8 or time.perf_counter() < until):
        if order.random() < 0.5:
            first = sample(ours, calls)
            samples.append((first, sample(by_hand, calls)))
        else:
            first = sample(by_hand, calls)
            samples.append((sample(ours, calls), first))
    ratios = sorted(mine / theirs for mine, theirs in samples)
    low, high = median_interval(len(ratios))
    return {
        "ours_ms": 1e3 * median(mine for mine, _ in samples),
        "hand_ms": 1e3 * median(theirs for _, theirs in samples),
        "ratio": median(ratios),
        "low": ratios[low],
        "high": ratios[high],
    }


def seconds_a_call(run: Callable[[], None], calls: int, clock: Callable[[], float]) -> float:
    """The mean over some calls, without garbage collection."""
    gc.collect()
    gc.disable()
    try:
        start = clock()
        for _ in range(calls):
            run()
        return (clock() - start) / calls
    finally:
        gc.enable()


def median(values: Any) -> float:
    """The middle value, or the mean of the two middle ones."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def median_interval(n: int) -> tuple[int, int]:
    """Indices of the order statistics that enclose the median with at least 95 % confidence."""
    below, k = 0.0, 0
    while below + math.comb(n, k) / 2**n <= 0.025:
        below += math.comb(n, k) / 2**n
        k += 1
    return max(k - 1, 0), n - 1 - max(k - 1, 0)


if __name__ == "__main__":
    sys.exit(main())
