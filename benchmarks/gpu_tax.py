"""What our adapters cost on a GPU over hand-written code: ensembles of Lorenz systems, 10^4 trajectories and more.

    python benchmarks/gpu_tax.py                        torchdiffeq, torchode and Diffrax
    python benchmarks/gpu_tax.py diffrax --batch 10000

One process a framework, as in ``adapter_tax.py``, whose rules and table these are: the two programs are called in turn,
in random order, and each pair of calls gives a ratio. Exit code 1 when a median is above the bound. ``--device cpu``
tries the programs where there is no GPU.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

import adapter_tax  # noqa: E402

FRAMEWORKS = ("torchdiffeq", "torchode", "diffrax")


def main() -> int:
    """Print the table; the exit code says whether every median is within the bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frameworks", nargs="*", help=f"any of {', '.join(FRAMEWORKS)}")
    parser.add_argument("--batch", type=int, action="append", default=[], help="trajectories; may be repeated")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="gpu")
    parser.add_argument("--pairs", type=int, default=20, help="pairs of samples a row (default 20)")
    parser.add_argument("--row-s", type=float, default=20.0, help="most seconds a row (default 20)")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.device == "cpu":
        os.environ |= {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
    options.batch, options.clock = options.batch or [10_000, 100_000], "wall"
    if options.worker:
        for row in measure(options.frameworks[0], options):
            print(json.dumps(row), flush=True)
        return 0
    from sciml_bench.host.nvidia import is_present

    if options.device == "gpu" and not is_present():
        print("skipped: this machine shows no NVIDIA GPU")
        return 0
    print(f"{'framework':<12} {'problem':<16} {'call':<9} {'ours ms':>9} {'by hand ms':>11} {'ratio':>7}  interval")
    chosen = options.frameworks or FRAMEWORKS
    within = [adapter_tax.show(row) for name in chosen for row in rows_of(name, options)]
    return 0 if within and all(within) else 1


def rows_of(framework: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Rows of one framework, from a process of its own."""
    command = [sys.executable, __file__, framework, "--worker", f"--pairs={options.pairs}", f"--row-s={options.row_s}"]
    command += [f"--device={options.device}", *(f"--batch={size}" for size in options.batch)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    yield from map(json.loads, done.stdout.splitlines())
    if done.returncode:
        yield {"framework": framework, "error": f"its process ended with code {done.returncode}"}


def measure(framework: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Worker side: solve and gradient of each batch."""
    # As the engine's workers are: a program that starts many small kernels does not move between processors.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    make = getattr(importlib.import_module("handwritten.lorenz_batch"), framework)
    for problem in problems(options.batch):
        numbers = problem.numbers()
        hand = make(numbers, options.device)
        name = {"framework": framework, "problem": problem.name}
        program, inputs = adapter_tax.program_of(framework, problem, hand, options.device)
        if wrong := adapter_tax.disagreement(program, inputs, readable(hand, numbers)):
            yield {**name, "error": wrong}
            continue
        for call in ("solve", "gradient"):
            mine = adapter_tax.waited(partial(getattr(program, call), inputs), program.synchronise)
            by_hand = adapter_tax.waited(getattr(hand, call), hand.synchronise)
            yield {**name, "call": call, **adapter_tax.compare(mine, by_hand, options)}


def problems(sizes: list[int]) -> Iterator[Any]:
    """The Lorenz system with these numbers of trajectories."""
    from sciml_bench.spec import catalog, load_problem
    from sciml_bench.spec.variant import family

    made = family(catalog.path("lorenz"), "batch", sizes)
    yield from map(load_problem, made.write(Path(tempfile.mkdtemp())))


def readable(hand: Any, numbers: Any) -> Any:
    """The hand-written program with its results as NumPy arrays in our layout, for the comparison before timing."""
    import numpy as np

    def host(values: Any) -> Any:
        return np.asarray(values.cpu() if hasattr(values, "cpu") else values)

    def solve() -> Any:
        ys = host(hand.solve())
        return ys.reshape(len(numbers.save_times), -1)

    def gradient() -> Any:
        loss, found = hand.gradient()
        return host(loss), host(found)

    return hand._replace(solve=solve, gradient=gradient)


if __name__ == "__main__":
    sys.exit(main())
