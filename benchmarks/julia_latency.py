"""How long a user waits for Julia, level by level, each in fresh processes.

    python benchmarks/julia_latency.py                                 Robertson by Rodas5P, ForwardDiff
    python benchmarks/julia_latency.py --method tsit5 --problem lotka-volterra --processes 5
    python benchmarks/julia_latency.py --precompile                    also from an empty compiled cache, at length

The levels: precompiling everything that the workers load, from an empty compiled cache (as `sciml-bench julia setup`
recorded it, or measured anew); loading juliacall and the package; loading the solver and evaluating the equation; the
first solve and the first gradient, which compile; the second ones, which do not. Julia keeps no code that it compiles
for a problem on the disk, so a second process waits as long as the first: the rows of all processes are shown.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

LEVELS = ("load", "build", "first solve", "first gradient", "second solve", "second gradient")
# What a depot holds besides compiled code.
SHARED = ("packages", "artifacts", "registries", "clones", "scratchspaces")


def main() -> int:
    """Print a row for each process, and their medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problem", default="robertson")
    parser.add_argument("--method", default="rodas5p")
    parser.add_argument("--sensitivity", default="forward")
    parser.add_argument("--mode", default="compiled")
    parser.add_argument("--rtol", type=float, default=1e-8)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--precompile", action="store_true", help="measure precompiling in an empty compiled cache")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(levels(options)), file=sys.__stdout__)
        return 0
    from sciml_bench.adapters.julia import installation

    reason = installation.lacking()
    found = installation.found()
    if reason or found is None:
        sys.exit(f"ERROR: {reason}")
    environment = {**os.environ, **installation.worker_variables(found)}
    seconds = precompiled_s(environment) if options.precompile else found.precompile_s
    print(f"precompile: {'not recorded' if seconds is None else f'{seconds:.0f} s'}")
    print(f"{'process':<8}" + "".join(f"{level:>17}" for level in LEVELS))
    command = [sys.executable, __file__, "--worker", *sys.argv[1:]]
    rows: list[dict[str, float]] = []
    for number in range(options.processes):
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        show(str(number + 1), rows[-1])
    show("median", {level: statistics.median(row[level] for row in rows) for level in LEVELS})
    return 0


def show(name: str, row: dict[str, float]) -> None:
    """Print a row, in seconds."""
    print(f"{name:<8}" + "".join(f"{row[level]:>15.4f} s" for level in LEVELS), flush=True)


def levels(options: argparse.Namespace) -> dict[str, float]:
    """The levels of one process, in seconds."""
    start = time.perf_counter()
    from sciml_bench.adapters.julia import program

    loaded = time.perf_counter()
    import numpy as np

    from sciml_bench.adapters import registry
    from sciml_bench.emit import source
    from sciml_bench.record.task import Cell, Point, Sampling, Task
    from sciml_bench.spec import catalog

    problem, declared = catalog.load(options.problem), registry.adapter("julia")
    task = Task(
        cell=Cell(options.problem, "julia", options.method, options.sensitivity, options.mode),
        program=declared.program, source=source(problem, declared.target), numbers=problem.numbers(),
        points=(Point(options.rtol, options.rtol / 100),), sampling=Sampling(1, 1, 0.0, 1, 0.0), seed=0, threads=1,
        error_bound=1e-3, gradient_error_bound=1e-2,
    )  # fmt: skip
    times = [time.perf_counter()]
    built = program.JuliaProgram(task)
    times.append(time.perf_counter())
    inputs = built.prepare(np.array(task.numbers.theta), task.points[0])
    for _ in range(2):
        for call in (built.solve, built.gradient):
            before = time.perf_counter()
            call(inputs)
            times.append(times[-1] + time.perf_counter() - before)
    steps = [later - earlier for earlier, later in itertools.pairwise(times)]
    return dict(zip(LEVELS, [loaded - start, *steps], strict=True))


def precompiled_s(environment: dict[str, str]) -> float:
    """Seconds of precompiling into a depot that shares everything but compiled code with the one that is set up."""
    depots = [entry for entry in environment.get("JULIA_DEPOT_PATH", "").split(os.pathsep) if entry]
    first, *others = depots or [str(Path.home() / ".julia")]
    with tempfile.TemporaryDirectory(prefix="sciml_bench_depot_") as name:
        for shared in SHARED:
            if (Path(first) / shared).exists():
                (Path(name) / shared).symlink_to(Path(first) / shared)
        # An empty entry stands for Julia's own depots, of which the user's holds compiled code.
        path = os.pathsep.join([name, *others])
        julia, project = environment["PYTHON_JULIACALL_EXE"], environment["PYTHON_JULIACALL_PROJECT"]
        script = 'using Pkg; Pkg.precompile(["SciMLBench", "PythonCall"]; strict = false)'
        start = time.perf_counter()
        subprocess.run(
            [julia, "--startup-file=no", f"--project={project}", "-e", script],
            env={**environment, "JULIA_DEPOT_PATH": path}, check=True,
        )  # fmt: skip
        return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
