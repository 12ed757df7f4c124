"""Measures what a self-test needs: blocks of the same cell, and of the cell slowed down, in fresh processes."""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sciml_bench.engine import Limits, measure_cell
from sciml_bench.measure.point import PointResult
from sciml_bench.outcome import Outcome
from sciml_bench.plan.plan import Settings, make_plan
from sciml_bench.plan.profiles import PERTURBATION, profile_named
from sciml_bench.plan.selection import Selection
from sciml_bench.report.selftest.figures import ROLES, SLOW_DOWNS, Times
from sciml_bench.report.selftest.stored import Writer
from sciml_bench.stats.processes import process_median
from sciml_bench.store import Placement, Record
from sciml_bench.task import Cell, Numbers, Point, Sampling, Task

_PROGRAM = "sciml_bench.measure.selftest:slowed"
_CATALOG_CELL = "lotka-volterra/scipy/rk45/forward/eager/float64/cpu"

_RTOL = 1e-4
_TIMEOUT_S = 60.0
_SAMPLING = Sampling(warm_up_calls=3, steady_calls=30, steady_s=0.2, max_steady_calls=1000, perturbation=PERTURBATION)

# So many rates keep NumPy's loops short and the interpreter's part of a call large, as in eager frameworks.
_RATES = tuple(0.1 * k for k in range(1, 9))
_SAVE_TIMES = (0.5, 1.0)


@dataclass(frozen=True)
class Workload:
    """A cheap cell to test the harness with; ``spec_hash`` names its problem."""

    name: str
    task: Task
    spec_hash: str


@dataclass
class Measured:
    """What was measured so far: seconds by series, role and block, and how many processes there were."""

    times: dict[str, dict[str, dict[int, float | None]]] = field(
        default_factory=dict[str, dict[str, dict[int, float | None]]]
    )
    processes: int = 0
    noisy: int = 0
    blocks: int = 0

    def keep(self, workload: str, role: str, block: int, record: Record) -> None:
        """Add a record."""
        self.processes += 1
        self.noisy += bool(record.noisy)
        (point,) = record.points
        for quantity, seconds in (("solve", _solve_s(point)), ("gradient", _gradient_s(point))):
            series = self.times.setdefault(f"{workload}, {quantity}", {name: {} for name in ROLES})
            series[role][block] = seconds

    @property
    def series(self) -> dict[str, Times]:
        """Times by series."""
        return dict(self.times)


def workloads() -> list[Workload]:
    """A catalog problem in SciPy, and a method written in NumPy alone, which starts in a tenth of a second."""
    return [_catalog_workload(), _numpy_workload()]


def measure(
    chosen: list[Workload],
    writer: Writer,
    measured: Measured,
    *,
    seconds: float,
    seed: int,
    tell: Callable[[Measured, float], None],
) -> None:
    """Measure block after block until the time is over; a block that would not fit any more is not begun.

    ``tell`` is called after each block with what there is and the share of the time that is used up.
    """
    start_s = time.monotonic()
    longest_s = 0.0
    while True:
        elapsed_s = time.monotonic() - start_s
        if measured.blocks and elapsed_s + longest_s > seconds:
            return
        for group in _groups(chosen, measured.blocks, seed):
            # As in the profiles for published tables: a disturbed group is measured once more, and then counts.
            if _measure_group(group, writer, measured, seed, attempt=0):
                _measure_group(group, writer, measured, seed, attempt=1)
        measured.blocks += 1
        longest_s = max(longest_s, time.monotonic() - start_s - elapsed_s)
        tell(measured, min(1.0, (time.monotonic() - start_s) / seconds))


@dataclass(frozen=True)
class _Group:
    """The roles of one workload in one block, in the order in which they are measured, next to each other in time."""

    workload: Workload
    block: int
    roles: tuple[tuple[int, str], ...]


def _groups(chosen: list[Workload], block: int, seed: int) -> Iterator[_Group]:
    """A randomised complete block."""
    generator = random.Random(f"selftest/{seed}/{block}")
    for place, workload in enumerate(generator.sample(chosen, len(chosen))):
        roles = generator.sample(ROLES, len(ROLES))
        yield _Group(workload, block, tuple(enumerate(roles, start=place * len(ROLES))))


def _measure_group(group: _Group, writer: Writer, measured: Measured, seed: int, attempt: int) -> bool:
    """Measure a group; whether any of its processes was disturbed."""
    noisy = False
    for order, role in group.roles:
        record = _measured(group.workload, role, group.block, order, seed, attempt, writer.environment_hash)
        writer.append(record)
        measured.keep(group.workload.name, role, group.block, record)
        noisy |= bool(record.noisy)
    return noisy


def _measured(
    workload: Workload, role: str, block: int, order: int, seed: int, attempt: int, environment_hash: str
) -> Record:
    slow_down = SLOW_DOWNS.get(role, 0.0)
    options = {"program": workload.task.program, "slow_down": slow_down}
    inputs = random.Random(f"selftest/{seed}/{workload.name}/{block}").getrandbits(32)
    task = dataclasses.replace(workload.task, program=_PROGRAM, options=options, seed=inputs)
    measurement = measure_cell(task, Limits(_TIMEOUT_S))
    placement = Placement(
        cell_id=f"{workload.name}-{role}",
        block=block,
        order=order,
        division="selftest",
        profile="selftest",
        smoke_only=False,
        spec_hash=workload.spec_hash,
        attempt=attempt,
    )
    return Record.of(measurement, task, placement, environment_hash)


def _catalog_workload() -> Workload:
    from sciml_bench.adapters.registry import adapters

    profile = dataclasses.replace(profile_named("standard"), processes=1, rtols=(_RTOL,), sampling=_SAMPLING)
    plan = make_plan(Selection(cells=(_CATALOG_CELL,)), adapters(), profile, Settings())
    (slot,) = plan.slots
    task = plan.task(slot)
    return Workload("scipy lotka-volterra", task, plan.entries[0].problem.spec_hash)


def _numpy_workload() -> Workload:
    numbers = Numbers(
        y0=(1.0,) * len(_RATES),
        p=_RATES,
        t0=0.0,
        t1=_SAVE_TIMES[-1],
        save_times=_SAVE_TIMES,
        breakpoints=(),
        atol_scale=(1.0,) * len(_RATES),
        wrt="parameters",
    )
    task = Task(
        cell=Cell("linear-decay", "numpy", "rk4", "forward", "eager"),
        program="sciml_bench.measure.selftest:runge_kutta",
        source="",
        numbers=numbers,
        points=(Point(_RTOL, _RTOL),),
        sampling=_SAMPLING,
        seed=0,
        threads=1,
        error_bound=0.1,
        gradient_error_bound=0.1,
    )
    return Workload("numpy linear-decay", task, "")


def _solve_s(point: PointResult) -> float | None:
    ok = point.solve_outcome is Outcome.OK
    return _seconds(process_median(point.counted_solve_ns)) if ok else None


def _gradient_s(point: PointResult) -> float | None:
    ok = point.gradient_outcome is Outcome.OK
    return _seconds(process_median(point.counted_gradient_ns)) if ok else None


def _seconds(ns: float | None) -> float | None:
    return ns / 1e9 if ns else None
