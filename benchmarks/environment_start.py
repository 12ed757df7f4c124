"""How much longer a worker takes to start in a named environment than in this one, in pairs in random order.

    sciml-bench env make same scipy==1.17.1
    python benchmarks/environment_start.py same [--pairs 30]

Each start imports what a worker imports before it takes a task. Exit code 1 if the median of the differences is above
the bound.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

from sciml_bench.host import environments

BOUND_S = 0.05
ROOT = Path(__file__).resolve().parents[1]
STARTED = "import sciml_bench.measure.worker, sciml_bench.adapters.scipy.program"


def main() -> int:
    """Print the medians and the difference; the exit code says whether it is within the bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="an environment that `sciml-bench env list` shows")
    parser.add_argument("--pairs", type=int, default=30)
    options = parser.parse_args()
    other = environments.read(options.name)
    sides = {"here": (sys.executable, ROOT), options.name: (str(other.interpreter), other.path)}
    for side in sides.values():
        start_s(*side)
    order, pairs = random.Random(0), list[dict[str, float]]()
    for _ in range(options.pairs):
        names = order.sample(list(sides), 2)
        pairs.append({name: start_s(*sides[name]) for name in names})
    for name in sides:
        print(f"{name:<20} {1e3 * statistics.median(pair[name] for pair in pairs):7.1f} ms")
    difference_s = statistics.median(pair[options.name] - pair["here"] for pair in pairs)
    print(f"{'difference':<20} {1e3 * difference_s:7.1f} ms, at most {1e3 * BOUND_S:g}")
    return 0 if difference_s <= BOUND_S else 1


def start_s(interpreter: str, path: Path) -> float:
    """Seconds from the start of a process to the end of its imports."""
    start = time.perf_counter()
    subprocess.run([interpreter, "-c", STARTED], env={**os.environ, "PYTHONPATH": str(path)}, check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
