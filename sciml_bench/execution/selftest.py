"""Measures what a self-test needs: blocks of one cell and of the same cell slowed down, in fresh processes."""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sciml_bench.adapters.registry import adapters
from sciml_bench.analysis.selftest.blocks import ROLES, SLOW_DOWNS, roles
from sciml_bench.analysis.selftest.figures import Times
from sciml_bench.analysis.selftest.store import Writer
from sciml_bench.engine.group import measure_group
from sciml_bench.engine.limits import Limits
from sciml_bench.planning.plan import make_plan
from sciml_bench.planning.profiles import profile_named
from sciml_bench.planning.selection import Selection
from sciml_bench.planning.settings import Settings
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import PointResult
from sciml_bench.record.record import Placement, Record
from sciml_bench.record.task import Task
from sciml_bench.stats.spread import process_median

_PROGRAM = "sciml_bench.measure.selftest:slowed"
_CELL = "lotka-volterra/scipy/rk45/forward/eager/float64/cpu"

_PROFILE = "standard"
_RTOL = 1e-4
_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Workload:
    """A cheap cell to test the harness with.

    ``spec_hash`` names its problem, ``slow_downs`` the share by which each role is slowed down.
    """

    task: Task
    spec_hash: str
    slow_downs: Mapping[str, float] = field(default_factory=lambda: dict(SLOW_DOWNS))


@dataclass
class Measured:
    """The measurements so far: seconds by series, role and block, and the number of processes."""

    times: dict[str, dict[str, dict[int, float | None]]] = field(
        default_factory=dict[str, dict[str, dict[int, float | None]]]
    )
    processes: int = 0
    noisy: int = 0
    blocks: int = 0

    def keep(self, role: str, block: int, record: Record) -> None:
        """Add a record."""
        self.processes += 1
        self.noisy += bool(record.noisy)
        (point,) = record.points
        for quantity, seconds in (("solve", _solve_s(point)), ("gradient", _gradient_s(point))):
            series = self.times.setdefault(f"{record.cell.label}, {quantity}", {name: {} for name in ROLES})
            series[role][block] = seconds

    @property
    def series(self) -> dict[str, Times]:
        """Times by series."""
        return dict(self.times)


def workload() -> Workload:
    """A problem of the catalog in SciPy, which every installation has, sampled as a point of a published table is."""
    chosen = profile_named(_PROFILE)
    sampling = dataclasses.replace(chosen.sampling, warm_up_s=0.0)
    profile = dataclasses.replace(chosen, processes=1, rtols=(_RTOL,), sampling=sampling, draws=0)
    plan = make_plan(Selection(cells=(_CELL,)), adapters(), profile, Settings())
    (slot,) = plan.slots
    return Workload(plan.task(slot), plan.entries[0].problem.spec_hash)


def measure(
    chosen: Workload,
    writer: Writer,
    measured: Measured,
    *,
    seconds: float,
    seed: int,
    tell: Callable[[Measured, float], None],
) -> None:
    """Measure block after block until the time is over; a block that would not fit any more is not begun.

    ``tell`` is called after each block with the measurements and the share of the time that is used up.
    """
    start_s = time.monotonic()
    longest_s = 0.0
    while True:
        elapsed_s = time.monotonic() - start_s
        if measured.blocks and elapsed_s + longest_s > seconds:
            return
        # A disturbed block counts: the figures are to say what verdicts are worth on this machine as it is.
        _measure_block(_Block(chosen, measured.blocks, seed), writer, measured)
        measured.blocks += 1
        longest_s = max(longest_s, time.monotonic() - start_s - elapsed_s)
        tell(measured, min(1.0, (time.monotonic() - start_s) / seconds))


@dataclass(frozen=True)
class _Block:
    """A complete block: all roles of the workload, which take turns as cells of a run do."""

    workload: Workload
    number: int
    seed: int

    def task(self, role: str) -> Task:
        """The task of a role's worker; all roles of a block see the same inputs."""
        task = self.workload.task
        options = {"program": task.program, "slow_down": self.workload.slow_downs.get(role, 0.0)}
        inputs = random.Random(f"selftest/{self.seed}/inputs/{self.number}").getrandbits(32)
        return dataclasses.replace(task, program=_PROGRAM, options=options, seed=inputs)


def _measure_block(block: _Block, writer: Writer, measured: Measured) -> None:
    placed = roles(block.number, block.seed)
    tasks = [block.task(role) for role in placed]
    measurements = measure_group(tasks, Limits(_TIMEOUT_S))
    for order, (role, task, measurement) in enumerate(zip(placed, tasks, measurements, strict=True)):
        placement = Placement(
            cell_id=role,
            block=block.number,
            order=order,
            division="selftest",
            profile="selftest",
            smoke_only=False,
            spec_hash=block.workload.spec_hash,
        )
        record = Record.of(measurement, task, placement, writer.environment_hash)
        writer.append(record)
        measured.keep(role, block.number, record)


def _solve_s(point: PointResult) -> float | None:
    ok = point.solve.outcome is Outcome.OK
    return _seconds(process_median(point.solve.counted_ns)) if ok else None


def _gradient_s(point: PointResult) -> float | None:
    ok = point.gradient.outcome is Outcome.OK
    return _seconds(process_median(point.gradient.counted_ns)) if ok else None


def _seconds(ns: float | None) -> float | None:
    return ns / 1e9 if ns else None
