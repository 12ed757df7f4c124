"""The worker process: ``python -m sciml_bench.measure.worker [LIMIT_S [SLICE_S]]`` measures the task on the first line
of its standard input.

It reports to the engine in JSON lines on its standard output (see ``protocol``). ``LIMIT_S`` is the time limit of a
phase in seconds, by which loops end. With ``SLICE_S`` it takes turns with other workers (see
:class:`~sciml_bench.measure.turn_token.SharedTurnToken`). NumPy and everything that needs it is imported after the
framework: the cost of the framework's import then contains NumPy, as it does for a user.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from sciml_bench.host.processes.memory import peak_rss_bytes
from sciml_bench.host.processes.parent import end_with_parent
from sciml_bench.host.processes.process import Clock
from sciml_bench.measure.exceptions import explain
from sciml_bench.measure.phases import Phases
from sciml_bench.measure.protocol import Channel, End, Event, Ready, TrainingDone, TrialDone
from sciml_bench.measure.turn_token import SharedTurnToken, TurnToken
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.process import WorkerInfo
from sciml_bench.record.task import Task

if TYPE_CHECKING:
    from sciml_bench.adapters.program import Program

# A loop ends itself a little before the engine's limit, so that its last call does not meet it.
_LOOP_SHARE = 0.9

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "XLA_FLAGS")


class _Ended(Exception):
    """A phase before the first point failed, and with it the cell."""

    def __init__(self, outcome: Outcome, phase: str | None, message: str):
        self.end = (outcome, phase, message)


def measure(
    task: Task, send: Callable[[Event], None], clock: Clock, limit_s: float, turn_token: TurnToken | None = None
) -> None:
    """Import, build and measure the task's program, reporting every event; its exceptions are reported too."""
    phases = Phases(clock, send)
    program: Program | None = None
    energy: dict[str, Any] | None = None
    displaced_per_s: float | None = None
    outcome, phase, message = Outcome.OK, None, ""
    before_training: WorkerInfo | None = None
    try:
        with _failing(phases, Outcome.IMPORT_ERROR), phases.phase("import"):
            build = _find(task.program)
        with _failing(phases, Outcome.BUILD_ERROR), phases.phase("build"):
            program = build(task)
        with _failing(phases, Outcome.CRASH):
            from sciml_bench.host.energy import EnergyMeter, energy_counters
            from sciml_bench.measure.perturbed_solve import try_draws
            from sciml_bench.measure.point_runner import CellMeasurer
            from sciml_bench.measure.training import train

            counters, reason = energy_counters(task.cell.device)
            meter = EnergyMeter(counters, clock, reason)
            measurer = CellMeasurer(task, program, phases, send, limit_s, meter, turn_token)
            measurer.run()
            if task.training is not None:
                # A gradient does not need the imports and compilations of training.
                before_training = _facts(program)
                size = len(task.numbers.theta)
                train(task.training, size, program, phases, lambda *told: send(TrainingDone(*told)), limit_s)
            limit_s = min(task.stability_s, limit_s)
            try_draws(task, program, phases, lambda trial: send(TrialDone(trial)), limit_s)
            energy, displaced_per_s = meter.report(), measurer.displacements.per_s
    except _Ended as ended:
        outcome, phase, message = ended.end
    facts = _facts(program)
    if before_training is not None:
        kept = ("peak_rss_bytes", "compile_cache_hits", "peak_array_bytes")
        facts = replace(facts, **{name: getattr(before_training, name) for name in kept})
    send(End(outcome, phase, message, facts, energy, displaced_per_s))


@contextmanager
def _failing(phases: Phases, otherwise: Outcome) -> Iterator[None]:
    # Whatever a framework raises is a result here, also if it does not derive from Exception (Rust panics, SystemExit).
    try:
        yield
    except BaseException as error:
        outcome, message = explain(error, otherwise)
        if not isinstance(error, SolverFailure):
            traceback.print_exception(error, file=sys.stderr)
        raise _Ended(outcome, phases.current, message) from error


def _find(program: str) -> Callable[[Task], Program]:
    """The class or function named ``module:name``, which builds the program of a task."""
    module, _, function = program.partition(":")
    found: Any = getattr(importlib.import_module(module), function, None)
    if found is None:
        raise ImportError(f"missing function {function!r} in {module}")
    return found


def _facts(program: Program | None) -> WorkerInfo:
    """Facts about this process; thread settings are read back."""
    threads = {name: os.environ[name] for name in _THREAD_VARIABLES if name in os.environ}
    if hasattr(os, "sched_getaffinity"):
        threads["affinity"] = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0)))
    tasks = Path("/proc/self/task")
    if tasks.is_dir():
        threads["process"] = str(len(list(tasks.iterdir())))
    versions = {"python": sys.version.split()[0]}
    if program is not None:
        try:
            told = program.versions()
        except BaseException as error:
            traceback.print_exception(error, file=sys.stderr)
            told = {"program": f"unknown ({type(error).__name__} in versions())"}
        for name, value in told.items():
            (threads if name.startswith("threads_") else versions)[name] = str(value)
    return WorkerInfo(
        peak_rss_bytes=peak_rss_bytes(),
        threads=threads,
        versions=versions,
        compile_cache_hits=_asked(program, lambda known: known.cache_hits()),
        peak_array_bytes=_asked(program, lambda known: known.peak_device_bytes()),
    )


def _asked(program: Program | None, question: Callable[[Program], int | None]) -> int | None:
    """Return the program's answer; ``None`` if the framework reports none, or fails to."""
    if program is None:
        return None
    try:
        return question(program)
    except BaseException as error:
        traceback.print_exception(error, file=sys.stderr)
        return None


def _settle() -> None:
    """Make this process a quiet child: the engine decides when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable()
    # Writing the core of a process that holds gigabytes takes longer than the measurement.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    end_with_parent()


def main(arguments: list[str], stdin: TextIO, channel: Any, clock: Clock) -> int:
    """Measure the task on ``stdin``; return 0 once the end event is sent, 2 if there is no task."""
    channel.send(Ready(clock.now_ns()))
    limit_s = float(arguments[0]) if arguments else float("inf")
    turn_token = SharedTurnToken(clock, channel.send, stdin.readline, float(arguments[1])) if arguments[1:] else None
    try:
        task = Task.from_json(stdin.readline())
    except (KeyError, TypeError, ValueError) as error:
        message = f"the task on standard input cannot be read: {type(error).__name__}: {error}"
        channel.send(End(Outcome.CRASH, "interpreter", message))
        return 2
    measure(task, channel.send, clock, share_of_limit(limit_s), turn_token)
    return 0


def share_of_limit(limit_s: float) -> float:
    """The time limit of a loop, as a share of a phase's: it ends before the engine ends the worker."""
    return _LOOP_SHARE * limit_s


def _claim_stdin() -> TextIO:
    """Take standard input for the engine's lines; others find it empty.

    Julia makes its standard input non-blocking, in which waiting for a line would end at once.
    """
    private = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return os.fdopen(private)


def serve(main: Callable[[list[str], TextIO, Any, Clock], int]) -> int:
    """Let a worker's main function have this process, and return its status."""
    channel, stdin = Channel.claim_stdout(), _claim_stdin()
    _settle()
    status = main(sys.argv[1:], stdin, channel, Clock())
    sys.stdout.flush()
    sys.stderr.flush()
    return status


if __name__ == "__main__":
    # Everything is reported; destructors and exit handlers of frameworks crash now and then and have nothing to add.
    os._exit(serve(main))
