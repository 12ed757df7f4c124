"""The order in which ways are looked at, and when a race ends: engines on a fake clock, without workers."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stubs.carried import new_run
from stubs.records import stub_measurement
from stubs.suite import stub_adapters

from sciml_bench.analysis import experience
from sciml_bench.analysis.call_cost import CallCost
from sciml_bench.analysis.experience import Features, turns, way_of
from sciml_bench.analysis.recommendation import replayed
from sciml_bench.analysis.summary import summarise
from sciml_bench.engine.interface import Ended, Engine, Measured, OnHappening
from sciml_bench.engine.limits import Limits
from sciml_bench.engine.shared_worker import SharedWorker
from sciml_bench.engine.unit import Unit
from sciml_bench.plan.plan import Plan, Settings, make_plan
from sciml_bench.plan.profiles import RACING, SCREENING
from sciml_bench.plan.purpose import RACE, SCREEN, Advised
from sciml_bench.plan.selection import Selection
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import GradientHalf, PointResult, SolveHalf
from sciml_bench.record.record import Measurement, Record
from sciml_bench.record.task import Cell, Task
from sciml_bench.run.executor import execute
from sciml_bench.run.racing import DECIDED, STARVED, RacingEngine
from sciml_bench.run.screening import Order, ScreeningEngine
from sciml_bench.run.within import OUT_OF_TIME, WithinEngine
from sciml_bench.stats.breakeven import Cost
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
    half = GradientHalf(outcome=Outcome.OK if ns else Outcome.NONFINITE, first_ns=1, ns=ns, scores={"error": 1e-7})
    points = tuple(
        PointResult(point.rtol, point.atol, half.outcome or Outcome.OK, solve=SolveHalf(), gradient=half)
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


def known(total_s: float | None) -> CallCost:
    return CallCost(None if total_s is None else Cost(total_s, 0.0))


def cell_of(adapter: str, number: int) -> Cell:
    return Cell("decay", adapter, f"m{number}", "discrete", "eager")


def test_looking_ends_after_many_ways_in_a_row_that_are_far_from_the_best():
    """And not before every library was tried, nor while nothing works."""
    ways = [cell_of(name, k) for name in ("alpha", "beta") for k in range(30)]
    order = Order(ADVISED, dict.fromkeys(ways, 0.0))
    for way in ways[:20]:
        order.keep(way, known(None))
    assert not order.settled, "nothing works yet"
    order.keep(ways[20], known(1.0))
    for way in ways[21:30]:
        order.keep(way, known(3.5))
    order.keep(ways[30], known(2.9))
    for place, way in enumerate(ways[31:43]):
        assert not order.settled, place
        order.keep(way, known(3.5) if place % 2 else known(None))
    assert order.settled


def test_no_library_is_passed_over():
    """One that is expected to cost a hundred times as much has an early turn as well, and looking waits for it."""
    last = cell_of("beta", 0)
    left = [*(cell_of("alpha", k) for k in range(40)), last]
    order = Order(ADVISED, {cell: 2.0 if cell == last else 0.1 * k for k, cell in enumerate(left)})
    for number in range(20):
        assert not order.settled
        way = order.next(left)
        left.remove(way)
        order.keep(way, known(1.0 if number == 0 else 50.0))
        if way == last:
            break
    assert last not in left


@pytest.mark.parametrize(
    ("reason", "first"), [("nonfinite: the gradient is not finite", "forward"), ("max_steps: too many", "other")]
)
def test_where_a_gradient_failed_another_kind_is_tried_soon(reason, first):
    """Where the method itself got nowhere, another method is."""
    failed = replace(cell_of("alpha", 0), sensitivity="checkpointed")
    cure, other = replace(failed, sensitivity="forward"), cell_of("alpha", 1)
    order = Order(ADVISED, {failed: 0.0, cure: 0.5, other: 1.0})
    order.keep(failed, CallCost(None, reason=reason))
    assert order.next([cure, other]) == (cure if first == "forward" else other)


WRONG = CallCost(None, reason="inaccurate: the gradient error is 4.9, its bound 0.1")


def test_a_wrong_gradient_brings_the_other_kinds_of_the_method_forward():
    """Past a way that was expected to take an eighth, but not past one that was to take a twentieth."""
    wrong = replace(cell_of("alpha", 0), sensitivity="forward")
    fix = replace(wrong, sensitivity="backsolve")
    for turn, first in ((0.6, fix), (0.2, cell_of("alpha", 1))):
        other = cell_of("alpha", 1)
        order = Order(ADVISED, {wrong: 0.0, other: turn, fix: 1.5})
        order.keep(wrong, WRONG)
        assert order.next([fix, other]) == first


@pytest.mark.parametrize(
    ("reason", "call", "first"),
    [
        ("inaccurate: d loss / d log k: 2.5e+20, differences of the loss give 7.9e+05", "gradient", "fix"),
        ("nonfinite: Diffrax reports success, but the gradient is not finite", "gradient", "fix"),
        ("nonfinite: torchdiffeq stopped: non-finite values in state", "gradient", "other"),
        ("inaccurate: the gradient error is 4.9", "solve", "other"),
    ],
)
def test_only_a_wrong_gradient_brings_others_forward(reason, call, first):
    """With a reference or without one; a solve that failed, fails for all kinds of gradient."""
    wrong = replace(cell_of("alpha", 0), sensitivity="forward")
    fix, other = replace(wrong, sensitivity="backsolve"), cell_of("alpha", 1)
    order = Order(replace(ADVISED, call=call), {wrong: 0.0, other: 0.6, fix: 1.5})
    order.keep(wrong, CallCost(None, reason=reason))
    assert order.next([fix, other]) == (fix if first == "fix" else other)


def test_failed_solves_end_looking():
    ways = [cell_of("alpha", k) for k in range(20)]
    order = Order(ADVISED, dict.fromkeys(ways, 0.0))
    order.keep(ways[0], known(1.0))
    for way in ways[1:13]:
        order.keep(way, CallCost(None, reason="nonfinite: the step size became not-a-number"))
    assert order.settled


def test_the_same_wrong_gradient_in_another_mode_falls_back():
    wrong = replace(cell_of("alpha", 0), sensitivity="forward")
    again, other = replace(wrong, mode="compiled"), cell_of("alpha", 1)
    order = Order(ADVISED, {wrong: 0.0, again: 0.1, other: 2.0})
    order.keep(wrong, WRONG)
    assert order.next([again, other]) == other


def test_where_all_kinds_of_a_method_are_wrong_others_of_the_library_come_no_earlier():
    """Else a problem that is beyond a whole library takes all of the time."""
    first = [replace(cell_of("alpha", 0), sensitivity=name) for name in ("forward", "backsolve")]
    second = [replace(cell_of("alpha", 1), sensitivity=name) for name in ("forward", "backsolve")]
    works = cell_of("beta", 0)
    order = Order(ADVISED, {**dict.fromkeys([*first, second[0]], 0.0), works: 1.0, second[1]: 1.5})
    order.keep(cell_of("beta", 9), known(1.0))
    for way in (*first, second[0]):
        order.keep(way, WRONG)
    assert order.next([works, second[1]]) == works


def test_looking_goes_on_while_wrong_gradients_may_have_a_fix():
    ways = [replace(cell_of("alpha", k), sensitivity=name) for k in range(20) for name in ("forward", "backsolve")]
    order = Order(ADVISED, dict.fromkeys(ways, 0.0))
    order.keep(ways[0], known(1.0))
    for way in ways[2::2]:
        order.keep(way, WRONG)
    assert not order.settled
    order.keep(ways[3], WRONG)
    for way in ways[5::2]:
        order.keep(way, WRONG)
    assert order.settled, "all kinds of a method were wrong, so that more wrong ones end it"


def test_in_a_library_that_was_asked_for_looking_goes_on_until_something_works():
    ways = [cell_of(name, k) for name in ("alpha", "beta") for k in range(20)]
    for named, settled in (((), True), (("beta",), False), (("alpha",), True)):
        order = Order(ADVISED, dict.fromkeys(ways, 0.0), named)
        for way in [*ways[:5], *ways[20:35]]:
            order.keep(way, known(1.0 if way == ways[0] else None))
        assert order.settled is settled, named
    for way in ways[35:]:
        order.keep(way, known(None))
    assert order.settled, "nothing of it is left"


def test_what_was_measured_elsewhere_decides_what_is_tried_first():
    """Rules say alpha; on a problem just like this one beta was ten times cheaper. Far from it, rules count."""
    alpha, beta = cell_of("alpha", 0), cell_of("beta", 0)
    like = Features(2, 4, explicit=600, implicit=1900)
    ways = tuple(
        experience.Measured(way_of(cell), Outcome.OK, 1.0, ((6.0, each_s),))
        for cell, each_s in ((alpha, 1.0), (beta, 0.1))
    )
    seen = [experience.Known("other", "hash", like, ways)]
    tiers = {alpha: 0, beta: 1}
    assert list(turns(tiers, like, seen, digits=6.0, gradients=1000)) == [beta, alpha]
    far = Features(2000, 4, explicit=60000, implicit=19)
    assert list(turns(tiers, far, seen, digits=6.0, gradients=1000)) == [alpha, beta]
    assert list(turns(tiers, like, [], digits=6.0, gradients=1000)) == [alpha, beta]


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

    def wait(self, on: OnHappening) -> None:
        unit = self.seen[-1]
        self.now.s += 10.0
        for job in unit.jobs:
            measurement = measured(job.task, self.cost(job.task.cell, unit.block))
            on(Measured(unit, Record.of(measurement, job.task, job.placement, "")))
        on(Ended(unit))

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
        def wait(self, on: OnHappening) -> None:
            def starved(happening: Any) -> None:
                if isinstance(happening, Measured) and (happening.record.cell, happening.unit.block) == (victim, 0):
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
