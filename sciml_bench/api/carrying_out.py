"""A plan carried out here for a program: one run at a time, and an unfinished one of the same plan is resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from sciml_bench.api.stored_run import Run
from sciml_bench.errors import UsageError

if TYPE_CHECKING:
    from sciml_bench.execution.finished import Finished
    from sciml_bench.planning.plan import Plan


def carried_out(
    plan: Plan,
    out: Path,
    name: str,
    command: str,
    *,
    resume: bool | None,
    wait: bool,
    progress: Callable[[Finished], object] | None,
    write: Callable[[Path], None] | None = None,
) -> Run:
    """The run of a plan below ``out``; ``write`` puts its problem files into its folder.

    Raises:
        UsageError: the plan is empty, or there is nothing to resume.
        EngineError: another benchmark runs on this host; ``wait`` waits for it.
    """
    from sciml_bench.execution.finished import Following
    from sciml_bench.execution.session import open_session
    from sciml_bench.host.lock import host_lock

    if not plan.planned:
        reasons = dict.fromkeys(item.reason for item in plan.skipped)
        raise UsageError(f"nothing is selected. {'; '.join(reasons) or 'No cell matches.'}")
    with host_lock(label=f"{command}, {name}", wait_s=None if wait else 0.0):
        session = open_session(plan, out, name, resume=resume, command=f"sciml_bench.{command}", write=write)
        session.carry_out(None if progress is None else Following(progress))
    if session.interrupted:
        raise KeyboardInterrupt(f"the measurements are in {session.run.folder}; the same call continues it")
    return Run(session.run)


def words(names: str | Iterable[str]) -> tuple[str, ...]:
    """Names as a tuple; a single one may be given alone."""
    return (names,) if isinstance(names, str) else tuple(names)
