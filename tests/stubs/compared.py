"""Runs on disk to compare: times drawn around a mean, nothing measured."""

from __future__ import annotations

import dataclasses
import datetime
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stubs.reported import cell, plan, record

from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import GradientResult, PointResult, SolveResult
from sciml_bench.record.run_folder import Run
from sciml_bench.record.task import Cell, Point

MACHINE = {
    "cpu": {"model": "Some processor", "governor": "performance"},
    "memory_gib": 16,
    "gpus": [],
    "system": {"name": "Linux", "machine": "x86_64", "kernel": "6.1"},
    "threads": 1,
    "packages": {"diffrax": "0.7.0"},
}

RTOLS = (1e-4, 1e-6)
CELLS = (cell(), cell("bdf", "scipy"))

Change = Callable[[PointResult], PointResult]


def points(
    generator: random.Random,
    factor: float,
    *,
    spread: float = 0.01,
    digits: float = 0.0,
    steps: float = 10.0,
    reference: bool = True,
) -> list[PointResult]:
    """A process's points: the tighter tolerance takes ten times as long; ``digits`` are added to its accuracy."""
    process = factor * generator.lognormvariate(0.0, spread)
    return [
        PointResult(
            rtol=rtol,
            atol=rtol,
            outcome=Outcome.OK,
            solve=SolveResult(
                outcome=Outcome.OK,
                ns=_samples(generator, 1e6 * 10**index * process),
                scores={"scd": 3.0, "trajectory_error": 10 ** -(3.0 + 2 * index + digits), "below_reference": False}
                if reference
                else None,
                statistics={"steps": steps * (index + 1)},
            ),
            gradient=GradientResult(
                outcome=Outcome.OK,
                ns=_samples(generator, 3e6 * 10**index * process),
                scores={"error": 10 ** -(2.0 + 2 * index + digits), "below_reference": False} if reference else None,
            ),
        )
        for index, rtol in enumerate(RTOLS)
    ]


def failed_points(outcome: Outcome = Outcome.TIMEOUT) -> list[PointResult]:
    """A process whose solver failed everywhere."""
    return [PointResult.failed(Point(rtol, rtol), outcome, "gradient", f"{outcome} at {rtol:g}") for rtol in RTOLS]


def _samples(generator: random.Random, ns: float) -> tuple[int, ...]:
    return tuple(int(ns * generator.lognormvariate(0.0, 0.005)) for _ in range(10))


def run(
    parent: Path,
    name: str,
    *,
    factors: Mapping[Cell, float] | float = 1.0,
    blocks: int = 10,
    cells: tuple[Cell, ...] = CELLS,
    seed: int = 1,
    environment: Mapping[str, Any] | None = None,
    changes: Mapping[str, Any] | None = None,
    profile: str = "standard",
    make: Callable[[Cell, int], list[PointResult]] | None = None,
    record_changes: Mapping[str, Any] | None = None,
    **options: Any,
) -> Run:
    """A run in which every process of a cell takes ``factor`` times as long, more or less.

    ``make`` overrides the points of a cell and block; ``changes`` go to the plan, ``options`` to :func:`points`.
    """
    made: dict[str, Any] = plan(list(cells), profile=profile) | {"schema": 1}
    for problem in made["problems"]:
        problem["spec_hash"] = f"spec of {problem['name']}" + " " * 20
    made |= dict(changes or {})
    when = datetime.datetime(2026, 1, 1, 12, 0, 0)
    created = Run.create(parent, name, plan=made, environment=dict(environment or MACHINE), now=when)
    generator = random.Random(seed)
    for block in range(blocks):
        for which in cells:
            factor = factors if isinstance(factors, int | float) else factors.get(which, 1.0)
            found = make(which, block) if make else points(generator, factor, **options)
            first_ns = round(8e9 * factor * generator.lognormvariate(0.0, 0.01))
            line = record(
                which,
                found,
                block=block,
                time_to_first_gradient_ns={"process": first_ns, "built": first_ns // 2},
            )
            line = dataclasses.replace(line, record_id=f"{created.folder.name}-{which.label}-{block}")
            created.append(dataclasses.replace(line, **dict(record_changes or {})))
    return created
