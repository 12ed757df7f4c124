"""Measure every way of problems, one process each: what advice is held against.

    python benchmarks/exhaustive.py --out RUNS robertson lotka-volterra

Nothing is left out for what a label, a recipe or a rule of thumb says. A run can be interrupted and goes on when the
same command is given again. About 20 minutes a problem on a core, most of them compiling. ``--core`` pins it to one, so
that two can go on side by side: for ranking ways by large factors, not for close ones.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from sciml_bench.adapters.registry import adapters
from sciml_bench.measure.protocol import Event
from sciml_bench.plan.candidates import candidates
from sciml_bench.plan.plan import Settings, make_plan
from sciml_bench.plan.problems import entries
from sciml_bench.plan.profiles import Profile, profile_named
from sciml_bench.plan.selection import Selection
from sciml_bench.record.record import Record
from sciml_bench.record.task import Sampling
from sciml_bench.run.executor import Step
from sciml_bench.run.session import open_session

RTOLS = (1e-3, 1e-5, 1e-7, 1e-9)


class Lines:
    """A line for each process."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    def started(self, step: Step) -> None:
        self._since = time.monotonic()

    def event(self, event: Event) -> None:
        """Nothing."""

    def finished(self, step: Step, record: Record) -> None:
        calls = [sorted(point.gradient.ns) for point in record.points]
        each = " ".join(f"{ns[len(ns) // 2] / 1e6:.3g}" if ns else "-" for ns in calls)
        taken_s = time.monotonic() - self._since
        print(
            f"{step.place:4}/{step.total} {taken_s:5.1f} s  {step.cell.label}  {record.outcome}  {each} ms", flush=True
        )


def profile(timeout_s: float) -> Profile:
    """One process, few calls, a ladder that holds accuracies from 1e-3 to 1e-8."""
    smoke = profile_named("smoke")
    sampling = Sampling(
        warm_up_calls=1, steady_calls=3, steady_s=0.1, max_steady_calls=50, perturbation=smoke.sampling.perturbation
    )
    return Profile(
        name="smoke",
        processes=1,
        sampling=sampling,
        rtols=RTOLS,
        named_breadth="suited",
        core_breadth="suited",
        breadth="suited",
        timeout_s=timeout_s,
        comparable=False,
        use="every way of a problem, one process each",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="+")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the runs")
    parser.add_argument("--core", type=int, help="the only processor to use")
    parser.add_argument("--timeout", type=float, default=25.0, help="seconds for a phase or a loop; 25 if not given")
    parser.add_argument("--in", dest="adapters", default="", help="adapters, separated by commas; all if not given")
    chosen = parser.parse_args()
    if chosen.core is not None:
        os.sched_setaffinity(0, {chosen.core})
    known = adapters()
    for name in chosen.problems:
        entry = entries(Selection(problems=(name,)))[0]
        found = candidates(entry, known, [word for word in chosen.adapters.split(",") if word])
        labels = tuple(cell.label for cell in found.cells)
        for lacking, reason in found.absent.items():
            print(f"{name}: without {lacking}: {reason}")
        plan = make_plan(Selection(problems=(name,), cells=labels), known, profile(chosen.timeout), Settings())
        session = open_session(plan, chosen.out, name, resume=None, command="benchmarks/exhaustive.py")
        print(f"{name}: {len(session.left())} of {len(labels)} ways are left; in {session.run.folder}", flush=True)
        if not session.carry_out(Lines()):
            raise SystemExit(f"{name} was interrupted: the same command goes on")


if __name__ == "__main__":
    main()
