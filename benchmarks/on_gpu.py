"""Everything that needs a GPU, one stage after the other: what `make gpu` runs, planned for 40 minutes.

    python benchmarks/on_gpu.py                              all stages, into results/gpu
    python benchmarks/on_gpu.py energy tax --out /tmp/gpu
    python benchmarks/on_gpu.py --short                      fewer sizes and problems, in about eight minutes

A stage that fails is named at the end and does not stop the others. The runs below ``--out`` are normal ones:
`sciml-bench show`, `verify` and `report` read them. Exit code 1 when a stage failed.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
_GRACE_S = 20.0
"""A run that is interrupted closes its files in this time."""

PROBLEM = "benchmarks/lorenz_ensemble.toml"


@dataclass(frozen=True)
class Stage:
    """One command, and the seconds after which it is ended."""

    name: str
    command: tuple[str, ...]
    limit_s: float


def stages(out: str, short: bool) -> list[Stage]:
    """All stages in their order: the first say whether the rest means anything."""
    python, bench = sys.executable, (sys.executable, "-m", "sciml_bench")
    both, gpu = ("--device", "cpu,gpu"), ("--device", "gpu")
    cores = ("--threads", str(len(os.sched_getaffinity(0))))
    sizes = "1,100,1000" if short else "1,100,1000,10000,100000"
    sides = "diffrax" if short else "diffrax,torchode"
    sweep = ("--adapter", sides, "--method", "tsit5", "-k", "checkpointed or torchode")
    problems = ("lenet-digits", "--adapter", "torch") if short else ("stiff", "nonstiff", "neural", "conventional")
    precisions = ("--precision", "float32,tf32") if short else ()
    scale = (*bench, "scale", PROBLEM, "--over", "batch", "--values")
    # Steps that are all kept: sooner or later the device's memory ends.
    large = ("--adapter", "diffrax,torchode", "--method", "tsit5", "-k", "checkpointed or discrete")
    one = ("--adapter", "diffrax", "--method", "tsit5", "-k", "forward", "--device", "gpu")
    again = (*bench, "run", "lorenz", *one, "--new", "--out", out)
    return [
        Stage("doctor", (*bench, "doctor"), 60),
        Stage(
            "tests",
            (python, "-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider", "tests/adapters/test_gpu.py"),
            300,
        ),
        Stage("energy", (python, "benchmarks/gpu_energy.py"), 120),
        Stage("tax", (python, "benchmarks/gpu_tax.py", *(("--batch", "10000") if short else ())), 600),
        Stage(
            "sweep",
            (*scale, sizes, *sweep, *both, *cores, "--timeout", "15" if short else "30", "--out", out),
            1000,
        ),
        Stage(
            "large",
            (*scale, "100000,1000000", *large, *gpu, "--profile", "smoke", "--timeout", "30", "--out", out),
            300,
        ),
        *(
            Stage(claim, (*bench, "claims", "run", claim, "--profile", "quick", "--out", out), 300)
            for claim in ("C09-step", "C10-vmap", "C31")
        ),
        Stage("once", again, 300),
        Stage("again", again, 300),
        Stage(
            "smoke",
            (*bench, "run", *problems, *precisions, "--profile", "smoke", *(both if short else gpu), "--out", out),
            900,
        ),
    ]


def main() -> int:
    """Run the stages; the exit code says whether all ended well."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", help="names of stages; without them all")
    parser.add_argument("--out", default="results/gpu")
    parser.add_argument("--short", action="store_true", help="fewer sizes and problems")
    options = parser.parse_args()
    found = stages(options.out, options.short)
    if unknown := set(options.only) - {stage.name for stage in found}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(stage.name for stage in found)}")
    from sciml_bench.host.nvidia import is_present, library

    if not is_present():
        print("skipped: this machine shows no NVIDIA GPU")
        return 0
    if library() is None:
        print("nvidia-ml-py is missing, or NVML answers nothing: memory, clocks and energy will be unknown")
    ended = [(stage, *run(stage)) for stage in found if not options.only or stage.name in options.only]
    print()
    for stage, end, seconds in ended:
        print(f"{stage.name:<8} {seconds:>7.1f} s  {end}")
    return 0 if all(end == "ok" for _, end, _ in ended) else 1


def run(stage: Stage) -> tuple[str, float]:
    """Run a stage in the checkout; how it ended, and its seconds."""
    print(f"\n== {stage.name}: {' '.join(stage.command)}", flush=True)
    start = time.monotonic()
    try:
        # Interrupted, a run closes its files and says how to resume.
        process = subprocess.Popen(stage.command, cwd=ROOT, start_new_session=True)
        code = process.wait(stage.limit_s)
        end = "ok" if code == 0 else f"ended with code {code}"
    except subprocess.TimeoutExpired:
        # The whole group: a worker that outlives its parent keeps the device busy.
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(_GRACE_S)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        end = f"ended after its limit of {stage.limit_s:.0f} s"
    return end, time.monotonic() - start


if __name__ == "__main__":
    sys.exit(main())
