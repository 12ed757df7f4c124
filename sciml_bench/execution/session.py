"""A session: a plan and its run, which is new or resumed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sciml_bench.adapters.base import Adapter
from sciml_bench.engine.interface import Engine
from sciml_bench.engine.measured_worker import measures_energy
from sciml_bench.errors import StoreError, UsageError
from sciml_bench.execution.executor import Rest, Watcher, execute
from sciml_bench.execution.other_versions import other_versions
from sciml_bench.execution.owner import owned
from sciml_bench.execution.planning import newest_runs
from sciml_bench.execution.schedule import remaining
from sciml_bench.host import temporary
from sciml_bench.host.environment import environment_facts
from sciml_bench.host.processes import strays
from sciml_bench.planning.blocks import Slot
from sciml_bench.planning.plan import Plan
from sciml_bench.planning.written_plan import written_plan
from sciml_bench.record.run_folder import PROBLEMS, Run, environment_hash

WriteFiles = Callable[[Path], None]
"""Puts the files that a plan was made of into the folder of a new run; problem files into ``PROBLEMS`` there."""


@dataclass
class Session:
    """A plan, its run, and which of its processes are left. ``resumed``: the run was there before.

    ``interrupted`` and ``rest`` say how :meth:`carry_out` ended; see :func:`~sciml_bench.execution.executor.execute`.
    """

    plan: Plan
    run: Run
    resumed: bool
    interrupted: bool = False
    rest: Rest = field(default_factory=Rest)

    def left(self) -> list[Slot]:
        """The processes that are still to run, in order."""
        return remaining(self.plan, self.run)

    def goes_one_by_one(self) -> bool:
        """Return whether workers run one after the other where others take turns: energy needs whole loops."""
        of_device = {self.plan.planned[slot.index].cell.device: slot for slot in self.left()}
        return self.plan.profile.comparable and any(
            measures_energy(self.plan.task(slot)) for slot in of_device.values()
        )

    def carry_out(self, watcher: Watcher | None = None, engine: Engine | None = None) -> bool:
        """Measure the rest; returns whether all of it was measured. An interrupted run can be resumed.

        Raises:
            StoreError: another process measures this run, or takes it over.
        """
        temporary.sweep()
        strays.sweep()
        try:
            with terminable(), owned(self.run.folder) as ownership:
                self.rest = execute(self.plan, self.run, watcher, engine, ownership.check)
        except KeyboardInterrupt:
            self.interrupted = True
        return not self.interrupted and not self.rest


def open_session(
    plan: Plan,
    out: Path,
    name: str,
    *,
    resume: bool | None,
    command: str,
    write: WriteFiles | None = None,
    elsewhere: bool = False,
) -> Session:
    """The session of a plan: in the newest unfinished run of the same plan below ``out``, or in a new one.

    ``resume`` requests the one (``True``) or the other (``False``); ``None`` takes an unfinished run if there is one.
    ``command`` is kept in the plan: the command of the run. With ``write`` the problem files are the ones that it puts
    into the folder, and the plan is the same one with its files there. If other machines measure, ``elsewhere``, a run
    that was begun on another machine with the same software fits, too.

    Raises:
        UsageError: ``resume`` was asked for, and there is nothing to resume.
        StoreError: the folder cannot be written, or another process measures the run.
    """

    def at_home(folder: Path) -> Plan:
        return plan if write is None else plan.moved(folder / PROBLEMS)

    locks = locks_of(plan.adapters[item.cell.adapter] for item in plan.planned)
    facts = environment_facts(
        (name for adapter in plan.adapters.values() for name in adapter.packages.values()), plan.settings.threads, locks
    )
    if resume is not False:
        mine = environment_hash(facts)

        def fits(run: Run) -> bool:
            return not other_versions(run.environment, facts) if elsewhere else run.environment_hash == mine

        found, reason = unfinished(plan, out, fits)
        if found is not None:
            return Session(at_home(found.folder), found, resumed=True)
        if resume:
            raise UsageError(f"nothing to resume in {out}: {reason}; leave --resume out to start a new run")
    extra = {"hash": plan.hash, "command": command, "estimated_s": round(plan.cost_s())}

    def kept(folder: Path) -> dict[str, Any]:
        if write is not None:
            write(folder)
        return at_home(folder).to_dict() | extra

    run = Run.create(out, name, plan=kept, environment=facts, locks=locks)
    return Session(at_home(run.folder), run, resumed=False)


def locks_of(adapters: Iterable[Adapter]) -> dict[str, str]:
    """The lock files of these adapters, by their names."""
    different = {adapter.name: adapter for adapter in adapters}.values()
    return {name: text for adapter in different for name, text in adapter.locks().items()}


def unfinished(plan: Plan, folder: Path, fits: Callable[[Run], bool]) -> tuple[Run | None, str]:
    """The newest fitting run of this plan that is not finished, or the reason why a similar one does not fit."""
    reason = ""
    for run in newest_runs(folder):
        if hash_of(run) != plan.hash:
            continue
        with owned(run.folder):
            # It may cut off half a line.
            resumed = Run.resume(run.folder)
        if not remaining(plan, resumed):
            return None, f"the newest run of this plan, {run.folder.name}, is finished"
        if fits(run):
            return resumed, ""
        reason = f"{run.folder.name} is not finished, but was made in another environment (versions or machine changed)"
    return None, reason or "no unfinished run of this plan was found"


def hash_of(run: Run) -> str | None:
    """The hash of a run's plan; ``None`` if it cannot be read."""
    try:
        return written_plan(run).hash
    except StoreError:
        return None


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM, by which batch systems end jobs, and SIGHUP, of a closed terminal, interrupt like Ctrl-C.

    A signal that is ignored, as under ``nohup``, stays ignored.
    """

    def interrupt(_number: int, _frame: Any) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        # A notebook's or a server's: only the main thread can set signals.
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    taken = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    for number in taken:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)
