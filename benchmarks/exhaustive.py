"""Measure every way of problems: what advice is held against, and what it learns from.

    python benchmarks/exhaustive.py --out results/exhaustive robertson lotka-volterra

No method, sensitivity or mode is left out for what a label, a recipe or a rule of thumb says. All ways are looked at
first, one process for each library, which tells large factors. Those near the best one for any of the questions that
advice is asked (how many gradients, how accurate), each with and without landing on the saved times, are then measured
in blocks of fresh processes, in random order. Two runs a problem, and 20 to 30 minutes on a core, most of them
compiling. An interrupted run goes on when the same command is given again. ``--core`` pins it to one processor, so that
two can go on side by side.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from sciml_bench.adapters.registry import adapters
from sciml_bench.analysis.advice.call_cost import call_cost
from sciml_bench.analysis.summary import CellSummary, summarise
from sciml_bench.engine.interface import EventCallback, JobMeasured, OneByOne, UnitEnded
from sciml_bench.engine.shared_worker import SharedWorker
from sciml_bench.engine.unit import Unit
from sciml_bench.execution.executor import Step
from sciml_bench.execution.planning import newest_runs
from sciml_bench.execution.session import Session, hash_of, open_session
from sciml_bench.measure.protocol import Event
from sciml_bench.planning.candidates import Candidates, candidates, ranked
from sciml_bench.planning.plan import make_plan
from sciml_bench.planning.problems import PlannedProblem, entry_named
from sciml_bench.planning.profiles import RACING, SCREENING, Profile
from sciml_bench.planning.purpose import RACE, SCREEN, Advised
from sciml_bench.planning.selection import Selection
from sciml_bench.planning.settings import Settings
from sciml_bench.planning.written_plan import written_plan
from sciml_bench.record.record import Record
from sciml_bench.record.run_folder import Run
from sciml_bench.record.task import GRADIENT, Cell

RTOLS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
"""The ladder: the accuracies 1e-4 and 1e-6 lie inside it for methods an order looser or tighter than they say."""

LOOK_RTOLS = RTOLS[::2]
"""That of the ways which are only looked at."""

COUNTS = (1000, 100_000)
ACCURACIES = (1e-6, 1e-4)
"""The questions that advice is asked: how many gradients, at which relative error."""

NEAR, MOST = 2.5, 6
"""For each question the cheapest ways, up to so many times the best one and so many of them, are measured in blocks."""

BLOCKS = 4


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
        taken_s, self._since = time.monotonic() - self._since, time.monotonic()
        print(
            f"{step.place:4}/{step.total} {taken_s:5.1f} s  {step.cell.label}  {record.outcome}  {each} ms", flush=True
        )


class EachLibraryInOneProcess(OneByOne):
    """Measures every job of a unit in a process that its library's ways share."""

    name = "exhaustive"

    def __init__(self, environment_hash: str) -> None:
        super().__init__()
        self._environment_hash = environment_hash

    def carry_out(self, unit: Unit, on: EventCallback) -> None:
        with ExitStack() as stack:
            workers: dict[str, SharedWorker] = {}
            for job in unit.jobs:
                name = job.task.cell.adapter
                if name not in workers:
                    workers[name] = stack.enter_context(SharedWorker(unit.limits))
                alone = job.task.cell.mode in adapters()[name].reusing_modes
                measured = workers[name].measure(job.task, unit.timeout_s, alone=alone)
                on(JobMeasured(unit, Record.of(measured, job.task, job.placement, self._environment_hash)))
        on(UnitEnded(unit))


def looked_at(entry: PlannedProblem, found: Candidates, timeout_s: float, out: Path) -> Session:
    """The run in which all ways are looked at, each as its library's recipe saves what it returns."""
    sampling = replace(SCREENING.sampling, warm_up_calls=0, steady_calls=1, max_steady_calls=50)
    profile = replace(SCREENING, rtols=LOOK_RTOLS, timeout_s=timeout_s, sampling=sampling)
    ways = ranked(found, entry, adapters(), GRADIENT)
    session = _opened(entry, [cell.label for cell in ways], profile, out, SCREEN)
    session.carry_out(Lines(), EachLibraryInOneProcess(session.run.environment_hash))
    return session


def in_blocks(entry: PlannedProblem, labels: list[str], timeout_s: float, out: Path) -> Session:
    """The run in which ways are measured in blocks of fresh processes."""
    profile = replace(RACING, rtols=RTOLS, processes=BLOCKS, timeout_s=timeout_s)
    session = _opened(entry, labels, profile, out, RACE)
    session.carry_out(Lines())
    return session


def near(cells: list[CellSummary], found: Candidates) -> list[str]:
    """The labels of the ways near the best one for any question, and of the same ones that save otherwise."""
    best: set[Cell] = set()
    for accuracy in ACCURACIES:
        costs = {
            item.cell: cost
            for item in cells
            for process in item.processes
            if (cost := call_cost(process, GRADIENT, -math.log10(accuracy)).cost) is not None
        }
        for count in COUNTS:
            order = sorted(costs, key=lambda cell: costs[cell].total_s(count))
            best |= {
                cell for cell in order[:MOST] if costs[cell].total_s(count) <= NEAR * costs[order[0]].total_s(count)
            }
    alike = {replace(cell, saving="") for cell in best}
    return [cell.label for cell in found.cells if replace(cell, saving="") in alike]


def _opened(entry: PlannedProblem, labels: list[str], profile: Profile, out: Path, stage: str) -> Session:
    advised = Advised(stage, GRADIENT, COUNTS[0], ACCURACIES[0])
    plan = make_plan(Selection(cells=tuple(labels)), adapters(), profile, Settings(), chosen=(entry,), advised=advised)
    name = f"exhaustive-{stage}_{entry.name}"
    done = next((run for run in newest_runs(out) if hash_of(run) == plan.hash), None)
    session = None if done is None else Session(plan, Run.resume(done.folder), resumed=True)
    if session is None or session.left():
        session = open_session(plan, out, name, resume=None, command="benchmarks/exhaustive.py")
    print(f"{entry.name}: {len(session.left())} of {len(labels)} ways; in {session.run.folder}", flush=True)
    return session


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="+", help="names of the catalog, or problem files")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the runs")
    parser.add_argument("--core", type=int, help="the only processor to use")
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds for a phase or a loop; 20 if not given")
    parser.add_argument("--in", dest="adapters", default="", help="adapters, separated by commas; all if not given")
    chosen = parser.parse_args()
    if chosen.core is not None:
        os.sched_setaffinity(0, {chosen.core})
    names = [word for word in chosen.adapters.split(",") if word]
    for name in chosen.problems:
        entry = entry_named(name)
        found = candidates(entry, adapters(), names)
        for lacking, reason in found.absent.items():
            print(f"{name}: without {lacking}: {reason}")
        session = looked_at(entry, found, chosen.timeout, chosen.out)
        if session.interrupted:
            raise SystemExit(f"{name} was interrupted: the same command goes on")
        summary = summarise(written_plan(session.run), session.run.records(on_damage=lambda _: None))
        labels = near(list(summary.cells.values()), found)
        if labels and in_blocks(entry, labels, chosen.timeout, chosen.out).interrupted:
            raise SystemExit(f"{name} was interrupted: the same command goes on")


if __name__ == "__main__":
    main()
