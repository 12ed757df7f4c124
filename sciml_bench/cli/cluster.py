"""The machines of a run: this one, the nodes of a cluster, or any to which files of units are taken."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from sciml_bench.cli.output import print_json
from sciml_bench.cli.parameter_types import TIME_SPAN
from sciml_bench.errors import EngineError
from sciml_bench.record.text import counted

if TYPE_CHECKING:
    from pathlib import Path

    from sciml_bench.execution.cluster.engine import ClusterEngine
    from sciml_bench.execution.cluster.scheduler import Scheduler
    from sciml_bench.execution.cluster.slurm import Slurm
    from sciml_bench.execution.session import Session
    from sciml_bench.planning.plan import Plan

CLUSTERS = ("slurm", "dask")

# A unit may take this many times as long as the plan believes, and this much longer.
_TIMES, _MORE_MIN = 3, 15


@dataclass(frozen=True)
class Where:
    """The requested engine and its options."""

    engine: str
    partition: str | None
    nodes: int | None
    constraint: str | None
    account: str | None
    qos: str | None
    cores: int | None
    scheduler: str | None
    time_s: float | None
    any_node: bool
    dry_run: bool

    @property
    def is_cluster(self) -> bool:
        """Return whether other machines measure while this command waits."""
        return self.engine in CLUSTERS


_OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(("local", "files", *CLUSTERS)),
        default="local",
        show_default=True,
        help="Measure here, on the nodes of a cluster, or write units of work for `sciml-bench worker`.",
    ),
    click.option("--partition", metavar="NAME", help="Slurm: the partition."),
    click.option(
        "--nodes", type=click.IntRange(min=1), metavar="N", help="Slurm: how many nodes at once, or tasks with --cores."
    ),
    click.option("--constraint", metavar="FEATURES", help="Slurm: features that a node must have."),
    click.option("--account", metavar="NAME", help="Slurm: the account that pays."),
    click.option("--qos", metavar="NAME", help="Slurm: the quality of service."),
    click.option(
        "--cores",
        type=click.IntRange(min=1),
        metavar="N",
        help="Slurm: measure on N cores of nodes that other jobs share, and disturb, instead of whole nodes.",
    ),
    click.option("--scheduler", metavar="ADDRESS", help="Dask: the scheduler; without it a worker on this machine."),
    click.option(
        "--time",
        "time_s",
        type=TIME_SPAN,
        help="Cluster: the time limit of one block of a problem; without it, three times what the plan expects, and 15 "
        "minutes.",
    ),
    click.option("--any-node", is_flag=True, help="Cluster: also measure on a node that other work disturbs."),
    click.option("--dry-run", is_flag=True, help="Cluster: print what would be submitted, and submit nothing."),
)


def engine_options(command: Callable[..., int]) -> Callable[..., int]:
    """The options of :class:`Where`, as the argument ``where``."""

    def wrapped(*args: Any, **kwargs: Any) -> int:
        where = Where(**{name: kwargs.pop(name) for name in Where.__dataclass_fields__})
        if where.dry_run and not where.is_cluster:
            raise click.UsageError("--dry-run prints what a cluster would be given: add --engine slurm or dask.")
        _refuse_others(where)
        return command(*args, where=where, **kwargs)

    wrapped.__doc__, wrapped.__name__ = command.__doc__, command.__name__
    # Click keeps the options of inner decorators here.
    wrapped.__click_params__ = getattr(command, "__click_params__", [])  # pyright: ignore[reportFunctionMemberAccess]
    decorated: Callable[..., int] = wrapped
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def _refuse_others(where: Where) -> None:
    """Refuse options of another engine."""
    of_engines = {
        ("slurm",): ("partition", "nodes", "constraint", "account", "qos", "cores"),
        ("dask",): ("scheduler",),
        CLUSTERS: ("time_s", "any_node"),
    }
    for engines, names in of_engines.items():
        given = [name for name in names if getattr(where, name) is not None and getattr(where, name) is not False]
        if given and where.engine not in engines:
            option = given[0].removesuffix("_s").replace("_", "-")
            raise click.UsageError(f"--{option} needs --engine {' or '.join(engines)}.")


def check_cluster(where: Where, plan: Plan, out: Path) -> None:
    """Raise :class:`EngineError` if a cluster cannot be used, before there is a run."""
    _check_cores(where, plan)
    scheduler = _scheduler(where, out / "RUN", plan)
    if scheduler.keeps_tasks:
        try:
            scheduler.check()
        finally:
            scheduler.close()


def _check_cores(where: Where, plan: Plan) -> None:
    threads = plan.settings.threads
    if where.cores is not None and where.cores <= threads:
        raise EngineError(
            f"--cores {where.cores} is too few: a worker has {counted(threads, 'thread')}, and the process that starts"
            f" it needs a core, too. Give --cores {threads + 1} or more."
        )


def engine_of(where: Where, session: Session, as_json: bool) -> ClusterEngine:
    """The engine of a cluster, which was found to be there."""
    from sciml_bench.execution.cluster.engine import ClusterEngine

    scheduler = _scheduler(where, session.run.folder, session.plan)
    scheduler.check()

    def say(text: str) -> None:
        click.echo(text, err=as_json)

    if where.cores is not None:
        say("warning: other jobs may share the nodes: they disturb times by memory and caches, which no check sees")
    return ClusterEngine(
        session.run,
        scheduler,
        any_node=where.any_node or where.cores is not None,
        cores=where.cores,
        limit_s=60 * _time_min(where, session.plan),
        say=say,
        may_cancel=_may_cancel,
    )


def print_dry_run(where: Where, plan: Plan, out: Path, as_json: bool) -> None:
    """Print the number of units of a plan, and the batch script of all of them."""
    from sciml_bench.execution.schedule import groups

    _check_cores(where, plan)
    count = sum(1 for _ in groups(plan))
    script = _slurm(where, out / "RUN", plan).script(count) if where.engine == "slurm" else None
    if as_json:
        print_json({"tasks": count, "script": script})
        return
    click.echo(f"{count} {'task' if count == 1 else 'tasks'}, each a block of one problem")
    if script is not None:
        click.echo(script)


def _scheduler(where: Where, run: Path, plan: Plan) -> Scheduler:
    from sciml_bench.execution.cluster.dask import Dask

    return Dask(where.scheduler) if where.engine == "dask" else _slurm(where, run, plan)


def _slurm(where: Where, run: Path, plan: Plan) -> Slurm:
    from sciml_bench.execution.cluster.slurm import Slurm, SlurmOptions

    return Slurm(
        run,
        SlurmOptions(
            time_min=_time_min(where, plan),
            partition=where.partition,
            nodes=where.nodes,
            constraint=where.constraint,
            account=where.account,
            qos=where.qos,
            cores=where.cores,
        ),
    )


def _time_min(where: Where, plan: Plan) -> int:
    """The limit of each block of a problem in minutes; without ``--time``, by the plan's costs."""
    if where.time_s is not None:
        return max(1, math.ceil(where.time_s / 60))
    costs_s: dict[tuple[str, int], float] = {}
    for slot in plan.slots:
        key = plan.planned[slot.index].cell.problem, slot.block
        costs_s[key] = costs_s.get(key, 0.0) + plan.cost_s([slot])
    return math.ceil(_TIMES * max(costs_s.values()) / 60) + _MORE_MIN


def _may_cancel(count: int) -> bool:
    """Ask whether tasks are ended; without a terminal they stay."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    try:
        return click.confirm(f"\nend {count} {'task' if count == 1 else 'tasks'} that wait or run?", err=True)
    except (click.Abort, OSError):
        # Also of a terminal that was closed.
        return False
