"""One task on a machine of a cluster: carries out a unit of a run, and leaves the shard in the run's folder.

``python -m sciml_bench.execution.cluster.task RUN UNIT``.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import platform
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sciml_bench.engine.files import UNITS
from sciml_bench.engine.unit import Unit
from sciml_bench.errors import EngineError, SciMLBenchError, StoreError
from sciml_bench.execution.cluster.task_folder import TASKS, End, Ending, Machine, TaskFolder, tasks_of
from sciml_bench.execution.finished import Finished
from sciml_bench.execution.owner import owned
from sciml_bench.execution.session import terminable
from sciml_bench.execution.shard import Shard, carry_out, environment_of
from sciml_bench.host.affinity import usable_cores, usable_processors
from sciml_bench.host.doctor.other_work import PASSING, other_work
from sciml_bench.host.lock import host_lock, lock_path_of
from sciml_bench.host.machine import pseudonym
from sciml_bench.host.processes.parent import end_with_parent
from sciml_bench.record.jsonl import append_line
from sciml_bench.record.record import Record
from sciml_bench.record.text import counted

NODE = "SCIML_BENCH_NODE"
"""The variable with a scheduler's name of this node."""

_LOOKS, _PAUSE_S = 13, 5.0
# A task that does not end by a signal in this time is killed.
_STOP_S, _KILL_S = 1.0, 60.0


@dataclass(frozen=True)
class Order:
    """The order for a task, which ends after ``limit_s``, also if it only waited for its machine.

    With ``any_node`` a node that other work disturbs carries it out, too. With ``cores`` it has this number of cores of
    a node that others share.
    """

    run: str
    unit: str
    any_node: bool = False
    limit_s: float = math.inf
    cores: int | None = None


def command_of(order: Order) -> list[str]:
    """The arguments of Python that carry out a task in another process, which ends with this one."""
    options = ["--limit-s", repr(order.limit_s), *(["--any-node"] if order.any_node else [])]
    options += [] if order.cores is None else ["--cores", str(order.cores)]
    return ["-m", __name__, order.run, order.unit, *options]


def carry_out_task(order: Order) -> None:
    """Carry out a unit of a run, and leave the shard, or the reason why there is none, in the run's folder."""
    tasks = Path(order.run) / TASKS
    task = TaskFolder.begin(tasks, order.unit)

    def log(text: str) -> None:
        with suppress(StoreError):
            append_line(task.log_path, text)

    start_s = time.monotonic()
    stop = _Stop(order.limit_s)
    with owned(task.folder):
        try:
            with terminable(), _stopping(task, stop):
                end = _carried_out(order, task, log)
        except KeyboardInterrupt:
            end = End(Ending.TIMED_OUT if stop.is_late else Ending.INTERRUPTED, f"it was ended on {_node()}{stop}")
        except SciMLBenchError as error:
            end = End(Ending.FAILED, f"on {_node()}: {error}")
        except Exception as error:
            log(traceback.format_exc())
            end = End(Ending.FAILED, f"on {_node()}: {type(error).__name__}: {error}")
        log(f"{end.ending}{': ' if end.message else ''}{end.message}")
        task.finish(dataclasses.replace(end, took_s=time.monotonic() - start_s))


def _others(task: TaskFolder, unit_id: str) -> list[TaskFolder]:
    """The other tasks of a unit, as they are now."""
    found = tasks_of(task.folder.parent).get(unit_id, ())
    return [other for other in found if other.number != task.number]


def _gave_way(other: TaskFolder) -> End:
    return End(Ending.GAVE_WAY, f"task {other.number} of this unit on {other.node} has it")


@dataclass
class _Stop:
    """The limit of a task, and whether it ended the task."""

    limit_s: float
    is_late: bool = False

    def __str__(self) -> str:
        return f" after its limit of {self.limit_s / 60:g} min: give a longer --time" if self.is_late else ""


@contextmanager
def _stopping(task: TaskFolder, stop: _Stop) -> Iterator[None]:
    """End this process as a scheduler does when the task is asked to stop, or its time is over."""
    ended, start_s = threading.Event(), time.monotonic()

    def watch() -> None:
        while not ended.wait(_STOP_S):
            stop.is_late = time.monotonic() - start_s > stop.limit_s
            if stop.is_late or task.is_to_stop:
                os.kill(os.getpid(), signal.SIGTERM)
                if not ended.wait(_KILL_S):
                    os.kill(os.getpid(), signal.SIGKILL)
                return

    thread = threading.Thread(target=watch, name="stop", daemon=True)
    try:
        thread.start()
        yield
    finally:
        # A signal may come before it has started.
        ended.set()
        if thread.ident is not None:
            thread.join()


def _carried_out(order: Order, task: TaskFolder, log: Callable[[str], None]) -> End:
    task.place(Machine(_node(), _job()))
    for other in _others(task, order.unit):
        # A scheduler that put a task back may start it again while the first one still runs. Two that start at once may
        # both measure, if the second one looks before the first one has signed: the run takes one of them.
        if other.is_measured or (other.is_alive and other.number < task.number):
            return _gave_way(other)
    unit = Unit.read(Path(order.run) / UNITS / f"{order.unit}.json")
    unit.check_version()
    if order.cores is not None and (usable := usable_cores()) > order.cores:
        return End(
            Ending.REFUSED,
            f"{_node()} does not keep a task on the {counted(order.cores, 'core')} that it requested: it may use"
            f" {usable}, and so may other jobs. Measure on whole nodes, without --cores",
        )
    with ExitStack() as held:
        try:
            # Whoever has the machine for longer may never end: another node takes the unit.
            path = None if order.cores is None else lock_path_of(usable_processors())
            held.enter_context(host_lock(label=f"unit {unit}", wait_s=order.limit_s / 2, path=path, announce=log))
        except EngineError as error:
            return End(Ending.REFUSED, f"{_node()} cannot be used: {error}")
        others = _others(task, order.unit)
        for other in others:
            # It had this machine meanwhile.
            if other.is_measured:
                return _gave_way(other)
        if unit.comparable and not order.any_node and (busy := _busy()):
            return End(Ending.REFUSED, f"{_node()} is disturbed: {busy}")
        host, environment = pseudonym(unit.plan_hash), environment_of(unit)
        for other in reversed(others):
            if _fits(other, unit, environment, host):
                log(f"continues task {other.number}, which ended on this machine")
                other.shard_path.rename(task.shard_path)
                break
        shard = Shard.begin(unit, task.shard_path, environment)

        def show(place: int, total: int, record: Record) -> None:
            log(str(Finished(place, total, record)))

        carry_out(shard, host, show)
    return End(Ending.MEASURED)


def _fits(other: TaskFolder, unit: Unit, environment: dict[str, object], host: str) -> bool:
    """Return whether the shard of an ended task was begun on this machine, in this environment."""
    if other.is_alive or not other.shard_path.is_dir():
        return False
    try:
        begun = Shard.begin(unit, other.shard_path, environment)
        return not begun.is_whole and all(record.host == host for record in begun.records())
    except StoreError:
        return False


def _busy() -> str:
    """The other work that disturbs this node for a whole minute; empty if there is a quiet moment."""
    found = list[str]()
    for look in range(_LOOKS):
        if look:
            time.sleep(_PAUSE_S)
        found = [f"{each.title}: {each.found}" for each in other_work() if each.id in PASSING]
        if not found:
            break
    return "; ".join(found)


def _node() -> str:
    """The scheduler's name of this node, or its own."""
    return os.environ.get("SLURMD_NODENAME") or os.environ.get(NODE) or platform.node()


def _job() -> str:
    """The scheduler's name of this task."""
    array, index = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    return f"{array}_{index}" if array and index else os.environ.get("SLURM_JOB_ID", "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out the task of the command line."""
    parser = argparse.ArgumentParser(prog="sciml_bench.execution.cluster.task")
    parser.add_argument("run")
    parser.add_argument("unit")
    parser.add_argument("--limit-s", type=float, default=math.inf)
    parser.add_argument("--any-node", action="store_true")
    parser.add_argument("--cores", type=int)
    end_with_parent()
    carry_out_task(Order(**vars(parser.parse_args(arguments))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
