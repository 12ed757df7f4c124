"""A run that satisfies every rule, made by hand in a moment: two cells of the decay problem in three blocks."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import hashlib
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
from stubs.records import sealed_line, stub_measurement
from stubs.tasks import TIMES, reference, stub_task

from sciml_bench.measure.scoring.gradient import gradient_scores
from sciml_bench.measure.scoring.solution import solve_scores
from sciml_bench.planning.blocks import blocks, input_seed
from sciml_bench.planning.cells import Planned
from sciml_bench.planning.plan import plan_hash
from sciml_bench.planning.profiles import profile_named
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import GradientResult, PointResult, SolveResult
from sciml_bench.record.record import Placement, Record
from sciml_bench.record.run_folder import environment_hash
from sciml_bench.record.task import Cell, Task
from sciml_bench.record.theta import Theta
from sciml_bench.verification.evidence import read_lines
from sciml_bench.verification.known_problem import KnownProblem
from sciml_bench.verification.verify import Verification, verify

SOURCE = "def rhs(t, y, p): ..."
SPEC = "5bec" * 16
ENVIRONMENT = {"packages": {"stub": "1.2.3"}, "sciml_bench": "0"}
PROFILE = profile_named("quick")

CELLS = (
    Cell("decay", "stub", "fine", "discrete", "eager"),
    Cell("decay", "stub", "fine", "discrete", "compiled-warm"),
)


@dataclasses.dataclass
class MadeRun:
    """A run as files hold it: plan, environment, and one dictionary per line, for tests to change."""

    plan: dict[str, Any]
    environment: dict[str, Any]
    records: list[dict[str, Any]]

    def seal(self) -> None:
        """Hash the plan again, as somebody would who wants a changed one to pass."""
        self.plan["hash"] = plan_hash(self.plan)

    @property
    def text(self) -> str:
        """The text of its records.jsonl."""
        return "".join(json.dumps(record) + "\n" for record in self.records)

    def write(self, folder: Path) -> None:
        """Write the files of a run folder, with checksums."""
        folder.mkdir(parents=True)
        (folder / "plan.json").write_text(json.dumps(self.plan), encoding="utf-8")
        (folder / "environment.json").write_text(json.dumps(self.environment), encoding="utf-8")
        lines = [sealed_line(record) + "\n" for record in self.records]
        (folder / "records.jsonl").write_text("".join(lines), encoding="utf-8")

    def verified(self, folder: Path, text: str | None = None, known: Any = None) -> Verification:
        """What the rules say of it, with its records in a file of this folder."""
        path = folder / "records.jsonl"
        path.write_text(self.text if text is None else text, encoding="utf-8")
        environments = {environment_hash(self.environment): self.environment}
        return verify(self.plan, environments, read_lines(path), known or (lambda _name: known_decay()))


def known_decay(**changes: Any) -> KnownProblem:
    """The decay problem as it is today."""
    now = hashlib.sha256(SOURCE.encode()).hexdigest()
    known = KnownProblem(SPEC, stub_task().numbers, reference(), None, lambda _adapter: now)
    return dataclasses.replace(known, **changes)


def made_run() -> MadeRun:
    """The untouched run."""
    plan = _plan()
    records = [json.loads(record.to_json()) for record in _records(plan)]
    return MadeRun(plan, json.loads(json.dumps(ENVIRONMENT)), records)


def _plan() -> dict[str, Any]:
    plan: dict[str, Any] = {
        "schema": 1,
        "version": "0",
        "profile": dataclasses.asdict(PROFILE) | {"rerun_noisy": True},
        "settings": {"seed": 0, "threads": 1, "timeout_s": 30.0, "memory_limit_bytes": None},
        "problems": [{"name": "decay", "title": "Decay", "spec_hash": SPEC, "file": None}],
        "cells": [
            {"label": cell.label, "cell": dataclasses.asdict(cell), "cell_id": f"{index:012x}",
             "division": "idiomatic", "group": "", "estimated_s": 1.0}
            for index, cell in enumerate(CELLS)
        ],
        "skipped": [{"reason": "not in profile quick (tier standard)", "outcome": None, "cells": ["a/b", "c/d"]}],
    }  # fmt: skip
    plan["hash"] = plan_hash(plan)
    return json.loads(json.dumps(plan))


def _records(plan: dict[str, Any]) -> list[Record]:
    planned = [Planned(cell, "idiomatic") for cell in CELLS]
    generator = random.Random(7)
    started = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    records: list[Record] = []
    for slot in blocks(planned, PROFILE.processes, seed=0):
        cell = CELLS[slot.index]
        task = stub_task(
            cell=cell,
            source=SOURCE,
            points=PROFILE.points,
            sampling=PROFILE.sampling,
            seed=input_seed(0, "decay", slot.block),
        )
        entry = plan["cells"][slot.index]
        placement = Placement(
            cell_id=entry["cell_id"], block=slot.block, order=slot.order, division="idiomatic", profile="quick",
            smoke_only=False, spec_hash=SPEC,
        )  # fmt: skip
        warm = cell.caches == "warm"
        measurement = stub_measurement(
            points=tuple(_point(task, index, generator) for index in range(len(task.points))),
            started_at=started.isoformat(timespec="milliseconds"),
            wall_s=2.0,
            phases_ns={
                "spawn": 10**6, "interpreter": 10**7, "import": 10**8, "build": 10**7, "first_gradient": 9 * 10**6,
                "first_solve": 2 * 10**6, "points": 10**7, "warm_up": 10**8, "steady": 10**9,
            },
            time_to_first_gradient_ns={"process": 131 * 10**6, "built": 9 * 10**6 + 10},
            threads={"affinity": "1"},
            versions={"python": "3.11.7", "stub": "1.2.3+cpu"},
            compile_cache_files={"before": 3 if warm else 0, "after": 3},
            compile_cache_hits=2 if warm else None,
        )  # fmt: skip
        records.append(Record.of(measurement, task, placement, environment_hash(ENVIRONMENT)))
        started += datetime.timedelta(seconds=2.5)
    return records


def _point(task: Task, index: int, generator: random.Random) -> PointResult:
    """A point as the well-behaved stub program leaves it; its relative error is a tenth of the tolerance."""
    point, numbers = task.points[index], task.numbers
    theta = np.asarray(numbers.p)
    exact = np.exp(-np.outer(TIMES, theta))
    ys = exact * (1.0 + 0.1 * point.rtol)
    gradient = np.sum(-2.0 * np.asarray(TIMES)[:, None] * exact**2, axis=0) * (1.0 + 0.1 * point.rtol)
    truth = reference()
    solved, _ = solve_scores(ys, truth, numbers.atol_scale, 0.1)
    differentiated, _ = gradient_scores(gradient, Theta.unnamed(theta.tolist()), truth, point, "float64", 0.1)

    def samples(count: int, ns: int) -> tuple[int, ...]:
        return tuple(generator.randrange(ns, ns + ns // 10) for _ in range(count))

    return PointResult(
        rtol=point.rtol,
        atol=point.atol,
        outcome=Outcome.OK,
        solve=SolveResult(
            outcome=Outcome.OK,
            first_ns=2 * 10**6,
            ns=samples(12, 10**6),
            warm_up_ns=samples(2, 10**6),
            steady={"class": "flat", "start": 0, "changepoints": []},
            scores=solved,
            end_state=tuple(float(value) for value in ys[-1]),
            state_size=ys.shape[1],
        ),
        gradient=GradientResult(
            outcome=Outcome.OK,
            first_ns=9 * 10**6,
            ns=samples(12, 3 * 10**6),
            warm_up_ns=samples(2, 3 * 10**6),
            steady={"class": "warm_up", "start": 2, "changepoints": [2]},
            scores=differentiated,
            loss=1.0,
            values=tuple(float(value) for value in gradient),
            size=len(gradient),
        ),
        memory_growth_bytes=0,
    )


def point(run: MadeRun, line: int = 1, index: int = 0) -> dict[str, Any]:
    """A point of a record, of the line that counts from 0."""
    return run.records[line - 1]["points"][index]


def again(record: dict[str, Any], attempt: int) -> dict[str, Any]:
    """A record measured once more, a month later and by a nanosecond slower."""
    again = copy.deepcopy(record) | {
        "attempt": attempt,
        "record_id": "again",
        "started_at": "2026-02-01T00:00:00+00:00",
    }
    for item in again["points"]:
        item["solve"]["ns"] = [ns + 1 for ns in item["solve"]["ns"]]
    return again
