"""Ten thousand units for a simulated scheduler, in chunks: time and memory of the submitting process.

    python benchmarks/cluster_simulation.py                 10 000 units, at most 1000 at once
    python benchmarks/cluster_simulation.py --units 200

Tasks take no time: each writes the shard of a unit with stored records. Printed are the seconds of the submitting
process for each unit, without those of the tasks, and its peak memory.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from stubs.carried import made_plan  # noqa: E402
from stubs.records import stub_measurement  # noqa: E402

from sciml_bench.engine.files import UNITS  # noqa: E402
from sciml_bench.engine.unit import Unit  # noqa: E402
from sciml_bench.execution.cluster.engine import Clock, ClusterEngine  # noqa: E402
from sciml_bench.execution.cluster.scheduler import Phase, Scheduler, State  # noqa: E402
from sciml_bench.execution.cluster.task import Order  # noqa: E402
from sciml_bench.execution.cluster.task_folder import TASKS, End, Ending, Machine, TaskFolder  # noqa: E402
from sciml_bench.execution.executor import execute  # noqa: E402
from sciml_bench.execution.schedule import remaining  # noqa: E402
from sciml_bench.execution.shard import Shard  # noqa: E402
from sciml_bench.record.record import Record  # noqa: E402
from sciml_bench.record.run_folder import Run, environment_hash  # noqa: E402

ENVIRONMENT = {"sciml_bench": "1", "packages": {"numpy": "2.3.0"}, "cpu": {"model": "simulated"}}
HOST, AT_ONCE, NODES = "0123456789ab", 1000, 100
MOST_MIB = 300


class Simulated(Scheduler):
    """Carries out some tasks whenever it is looked at, as many nodes would."""

    name = "simulated"
    room = AT_ONCE

    def __init__(self) -> None:
        self.waiting: list[tuple[str, Order]] = []
        self.arrays: list[int] = []
        self.tasks_s = 0.0

    def check(self) -> None:
        pass

    def submit(self, orders: Sequence[Order], without: Sequence[str] = (), active: Sequence[str] = ()) -> list[str]:
        self.arrays.append(len(orders))
        names = [f"{len(self.arrays)}_{place}" for place in range(len(orders))]
        self.waiting += zip(names, orders, strict=True)
        return names

    def states(self) -> Mapping[str, State]:
        return {name: State(Phase.WAITING, "PENDING") for name, _ in self.waiting}

    def cancel(self, tasks: Sequence[str]) -> None:
        pass

    def close(self) -> None:
        pass

    def work(self, _seconds: float) -> None:
        """Carry out one task for each node."""
        start_s = time.perf_counter()
        for _, order in self.waiting[:NODES]:
            _carry_out(order)
        del self.waiting[:NODES]
        self.tasks_s += time.perf_counter() - start_s


def _carry_out(order: Order) -> None:
    run = Path(order.run)
    unit = Unit.read(run / UNITS / f"{order.unit}.json")
    task = TaskFolder.begin(run / TASKS, order.unit)
    task.place(Machine("n1"))
    shard = Shard.begin(unit, task.shard_path, ENVIRONMENT)
    for job in unit.jobs:
        shard.append(Record.of(stub_measurement(), job.task, job.placement, environment_hash(ENVIRONMENT), HOST))
    shard.finish(HOST)
    task.finish(End(Ending.MEASURED))


def main() -> int:
    """Simulate, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, default=10_000)
    units = parser.parse_args().units
    with tempfile.TemporaryDirectory() as folder:
        plan = made_plan(processes=units // 2, problems=("lotka-volterra", "robertson"))
        run = Run.create(Path(folder), "many", plan=plan.to_dict() | {"hash": plan.hash}, environment=ENVIRONMENT)
        scheduler = Simulated()
        start_s = time.perf_counter()
        rest = execute(plan, run, engine=ClusterEngine(run, scheduler, clock=Clock(sleep=scheduler.work)))
        took_s = time.perf_counter() - start_s - scheduler.tasks_s
        left = len(remaining(plan, run))
        records = sum(1 for _ in run.records())
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"units {units}, arrays {len(scheduler.arrays)} of at most {max(scheduler.arrays)} tasks")
    print(f"records {records}, left {left}, lost {len(rest.lost)}")
    print(f"submitting process: {took_s:.1f} s, {1e3 * took_s / units:.2f} ms for each unit; peak {peak_mib:.0f} MiB")
    return 1 if rest or left or peak_mib > MOST_MIB else 0


if __name__ == "__main__":
    sys.exit(main())
