"""Slurm, by submitit: one array of tasks for each submission, each task with a node, or cores of one, for itself."""

from __future__ import annotations

import importlib.util
import math
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sciml_bench.errors import EngineError
from sciml_bench.execution.cluster.scheduler import Phase, Scheduler, State
from sciml_bench.execution.cluster.task import Order, carry_out_task
from sciml_bench.host.extras import install_command
from sciml_bench.record.text import printable

if TYPE_CHECKING:
    import submitit

_FOLDER = "slurm"
_NEEDED = f"--engine slurm needs submitit: {install_command('slurm')}"
_ANSWER_S = 60.0
_PHASES = {
    "PENDING": Phase.WAITING,
    "REQUEUED": Phase.WAITING,
    "REQUEUE_HOLD": Phase.HELD,
    "REQUEUE_FED": Phase.WAITING,
    "SPECIAL_EXIT": Phase.HELD,
    "CONFIGURING": Phase.WAITING,
    "SUSPENDED": Phase.WAITING,
    "STOPPED": Phase.WAITING,
    "RUNNING": Phase.RUNNING,
    "COMPLETING": Phase.RUNNING,
    "STAGE_OUT": Phase.RUNNING,
    "SIGNALING": Phase.RUNNING,
}
# Reasons of tasks in the queue that never start; others pass.
_HELD = re.compile(
    r"PartitionTimeLimit|PartitionNodeLimit|JobHeldAdmin|.*[Hh]eld\b|BadConstraints|Invalid(Account|QOS)|JobHoldMaxRequeue|"
    r"(Assoc|QOS)Max\w*PerJob|(Assoc|QOS)Min|PartitionConfig|(Account|QOS)NotAllowed|DependencyNeverSatisfied"
)
_MINUTES = re.compile(r"(?:(?P<days>\d+)-)?(?:(?P<first>\d+):)?(?:(?P<second>\d+):)?(?P<last>\d+)")
# Slurm's own default, where a site does not say.
_MAX_ARRAY_SIZE = 1001


@dataclass(frozen=True)
class SlurmOptions:
    """The nodes to use: at most ``nodes`` at once, each unit for at most ``time_min`` minutes, alone on its node or on
    this number of ``cores`` of one.
    """

    time_min: int
    partition: str | None = None
    nodes: int | None = None
    constraint: str | None = None
    account: str | None = None
    qos: str | None = None
    cores: int | None = None


class Slurm(Scheduler):
    """Submits tasks from the folder of a run, which all nodes must see."""

    name = "slurm"

    def __init__(self, run: Path, options: SlurmOptions):
        self._folder = run.resolve() / _FOLDER
        self._options = options
        self.room = _MAX_ARRAY_SIZE - 1

    def check(self) -> None:
        missing = [command for command in ("sbatch", "squeue", "scancel", "srun") if shutil.which(command) is None]
        if missing:
            raise EngineError(
                f"there is no {missing[0]} here: run this on a login node of the cluster, or leave --engine slurm out."
            )
        if importlib.util.find_spec("submitit") is None:
            raise EngineError(_NEEDED)
        # Slurm's commands end with 0 when no daemon answers; this one does not.
        try:
            _output("scontrol", "ping")
        except EngineError:
            raise EngineError("Slurm's controller does not answer: try later, or leave --engine slurm out.") from None
        settings = _output("scontrol", "show", "config")
        for line in settings.splitlines():
            name, _, value = line.partition("=")
            if name.strip() == "MaxArraySize" and value.strip().isdigit():
                self.room = max(1, int(value) - 1)
        partitions = [line.strip().partition("|")[::2] for line in _output("sinfo", "-h", "-o", "%P|%l").splitlines()]
        limit_of = {name.rstrip("*"): limit for name, limit in partitions}
        # Without the option a site may choose another one than its default.
        names = self._options.partition.split(",") if self._options.partition else []
        if unknown := [name for name in names if name not in limit_of]:
            raise EngineError(
                f"this cluster has no partition {unknown[0]!r}: give --partition one of "
                f"{', '.join(map(printable, sorted(limit_of)))}."
            )
        limit_min = max((minutes(limit_of[name]) for name in names), default=math.inf)
        if self._options.time_min > limit_min:
            raise EngineError(
                f"the partition {printable(','.join(names))} ends tasks after {limit_min:g} min, and a block may take "
                f"{self._options.time_min} min: give --time {limit_min:g}min, or another --partition."
            )

    def submit(self, orders: Sequence[Order], without: Sequence[str] = (), active: Sequence[str] = ()) -> list[str]:
        # Slurm limits the nodes of one array only: the next one waits, if both together may take more.
        nodes = self._options.nodes
        executor = self._executor(without, active if nodes and len(active) + len(orders) > nodes else ())
        from submitit.core.utils import FailedJobError, FailedSubmissionError

        try:
            jobs = executor.map_array(carry_out_task, orders)
        except (FailedJobError, FailedSubmissionError, OSError) as error:
            raise EngineError(f"Slurm refused the tasks: {_last_line(str(error))}.") from error
        return [str(job.job_id) for job in jobs]

    def script(self, count: int) -> str:
        """The batch script of an array of ``count`` tasks."""
        executor: Any = self._executor((), ())
        executor.parameters["map_count"] = count
        return executor._make_submission_file_text(executor._submitit_command_str, "")

    def states(self) -> Mapping[str, State]:
        lines = _output("squeue", "-h", "-r", "-t", "all", "-u", str(os.getuid()), "-o", "%i|%T|%N|%r").splitlines()
        found: dict[str, State] = {}
        for line in lines:
            task, word, node, reason = (*map(printable, line.strip().split("|", 3)), "", "", "")[:4]
            phase = _PHASES.get(word, Phase.ENDED)
            if phase is Phase.HELD or (phase is Phase.WAITING and _HELD.match(reason)):
                found[task] = State(Phase.HELD, f"{word} ({reason})", node)
            else:
                found[task] = State(phase, "TIMEOUT, so give a longer --time" if word == "TIMEOUT" else word, node)
        return found

    def cancel(self, tasks: Sequence[str]) -> None:
        if tasks:
            _output("scancel", "-Q", *tasks)

    def close(self) -> None:
        pass

    def _executor(self, without: Sequence[str], after: Sequence[str]) -> submitit.SlurmExecutor:
        try:
            import submitit
        except ImportError:
            raise EngineError(_NEEDED) from None

        try:
            executor = submitit.SlurmExecutor(self._folder)
        except RuntimeError:
            raise EngineError("srun is not here: run this on a login node of the cluster.") from None
        options = self._options
        arrays = sorted({task.partition("_")[0] for task in after})
        dependency = {"dependency": f"afterany:{':'.join(arrays)}"} if arrays else {}
        executor.update_parameters(
            job_name="sciml-bench",
            time=options.time_min,
            partition=options.partition,
            constraint=options.constraint,
            account=options.account,
            qos=options.qos,
            exclude=",".join(without) or None,
            **({"exclusive": True} if options.cores is None else {"cpus_per_task": options.cores}),
            array_parallelism=options.nodes or self.room,
            # A step would get one processor of the node; the batch script has them all.
            use_srun=False,
            stderr_to_stdout=True,
            # Of a core with two threads the other one stays idle.
            additional_parameters={
                "requeue": True,
                **({} if options.cores is None else {"threads-per-core": 1}),
                **dependency,
            },
        )
        return executor


def minutes(limit: str) -> float:
    """The minutes of a time limit as Slurm writes it, ``2-12:00:00`` or ``30:00``; infinite without one."""
    match = _MINUTES.fullmatch(limit)
    if match is None:
        return math.inf
    parts = [int(part) for part in (match["first"], match["second"], match["last"]) if part is not None]
    # Slurm writes days with hours first, otherwise seconds last.
    hours, minute, second = ([*parts, 0, 0] if match["days"] else [0, 0, *parts][-3:])[:3]
    return 1440 * int(match["days"] or 0) + 60 * hours + minute + second / 60


def _output(*command: str) -> str:
    """The output of a command of Slurm. :class:`EngineError` if it fails, or does not answer."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_ANSWER_S, check=False)
    except FileNotFoundError:
        raise EngineError(f"there is no {command[0]} here: run this on a login node of the cluster.") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(f"{command[0]} does not answer: {error}") from error
    if done.returncode:
        raise EngineError(f"`{' '.join(command[:2])}` failed: {_last_line(done.stderr or done.stdout)}.")
    return done.stdout


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return printable(lines[-1].strip().rstrip(".")) if lines else "it does not say why"
