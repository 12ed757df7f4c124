"""Where the time of a run goes: the share of its wall time that is spent inside the workers' framework work.

    python benchmarks/harness_overhead.py                                    a run of profile standard of its own
    python benchmarks/harness_overhead.py -- run --problem robertson --profile standard
    python benchmarks/harness_overhead.py --folder results/2026-11-21T10-31-05_stiff_standard

Framework work is what a worker does from the start of the framework's import to the end of its last steady loop. The
rest is ours: planning, emission, references, spawning, checking, writing records, waiting. For a folder the wall time
is that from the first record's start to the last record's end. Exit code 1 when the share is below the bound.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Record
from sciml_bench.record.run_folder import Run

BOUND = 0.85
OURS = ("spawn", "interpreter")
DEFAULT = (
    "run", "--profile", "standard", "--cell", "lotka-volterra/scipy/rk45/forward/eager/float64/cpu",
    "--cell", "lotka-volterra/diffrax/tsit5/checkpointed/compiled/float64/cpu",
)  # fmt: skip


def main() -> int:
    """Print where the time went; the exit code says whether enough of it was framework work."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="a run to look at, instead of a new one")
    parser.add_argument("arguments", nargs="*", help="what to run, after --; default: two cells of profile standard")
    options = parser.parse_args()
    if options.folder is not None:
        records = list(Run.open(options.folder).records())
        return report(records, lasted_s(records))
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "sciml_bench", *(options.arguments or DEFAULT), "--out", folder, "--new"]
        began = time.perf_counter()
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        wall_s = time.perf_counter() - began
        runs = [Run.open(path) for path in Path(folder).iterdir()]
        return report([record for run in runs for record in run.records()], wall_s)


def lasted_s(records: list[Record]) -> float:
    """From the first record's start to the last record's end."""
    starts = [datetime.datetime.fromisoformat(record.started_at) for record in records]
    ends = [start + datetime.timedelta(seconds=record.wall_s) for start, record in zip(starts, records, strict=True)]
    return (max(ends) - min(starts)).total_seconds()


def report(records: list[Record], wall_s: float) -> int:
    """Print the shares of every phase and of what is outside them."""
    phases = Counter[str]()
    for record in records:
        phases.update({name: ns / 1e9 for name, ns in record.phases_ns.items()})
    # A call that fails, or is cut by its limit, is in no phase, but the framework's work all the same.
    phases["failed calls"] = sum(
        record.own_s - sum(record.phases_ns.values()) / 1e9 for record in records if record.outcome is not Outcome.OK
    )
    for name, seconds in phases.items():
        print(f"{name:<16} {seconds:>9.1f} s {seconds / wall_s:>7.1%}")
    print(f"{'outside workers':<16} {wall_s - sum(r.own_s for r in records):>9.1f} s")
    work_s = sum(seconds for name, seconds in phases.items() if name not in OURS)
    print(f"{len(records)} processes, {wall_s:.1f} s; framework work {work_s:.1f} s = {work_s / wall_s:.1%}")
    return 0 if work_s >= BOUND * wall_s else 1


if __name__ == "__main__":
    sys.exit(main())
