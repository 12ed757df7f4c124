"""Plans and records with everything that a figure shows: several problems, loops, trials, phases, failures.

Times are drawn around a mean, nothing is measured; the same every time.
"""

from __future__ import annotations

import dataclasses
import datetime
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from stubs.reported import cell_id, plan, record, summarise

from sciml_bench.analysis.summary import RunSummary
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.perturbed_solve import PerturbedSolve
from sciml_bench.record.point import GradientResult, PointResult, SolveResult, Steady
from sciml_bench.record.record import Record
from sciml_bench.record.run_folder import Run
from sciml_bench.record.task import Cell, Point, Training
from sciml_bench.record.training import Trained

RTOLS = (1e-4, 1e-6, 1e-8)
PROBLEMS = ("robertson", "oregonator", "brusselator-2d-16", "brusselator-2d-32")
STATES = {"robertson": 3, "oregonator": 3, "brusselator-2d-16": 512, "brusselator-2d-32": 2048}

WAYS: tuple[tuple[str, str, str, str, str, str, float], ...] = (
    # adapter, method, sensitivity, mode, division, group, how slow
    ("scipy", "radau", "forward", "eager", "idiomatic", "implicit_rk of order 5, forward", 4.0),
    ("diffrax", "kvaerno5", "checkpointed", "compiled", "idiomatic", "", 1.0),
    ("diffrax", "kvaerno5", "forward", "compiled", "matched", "implicit_rk of order 5, forward", 1.6),
    ("tensorflow", "bdf", "backsolve", "xla", "idiomatic", "", 9.0),
    ("torchdiffeq", "dopri5", "discrete", "eager", "idiomatic", "", 1.0),
    ("third-party", "magic", "discrete", "eager", "other", "", 2.0),
)

_PHASES = {
    "spawn": 4e6, "interpreter": 5e7, "import": 9e8, "build": 3e7, "trace": 4e8, "lower": 2e8, "compile": 2e9,
    "first_gradient": 3e8, "first_solve": 2e8, "warm_up": 5e8, "steady": 2e9, "stability": 1e8,
}  # fmt: skip


def cells(problems: Sequence[str] = PROBLEMS) -> dict[Cell, tuple[str, str, float]]:
    """The cells of these problems, each with its division, its group, and how slow it is."""
    return {
        Cell(problem, *way[:4]): (way[4], way[5], way[6] * (1 + 0.5 * place))
        for place, problem in enumerate(problems)
        for way in WAYS
    }


def failing(which: Cell) -> bool:
    """The explicit method fails on stiff problems, as such methods do."""
    return which.adapter == "torchdiffeq"


def broken(found: Record) -> Record:
    """The record of a worker that died before its first point."""
    return dataclasses.replace(
        found, outcome=Outcome.CRASH, phase="import", message="killed by signal 11", points=(), stability=(),
        training=None, time_to_first_gradient_ns={}, phases_ns={"spawn": 1_000_000},
    )  # fmt: skip


def points(which: Cell, factor: float, generator: random.Random, calls: int) -> list[PointResult]:
    """Three tolerances: each is two digits more accurate and twice as slow as the one before."""
    if failing(which):
        wanted = (Point(rtol, rtol) for rtol in RTOLS)
        return [PointResult.failed(point, Outcome.MAX_STEPS, "gradient", "4096 steps") for point in wanted]
    process = factor * generator.lognormvariate(0.0, 0.02)
    found: list[PointResult] = []
    for place, rtol in enumerate(RTOLS):
        steady = _steady(calls) if calls >= 10 else None
        means = ((1e6 * 2**place, calls), (3e6 * 2**place, calls), (2e6, 2), (6e6, 2))
        loops = [_loop(generator, mean_ns * process, count) for mean_ns, count in means]
        found.append(
            PointResult(
                rtol=rtol,
                atol=rtol,
                outcome=Outcome.OK,
                solve=SolveResult(
                    outcome=Outcome.OK,
                    first_ns=int(5e6 * process),
                    ns=loops[0],
                    warm_up_ns=loops[2],
                    steady=steady,
                    scores={"scd": 4.0, "trajectory_error": 10.0 ** -(3 + 2 * place), "below_reference": place == 2},
                    statistics={"steps": 10.0 * (place + 1)},
                ),
                gradient=GradientResult(
                    outcome=Outcome.OK,
                    first_ns=int(9e6 * process),
                    ns=loops[1],
                    warm_up_ns=loops[3],
                    steady=steady,
                    scores={"error": 10.0 ** -(2 + 2 * place), "below_reference": False},
                ),
                memory_growth_bytes=4096,
            )
        )
    return found


def _loop(generator: random.Random, mean_ns: float, calls: int) -> tuple[int, ...]:
    """Calls of which the first quarter is slower."""
    return tuple(
        int(mean_ns * (1.4 if 4 * place < calls else 1.0) * generator.lognormvariate(0.0, 0.01))
        for place in range(calls)
    )


def _steady(calls: int) -> Steady:
    start = (calls + 3) // 4
    return {"class": "warm_up", "start": start, "changepoints": [start]}


def records(
    which: dict[Cell, tuple[str, str, float]], *, blocks: int = 3, calls: int = 12, seed: int = 7, **changes: Any
) -> Iterator[Record]:
    """Every cell in every block."""
    generator = random.Random(seed)
    for block in range(blocks):
        for order, (cell, (division, _, factor)) in enumerate(which.items()):
            found = points(cell, factor, generator, calls)
            yield dataclasses.replace(
                record(cell, found, block=block),
                order=order,
                division=division,
                wall_s=7.0,
                phases_ns={name: int(ns * factor**0.5) for name, ns in _PHASES.items()},
                time_to_first_gradient_ns={} if failing(cell) else {"process": int(4e9 / factor), "built": int(3e9)},
                stability=tuple(_trials(cell)),
                training=trained(cell, factor) if _trains(cell, division) else None,
                peak_rss_bytes=int(2e8 + 1e7 * factor + block),
                energy=None if failing(cell) else _energy(),
                **changes,
            )


def _trials(which: Cell) -> Iterator[PerturbedSolve]:
    for draw in range(4):
        for place, rtol in enumerate(RTOLS):
            if failing(which):
                yield PerturbedSolve(draw, place, Outcome.MAX_STEPS)
            else:
                wrong = which.adapter == "tensorflow" and draw == 0
                yield PerturbedSolve(draw, place, Outcome.OK, rtol * (1e5 if wrong else 1.0))


SETTINGS = Training("adam", 0.05, 200, 1e-6, 1e-6, target=2.0, beta1=0.9, beta2=0.999, epsilon=1e-8)


def _trains(which: Cell, division: str) -> bool:
    """One cell of an adapter trains; those that tests add to it have a mode with a number."""
    return division == "idiomatic" and which.mode.isalpha()


def trained(which: Cell, factor: float) -> Trained:
    """A loss that falls with every step; that of a failing cell is never known, that of TensorFlow ends early."""
    if failing(which):
        return Trained(SETTINGS, Outcome.MAX_STEPS, "training_first_step", "4096 steps", build_ns=10**8)
    steps = 80 if which.adapter == "tensorflow" else SETTINGS.steps
    whole = steps == SETTINGS.steps
    return Trained(
        SETTINGS,
        Outcome.OK if whole else Outcome.NONFINITE,
        None if whole else "training",
        "" if whole else "the loss is not finite",
        build_ns=10**8,
        losses=tuple(20.0 / (1 + 0.1 * step) for step in range(steps)),
        step_ns=(int(3e9), *(int(4e6 * factor),) * (steps - 1)),
        theta=(1.0, 2.0 + 1e-9 * factor) if whole else (),
        theta_size=2 if whole else 0,
    )


def _energy() -> dict[str, Any]:
    loops = [
        {"point": 1, "kind": kind, "joules": joules, "window_s": 5.0, "calls": 100}
        for kind, joules in (("solve", 60.0), ("gradient", 110.0))
    ]
    return {"joules": 170.0, "window_s": 10.0, "idle_watts": 2.0, "sources": ["package-0"], "loops": loops}


def plan_of(which: dict[Cell, tuple[str, str, float]], profile: str = "quick", **changes: Any) -> dict[str, Any]:
    """The plan of these cells."""
    made = plan(list(which), profile=profile)
    for entry, (division, group, _) in zip(made["cells"], which.values(), strict=True):
        entry.update(division=division, group=group)
    for entry in made["problems"]:
        entry.update(n_states=STATES.get(entry["name"], 2))
    return made | changes


def summary(
    problems: Sequence[str] = PROBLEMS,
    *,
    profile: str = "quick",
    change: Callable[[Record], Record] = lambda record: record,
    **options: Any,
) -> RunSummary:
    """A run, summarised; ``change`` is applied to every record."""
    which = cells(problems)
    return summarise(plan_of(which, profile), (change(record) for record in records(which, **options)))


def run(
    parent: Path,
    name: str = "drawn",
    *,
    problems: Sequence[str] = PROBLEMS,
    profile: str = "quick",
    change: Callable[[Record], Record] = lambda record: record,
    **options: Any,
) -> Run:
    """The same on the disk."""
    which = cells(problems)
    made = Run.create(
        parent,
        name,
        plan=plan_of(which, profile),
        environment={"system": {"name": "Linux"}},
        now=datetime.datetime(2026, 1, 1, 12),
    )
    with made.records_path.open("w", encoding="utf-8") as file:
        for found in records(which, **options):
            file.write(change(found).to_json() + "\n")
    return made


__all__ = ["PROBLEMS", "RTOLS", "cell_id", "cells", "plan_of", "points", "records", "run", "summary"]
