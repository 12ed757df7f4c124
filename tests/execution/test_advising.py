"""Looking at ways, and the race between them: engines on a fake clock, without workers."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stubs.carried import new_run
from stubs.records import stub_measurement
from stubs.reported import summarise
from stubs.suite import stub_adapters

from sciml_bench.analysis.advice.competitors import replayed
from sciml_bench.engine.interface import Engine, EventCallback, JobMeasured, UnitEnded
from sciml_bench.engine.limits import Limits
from sciml_bench.engine.shared_worker import SharedWorker
from sciml_bench.engine.unit import Unit
from sciml_bench.errors import UsageError
from sciml_bench.execution.advising import TRAINING, Asked
from sciml_bench.execution.executor import execute
from sciml_bench.execution.racing import DECIDED, STARVED, RacingEngine
from sciml_bench.execution.screening import ScreeningEngine
from sciml_bench.execution.within import OUT_OF_TIME, WithinEngine
from sciml_bench.planning.plan import Plan, make_plan
from sciml_bench.planning.profiles import RACING, SCREENING
from sciml_bench.planning.purpose import RACE, SCREEN, Advised
from sciml_bench.planning.selection import Selection
from sciml_bench.planning.settings import Settings
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import GradientResult, PointResult, SolveResult
from sciml_bench.record.record import Measurement, Record
from sciml_bench.record.task import Cell, Task
from sciml_bench.stats.race import Race

ADVISED = Advised(SCREEN, "gradient", 1000, 1e-6)


class Now:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


def measured(task: Task, each_s: float | None) -> Measurement:
    """A process whose gradients take so long and are right to 1e-7, or fail."""
    ns = () if each_s is None else (round(each_s * 1e9),) * 3
    half = GradientResult(outcome=Outcome.OK if ns else Outcome.NONFINITE, first_ns=1, ns=ns, scores={"error": 1e-7})
    points = tuple(
        PointResult(point.rtol, point.atol, half.outcome or Outcome.OK, solve=SolveResult(), gradient=half)
        for point in task.points
    )
    return stub_measurement(points=points, time_to_first_gradient_ns={"process": 10**8, "built": 10**7})


def plan_of(stage: str, processes: int = 1) -> Plan:
    advised = replace(ADVISED, stage=stage)
    profile = replace(SCREENING if stage == SCREEN else RACING, rtols=(1e-6,), processes=processes)
    selection = Selection(problems=("decay",), methods=("fine", "finer"))
    return make_plan(selection, stub_adapters(), profile, Settings(), advised=advised)


class Worker:
    """In the place of a shared worker: looks up what a cell costs, and lets time pass."""

    def __init__(self, costs: dict[Cell, float | None], now: Now, order: list[Cell]):
        self.costs, self.now, self.order = costs, now, order

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def measure(self, task: Task, limit_s: float, *, alone: bool) -> Measurement:
        self.order.append(task.cell)
        self.now.s += 1.0
        return measured(task, self.costs[task.cell])


def screened(tmp_path: Path, costs: Any, tiers: Any, until_s: float = 1e9) -> tuple[list[Cell], Any]:
    plan, run, now = plan_of(SCREEN), new_run(tmp_path), Now()
    cells = [item.cell for item in plan.planned]
    order: list[Cell] = []
    known = {cell: costs(cell) for cell in cells}
    engine = ScreeningEngine(
        ADVISED, {cell: tiers(cell) for cell in cells}, until_s, "",
        workers=lambda _limits: Worker(known, now, order),  # type: ignore[arg-type, return-value]
        now=now,
    )  # fmt: skip
    return order, execute(plan, run, engine=engine)


def test_recipes_are_tried_first_and_then_the_library_that_does_well(tmp_path):
    """Alpha costs a thousand times what beta does: its further ways come last."""
    order, rest = screened(
        tmp_path,
        costs=lambda cell: 1.0 if cell.adapter == "alpha" else 1e-3,
        tiers=lambda cell: 0 if cell.method == "fine" and cell.mode == "eager" else 2,
    )
    assert not rest
    first = {cell.adapter for cell in order[:4] if cell.method == "fine"}
    assert first == {"alpha", "beta"}
    later = [cell.adapter for cell in order if not (cell.method == "fine" and cell.mode == "eager")]
    assert later == sorted(later, reverse=True)
    assert len(order) == len(set(order)) == len(plan_of(SCREEN).planned)


def test_looking_ends_when_time_is_up(tmp_path):
    order, rest = screened(tmp_path, costs=lambda _cell: 1.0, tiers=lambda _cell: 0, until_s=3.5)
    assert len(order) == 4
    assert rest.lost


def test_a_way_that_must_be_alone_has_a_process_of_its_own(monkeypatch):
    """Others share one, and have its start in their times. What one process compiled, the next one does not find."""
    entries = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, entries)))
    plan = plan_of(SCREEN)
    slots = [slot for slot in plan.slots if plan.planned[slot.index].cell.adapter == "alpha"][:2]
    tasks = [plan.task(slot) for slot in slots]
    with SharedWorker(Limits(30.0)) as worker:
        starts = [
            worker.measure(task, alone=alone).phases_ns["spawn"]
            for alone, task in zip((False, False, True, True, False), [*tasks, *tasks, tasks[0]], strict=True)
        ]
    assert starts[0] == starts[1]
    assert len(set(starts)) == 4


class Blocks(Engine):
    """Measures every job of a unit by a table of costs; a block takes ten seconds."""

    def __init__(self, cost: Any, now: Now):
        self.cost, self.now, self.seen = cost, now, []

    def submit(self, unit: Unit) -> None:
        self.seen.append(unit)

    def wait(self, on: EventCallback) -> None:
        unit = self.seen[-1]
        self.now.s += 10.0
        for job in unit.jobs:
            measurement = measured(job.task, self.cost(job.task.cell, unit.block))
            on(JobMeasured(unit, Record.of(measurement, job.task, job.placement, "")))
        on(UnitEnded(unit))

    def cancel(self) -> None:
        pass


def raced(tmp_path: Path, cost: Any, until_s: float = 1e9) -> tuple[list[set[str]], Race[Cell], Any]:
    plan, run, now = plan_of(RACE, processes=30), new_run(tmp_path), Now()
    race = Race(tuple(item.cell for item in plan.planned))
    inner = Blocks(cost, now)
    within = WithinEngine(inner, until_s, now)
    rest = execute(plan, run, engine=RacingEngine(within, race, replace(ADVISED, stage=RACE)))
    return [{job.task.cell.solver for job in unit.jobs} for unit in inner.seen], race, rest


def slow(cell: Cell) -> float:
    return (
        1.0
        if (cell.adapter, cell.method, cell.mode, cell.sensitivity) == ("beta", "fine", "eager", "discrete")
        else 20.0
    )


def test_those_who_are_beaten_leave_and_the_race_ends(tmp_path):
    blocks, race, rest = raced(tmp_path, lambda cell, block: slow(cell) * (1 + 0.01 * (block % 3)))
    assert race.standing.decided
    assert race.standing.leads is not None
    assert race.standing.leads.solver == "beta fine discrete eager"
    assert len(blocks) < 5
    assert len(blocks[0]) == len(race.keys)
    assert set(rest.lost.values()) == {DECIDED}


def test_a_way_that_fails_leaves(tmp_path):
    blocks, race, _ = raced(tmp_path, lambda cell, block: None if cell.adapter == "alpha" else 1 + 0.1 * block, 55.0)
    assert len(blocks) == 5
    assert all(not name.startswith("alpha") for block in blocks[1:] for name in block)
    assert {cell.adapter for cell, beaten in race.left.items() if beaten.failed} == {"alpha"}


def test_a_block_that_would_not_end_in_time_is_not_begun(tmp_path):
    blocks, race, rest = raced(tmp_path, lambda _cell, block: 1.0 + 0.1 * (block % 2), until_s=35.0)
    assert len(blocks) == 3
    assert not race.standing.decided
    assert set(rest.lost.values()) == {OUT_OF_TIME}


@pytest.mark.parametrize("failing", [0, 1])
def test_a_block_without_costs_ends_nothing_for_ever(tmp_path, failing):
    blocks, race, _ = raced(tmp_path, lambda _cell, block: None if block == failing else 1.0, until_s=1e4)
    assert len(blocks) == failing + 1
    assert race.standing.leads is None


def test_a_run_within_a_time_begins_no_block_that_would_not_end(tmp_path):
    plan, run, now = plan_of(RACE, processes=10), new_run(tmp_path), Now()
    inner = Blocks(lambda _cell, _block: 1.0, now)
    rest = execute(plan, run, engine=WithinEngine(inner, 35.0, now))
    assert len(inner.seen) == 3
    assert set(rest.lost.values()) == {OUT_OF_TIME}
    assert not execute(plan, run, engine=WithinEngine(Blocks(lambda _cell, _block: 1.0, now), 1e9, now))


def test_one_way_alone_runs_once(tmp_path):
    plan, run = plan_of(RACE, processes=5), new_run(tmp_path)
    only = plan.planned[0].cell
    race = Race((only,))
    inner = Blocks(lambda _cell, _block: 1.0, Now())
    execute(plan, run, engine=RacingEngine(inner, race, replace(ADVISED, stage=RACE)))
    assert [[job.task.cell for job in unit.jobs] for unit in inner.seen] == [[only]]
    assert race.standing.leads == only


def test_a_starved_process_ends_no_race_and_is_not_measured_again(tmp_path):
    """Its block stays as it is: the race goes on with the next one, and a replay gives the same."""
    plan, run = plan_of(RACE, processes=3), new_run(tmp_path)
    victim = plan.planned[0].cell
    race = Race(tuple(item.cell for item in plan.planned))

    class Starving(Blocks):
        def wait(self, on: EventCallback) -> None:
            def starved(happening: Any) -> None:
                if isinstance(happening, JobMeasured) and (happening.record.cell, happening.unit.block) == (victim, 0):
                    points = [replace(point, outcome=Outcome.BUSY_TIMEOUT) for point in happening.record.points]
                    happening = replace(happening, record=replace(happening.record, points=tuple(points)))
                on(happening)

            super().wait(starved)

    inner = Starving(lambda _cell, block: 1.0 + 0.1 * block, Now())
    rest = execute(plan, run, engine=RacingEngine(inner, race, replace(ADVISED, stage=RACE)))
    assert [unit.block for unit in inner.seen] == [0, 1, 2]
    assert len(race.differences(victim, victim)) == 2
    assert list(rest.lost.values()) == [STARVED]
    summary = summarise(plan.to_dict(), run.records())
    assert replayed(list(summary.cells.values()), replace(ADVISED, stage=RACE)).standing == race.standing


def test_a_training_has_as_many_gradients_as_the_question_says_if_the_problem_does_not():
    assert Asked.about("decay", TRAINING, count=7).advised.count == 7
    with pytest.raises(UsageError, match=r"decay has no \[training\].*--count"):
        Asked.about("decay", TRAINING)
