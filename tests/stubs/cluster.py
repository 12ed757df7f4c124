"""A scheduler that may lose, repeat, deny or forget tasks, and a study for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stubs.suite import stub_adapters

from sciml_bench.errors import EngineError
from sciml_bench.execution.cluster.engine import Clock, ClusterEngine
from sciml_bench.execution.cluster.scheduler import Phase, Scheduler, State
from sciml_bench.execution.cluster.task import Order, carry_out_task
from sciml_bench.execution.executor import Rest, execute
from sciml_bench.execution.schedule import remaining
from sciml_bench.planning.plan import Plan, make_plan
from sciml_bench.planning.profiles import profile_named
from sciml_bench.planning.selection import Selection
from sciml_bench.planning.settings import Settings
from sciml_bench.record.run_folder import Run

HERE = {"sciml_bench": "1", "packages": {"numpy": "2.3.0", "torch": "2.13.0"}, "cpu": {"model": "small"}}
NODE = {**HERE, "packages": {"numpy": "2.3.0"}, "cpu": {"model": "large"}}

Fate = Callable[[Order], "State | None"]
"""What becomes of a task when it is submitted, and its scheduler's word of it from then on."""


def works(order: Order) -> State | None:
    carry_out_task(order)
    return State(Phase.ENDED, "COMPLETED", "n1")


def vanishes(_order: Order) -> State | None:
    return None


def is_cancelled(_order: Order) -> State | None:
    return State(Phase.ENDED, "CANCELLED", "n1")


def never_starts(_order: Order) -> State | None:
    return State(Phase.RUNNING, "RUNNING", "n1")


class Time(Clock):
    """Seconds that pass by waiting; whoever waits for a day waits forever."""

    def __init__(self) -> None:
        self.seconds = 0.0
        super().__init__(lambda: self.seconds, self._pass)

    def _pass(self, seconds: float) -> None:
        self.seconds += seconds
        assert self.seconds < 86400, "waits forever"


class Stub(Scheduler):
    """A scheduler with a fate for each task in turn; those without one work."""

    name = "stub"
    room = 100

    def __init__(self, *fates: Fate):
        self.fates = list(fates)
        self.submitted: list[list[str]] = []
        self.without: list[list[str]] = []
        self.cancelled: list[str] = []
        self.known: dict[str, State] = {}
        self.is_up = True

    def check(self) -> None:
        pass

    def submit(self, orders: Sequence[Order], without: Sequence[str] = (), active: Sequence[str] = ()) -> list[str]:
        names: list[str] = []
        self.submitted.append([order.unit for order in orders])
        self.without.append(list(without))
        for order in orders:
            name = f"{len(self.submitted)}_{len(names)}"
            state = (self.fates.pop(0) if self.fates else works)(order)
            if state is not None:
                self.known[name] = state
            names.append(name)
        return names

    def states(self) -> Mapping[str, State]:
        if not self.is_up:
            raise EngineError("no daemon answers.")
        return self.known

    def cancel(self, tasks: Sequence[str]) -> None:
        self.cancelled += tasks

    def close(self) -> None:
        pass


@dataclasses.dataclass
class Study:
    """A run of four units, two processes each."""

    plan: Plan
    run: Run
    time: Time
    news: list[str]
    node: str = "n1"

    def engine(self, scheduler: Scheduler, **options: Any) -> ClusterEngine:
        return ClusterEngine(self.run, scheduler, say=self.news.append, clock=self.time, **options)

    def carry_out(self, scheduler: Scheduler, **options: Any) -> Rest:
        return execute(self.plan, self.run, engine=self.engine(scheduler, **options))

    def assert_whole(self) -> None:
        """All that is planned is in the run, once, and its records are valid."""
        records = list(self.run.records())
        processes = [(record.cell_id, record.block) for record in records]
        assert len(set(processes)) == len(processes) == len(self.plan.slots)
        assert not remaining(self.plan, self.run)


def comparable_plan() -> Plan:
    """Whose times are compared, so that nodes must be quiet."""
    profile = dataclasses.replace(profile_named("quick"), processes=2, rerun_noisy=False)
    return make_plan(Selection(problems=("decay", "calm")), stub_adapters(), profile, Settings())


class Killed(BaseException):
    """The end of the submitting process."""
