"""Our steady-state figure of a call against pyperf's of the same call, in turns.

    python benchmarks/against_pyperf.py                                       SciPy and Diffrax on Lotka-Volterra
    python benchmarks/against_pyperf.py lotka-volterra/scipy/rk45/forward/eager   another cell

A pair is one process of ours (``measure_cell``, as in a run) and one of pyperf's, in random order; from each comes
the median of its steady calls of ``solve``. The table shows the median ratio over all pairs and their range. Exit
code 1 when a median is off by more than the bound. Needs pyperf, which the extra ``dev`` brings.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from sciml_bench.adapters import registry
from sciml_bench.emit import source
from sciml_bench.engine import Limits, measure_cell
from sciml_bench.problem import catalog
from sciml_bench.task import Cell, Point, Sampling, Task

CELLS = ("lotka-volterra/scipy/rk45/forward/eager", "lotka-volterra/diffrax/tsit5/checkpointed/compiled")
BOUND = 0.03
RTOL = 1e-6
KEPT = ("PATH", "HOME", "PYTHONPATH", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPROC", "XLA_FLAGS", "JAX_PLATFORMS")


def main() -> int:
    """Print the table; the exit code says whether every median is within the bound."""
    if "--pyperf" in sys.argv:
        pyperf_side()
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="*", default=CELLS, help="problem/adapter/method/sensitivity/mode")
    parser.add_argument("--pairs", type=int, default=10, help="pairs of processes a cell (default 10)")
    options = parser.parse_args()
    print(f"{'cell':<58} {'ours ms':>9} {'pyperf ms':>10} {'ratio':>7}  range")
    within = [compared(label, options.pairs) for label in options.cells]
    return 0 if all(within) else 1


def compared(label: str, pairs: int) -> bool:
    """One row of the table; whether it is within the bound."""
    order = random.Random(0)
    found: list[tuple[float, float]] = []
    for _ in range(pairs):
        if order.random() < 0.5:
            ours = our_seconds(label)
            found.append((ours, pyperf_seconds(label)))
        else:
            theirs = pyperf_seconds(label)
            found.append((our_seconds(label), theirs))
    ratios = sorted(ours / theirs for ours, theirs in found)
    ratio = statistics.median(ratios)
    ours_ms, theirs_ms = (1e3 * statistics.median(column) for column in zip(*found, strict=True))
    within = abs(ratio - 1) <= BOUND
    print(
        f"{label:<58} {ours_ms:>9.3f} {theirs_ms:>10.3f} {ratio:>7.3f}  [{ratios[0]:.3f}, {ratios[-1]:.3f}]"
        f"{'' if within else f'  off by more than {BOUND:.0%}'}",
        flush=True,
    )
    return within


def task_of(label: str) -> Task:
    """The task of a cell, sampled for about two seconds."""
    cell = Cell(*label.split("/"))
    adapter = registry.adapter(cell.adapter)
    problem = catalog.load(cell.problem)
    return Task(
        cell=cell,
        program=adapter.program,
        source=source(problem, adapter.target),
        numbers=problem.numbers(),
        points=(Point(RTOL, RTOL),),
        sampling=Sampling(warm_up_calls=5, steady_calls=30, steady_s=2.0, max_steady_calls=20_000, perturbation=1e-6),
        seed=0,
        threads=1,
        error_bound=0.1,
        gradient_error_bound=0.1,
    )


def our_seconds(label: str) -> float:
    """The steady median of one process of ours."""
    measurement = measure_cell(task_of(label), Limits(timeout_s=120.0))
    samples = measurement.points[0].counted_solve_ns
    if not samples:
        raise SystemExit(f"{label}: {measurement.outcome} {measurement.message}")
    return statistics.median(samples) / 1e9


def pyperf_seconds(label: str) -> float:
    """The median of the values of one worker process of pyperf."""
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NPROC": "1"}
    variables |= {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "JAX_PLATFORMS": "cpu"}
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "pyperf.json"
        command = [sys.executable, __file__, "--pyperf", label, "--processes=1", "--values=30", "--warmups=5"]
        command += ["--quiet", f"--output={output}", f"--inherit-environ={','.join(KEPT)}"]
        subprocess.run(command, check=True, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        runs = json.loads(output.read_text(encoding="utf-8"))["benchmarks"][0]["runs"]
    return statistics.median(value for run in runs for value in run.get("values", ()))


def pyperf_side() -> None:
    """What pyperf runs in its worker: the same program, built from the same task."""
    import numpy as np
    import pyperf

    def pass_on(command: list[str], arguments: argparse.Namespace) -> None:
        command += ["--pyperf", arguments.pyperf]

    runner = pyperf.Runner(add_cmdline_args=pass_on)
    runner.argparser.add_argument("--pyperf", required=True)
    label = runner.parse_args().pyperf
    task = task_of(label)
    module, _, function = task.program.partition(":")
    program = getattr(importlib.import_module(module), function)(task)
    inputs = program.prepare(np.array(task.numbers.theta), task.points[0])

    def call() -> None:
        program.synchronise(program.solve(inputs))

    runner.bench_func(label, call)


if __name__ == "__main__":
    sys.exit(main())
