"""Runs one worker: feeds it, reads its events, and ends it when it passes a limit.

One thread and non-blocking pipes: however much a worker prints, and in whatever order it reads, nothing can wait for
each other for ever.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Collection
from typing import IO

from sciml_bench.engine.event_log import Ending, EventLog
from sciml_bench.engine.limits import Limits, memory_limit_bytes
from sciml_bench.engine.process_tree import ProcessTree
from sciml_bench.host.device_watch import DeviceWatch
from sciml_bench.host.processes import strays
from sciml_bench.measure.deadline import Deadline, used_now
from sciml_bench.measure.protocol import Event, ProtocolError, Waits, decode
from sciml_bench.record.outcome import Outcome

_POLL_S = 0.25
_EXIT_GRACE_S = 10.0
_TERMINATE_GRACE_S = 1.0
_DRAIN_S = 2.0
_TAIL_BYTES = 4096
_MAX_LINE_BYTES = 64 * 2**20
_READ_BYTES = 2**16
_GO = b"go\n"

# The memory of a worker is looked at between polls, in which it can grow: a SIGKILL that was not ours is put down to
# memory when the last look was past this share of the limit.
_NEAR_LIMIT = 0.5


class WorkerProcess:
    """One worker process and its events so far.

    ``tag`` is on everything that the worker starts, see :mod:`sciml_bench.host.processes.strays`.
    ``position`` is the place at which it waits for its turn, -1 before the first time. The input of a worker that
    takes turns stays open for its next turn.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        task_json: str,
        log: EventLog,
        limits: Limits,
        on_event: Callable[[Event], None] | None,
        device: DeviceWatch | None = None,
        *,
        takes_turns: bool = False,
        cpus: Collection[int] = (),
        tag: str = "",
    ):
        self.position = -1
        self._takes_turns = takes_turns
        self._waits = False
        self._started = False
        self._ended = False
        self._poll_s = 0.0
        self._process = process
        self._tag = tag
        self._log = log
        self._limits = limits
        self._on_event = on_event
        self._device = device
        self._line_to_go = _GO
        self._tree = ProcessTree(process.pid)
        self._patience = Deadline(lambda: used_now(cpus, self._tree.pids), len(cpus))
        self._input = memoryview(task_json.encode() + b"\n")
        self._line = bytearray()
        self._tail = b""
        self._rss_bytes = 0
        self._peak_rss_bytes = 0
        self._failure: tuple[Outcome, str] | None = None
        self._selector = selectors.DefaultSelector()

    def resume(self) -> Ending | None:
        """Let the worker run until it waits for its next turn (``None``), or has ended or must be.

        After an ending no process of it is left. Raises what ``on_event`` raises, and ``KeyboardInterrupt``, after
        ending the worker.
        """
        try:
            if self._started:
                self._pass_turn_token()
            else:
                self._started = True
                self._tree.prefer_for_oom()
                self._register()
            self._loop()
            if self._waits:
                return None
            killed = not self._tree.ended()
        except BaseException:
            self.end()
            raise
        self.end()
        return self._ending(killed)

    def end(self) -> None:
        """End the worker, if it has not ended, and let go of its pipes."""
        self._selector.close()
        if not self._ended:
            # Once only: after the wait its number may belong to another process.
            self._tree.end(_TERMINATE_GRACE_S)
            self._process.wait()
            self._ended = True
        if self._tag:
            strays.end_tagged(self._tag)
        self._close()

    @property
    def pids(self) -> set[int]:
        """The worker and its descendants, as last seen."""
        return self._tree.pids

    def hand_over(self, task_json: str, log: EventLog, limits: Limits) -> None:
        """Give a waiting worker of several tasks its next task."""
        self._log, self._limits, self._line_to_go = log, limits, task_json.encode() + b"\n"
        self._tail, self._rss_bytes, self._peak_rss_bytes, self._poll_s = b"", 0, 0, 0.0

    def paused(self) -> Ending:
        """Return the ending of the last task of a worker that waits for its next one: its process is well."""
        return Ending(None, "", self._tail.decode(errors="replace").strip(), self._peak_rss_bytes)

    def _pass_turn_token(self) -> None:
        self._waits = False
        self._input = memoryview(self._line_to_go)
        if self._process.stdin is not None:
            self._selector.register(self._process.stdin, selectors.EVENT_WRITE)

    def _register(self) -> None:
        for pipe, event in (
            (self._process.stdin, selectors.EVENT_WRITE),
            (self._process.stdout, selectors.EVENT_READ),
            (self._process.stderr, selectors.EVENT_READ),
        ):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                self._selector.register(pipe, event)

    def _loop(self) -> None:
        self._patience.restart(self._limits.of_phase(self._log.phase))
        exit_s: float | None = None
        while self._failure is None and not self._waits:
            now_s = time.monotonic()
            if now_s >= self._poll_s:
                self._poll_s = now_s + _POLL_S
                self._check_memory()
                self._patience.look(self._tree.stopped())
            if exit_s is not None and self._tree.ended():
                self._drain()
                return
            deadline_s = self._patience.deadline_s if exit_s is None else exit_s
            overdue = now_s >= deadline_s
            if overdue and exit_s is not None:
                # A worker that reported its end and then cannot exit has measured everything.
                return
            # This process may have been stopped while the worker ran: its reports are read before it is ended.
            wait_s = 0.0 if overdue else min(self._poll_s, deadline_s) - now_s
            told = self._serve(wait_s if exit_s is None else min(wait_s, 0.01))
            if exit_s is None and (self._log.end is not None or self._told_all() or self._tree.ended()):
                exit_s = time.monotonic() + _EXIT_GRACE_S
            elif told and exit_s is None:
                self._patience.restart(self._limits.of_phase(self._log.phase))
            elif overdue and self._pass_deadline():
                return

    def _serve(self, wait_s: float) -> bool:
        """Serve the pipes that are ready; returns whether the worker reported something."""
        told = False
        for key, _ in self._selector.select(max(wait_s, 0.0)):
            pipe = key.fileobj
            if pipe is self._process.stdin:
                self._feed(self._process.stdin)
            elif pipe is self._process.stdout:
                told |= self._read_events(self._process.stdout)
            elif pipe is self._process.stderr:
                self._read_stderr(self._process.stderr)
        return told

    def _told_all(self) -> bool:
        """Return whether the worker has closed its side of the protocol."""
        return self._process.stdout not in {key.fileobj for key in self._selector.get_map().values()}

    def _drain(self) -> None:
        """Take what an ended worker left in its pipes, but not for ever: a helper of it may still write."""
        until_s = time.monotonic() + _DRAIN_S
        while self._failure is None and time.monotonic() < until_s:
            if not any(key.fileobj is not self._process.stdin for key, _ in self._selector.select(0)):
                return
            self._serve(0)

    def _feed(self, pipe: IO[bytes] | None) -> None:
        if pipe is None:
            return
        try:
            written = os.write(pipe.fileno(), self._input[:_READ_BYTES])
        except BlockingIOError:
            return
        except BrokenPipeError:
            # It ended, or does not read: its events and its exit status show which.
            written = len(self._input)
        self._input = self._input[written:]
        if not self._input:
            self._selector.unregister(pipe)
            if not self._takes_turns:
                pipe.close()

    def _read(self, pipe: IO[bytes]) -> bytes:
        try:
            data = os.read(pipe.fileno(), _READ_BYTES)
        except BlockingIOError:
            return b""
        if not data:
            self._selector.unregister(pipe)
        return data

    def _read_stderr(self, pipe: IO[bytes] | None) -> None:
        if pipe is not None:
            self._tail = (self._tail + self._read(pipe))[-_TAIL_BYTES:]

    def _read_events(self, pipe: IO[bytes] | None) -> bool:
        if pipe is None:
            return False
        self._line += self._read(pipe)
        *lines, rest = self._line.split(b"\n")
        self._line = bytearray(rest)
        for line in lines:
            self._receive(bytes(line))
        if len(rest) > _MAX_LINE_BYTES:
            self._failure = Outcome.CRASH, f"the worker wrote a line of more than {_MAX_LINE_BYTES} bytes"
        return bool(lines)

    def _receive(self, line: bytes) -> None:
        if self._failure is not None:
            return
        try:
            event = decode(line.decode(errors="replace"))
            self._log.receive(event)
        except ProtocolError as error:
            self._failure = Outcome.CRASH, f"{error}; written in {self._log.where()}"
            return
        if isinstance(event, Waits):
            self._wait_at(event.position)
        elif self._on_event is not None:
            self._on_event(event)

    def _wait_at(self, position: int) -> None:
        if not self._takes_turns or position < self.position:
            self._failure = Outcome.CRASH, f"the worker is waiting out of turn, in {self._log.where()}"
            return
        self._waits, self.position = True, position

    def _check_memory(self) -> None:
        # Polled, and not left to setrlimit: RLIMIT_AS and RLIMIT_DATA count the address space that JAX, CUDA and
        # Julia reserve and never touch, and RLIMIT_RSS does nothing on Linux.
        held = self._tree.rss_bytes()
        if self._device is not None:
            self._device.look(self._tree.pids)
        # A worker that has just ended holds nothing; its earlier memory shows why.
        self._rss_bytes = held or self._rss_bytes
        self._peak_rss_bytes = max(self._peak_rss_bytes, self._rss_bytes)
        limit = self._limits.memory_bytes
        if limit is not None and self._rss_bytes > limit:
            self._failure = (
                Outcome.OUT_OF_MEMORY,
                f"the worker held {_mib(self._rss_bytes)} in {self._log.where()}, its limit is {_mib(limit)}",
            )

    def _pass_deadline(self) -> bool:
        """Return whether the worker has had its time."""
        ended = self._patience.ended()
        if ended is not None:
            outcome, how = ended
            self._failure = outcome, f"{self._log.where()} {how}"
        return ended is not None

    def _ending(self, killed: bool) -> Ending:
        outcome, message = self._failure or self._from_status(killed)
        tail = self._tail.decode(errors="replace").strip()
        return Ending(outcome, message, tail, self._peak_rss_bytes)

    def _from_status(self, killed: bool) -> tuple[Outcome | None, str]:
        """The meaning of the exit status of a worker that passed no limit."""
        status = self._process.returncode
        if killed:
            how = f"did not exit within {_EXIT_GRACE_S:g} s"
        elif status < 0:
            how = f"died with {_signal_name(-status)}"
        else:
            how = f"exited with status {status}"
        if self._log.end is not None:
            return None, "" if status == 0 and not killed else f"the worker {how} after its end"
        where = self._log.where()
        if self._line:
            return Outcome.CRASH, f"the worker {how} in {where}, in the middle of a line"
        limit = self._limits.memory_bytes or memory_limit_bytes()
        if status == -signal.SIGKILL and not killed and self._rss_bytes > _NEAR_LIMIT * limit:
            return Outcome.OUT_OF_MEMORY, f"the kernel ended the worker in {where}, which held {_mib(self._rss_bytes)}"
        return Outcome.CRASH, f"the worker {how} in {where}, before its end"

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _mib(size: int) -> str:
    return f"{size / 2**20:.0f} MiB"
