"""Processes that a worker started and left behind, found by a variable that they inherit; on Linux.

A process that forks twice, or leads a session, is neither in its worker's group nor among its descendants once its
parent has ended, and the children of a worker that is killed run on.
"""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from sciml_bench.host.processes.identity import namespace, started

VARIABLE = "SCIML_BENCH_WORKER"
"""The variable with a worker's tag: the process that started it, and a number."""

_PROCESSES = Path("/proc")
_PREFIX = f"{VARIABLE}=".encode()
# An ended process may just have started another one.
_ROUNDS = 5
_numbers = itertools.count(1)


def new_tag() -> str:
    """A tag for a worker of this process."""
    return f"{namespace()}_{os.getpid()}_{started(os.getpid())}_{next(_numbers)}"


def end_tagged(tag: str) -> int:
    """End every process with this tag; return how many there were."""
    return _end(lambda found: found == tag)


def sweep() -> int:
    """End the processes of workers whose own starter has ended, as after a kill; return how many there were."""

    def is_left(tag: str) -> bool:
        place, pid, start, number = (tag.split("_") + [""] * 4)[:4]
        return place == namespace() and pid.isdecimal() and number != "" and started(int(pid)) != start

    return _end(is_left)


def _end(is_wanted: Callable[[str], bool]) -> int:
    ended: set[int] = set()
    for _ in range(_ROUNDS):
        found = [pid for pid, tag in _tagged() if is_wanted(tag)]
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not set(found) - ended:
            break
        ended.update(found)
    return len(ended)


def _tagged() -> Iterator[tuple[int, str]]:
    """This user's other processes that have a tag."""
    try:
        folders = [path for path in _PROCESSES.iterdir() if path.name.isdecimal()]
    except OSError:
        return
    for folder in folders:
        if int(folder.name) == os.getpid():
            continue
        try:
            # Other users' processes may show theirs to root, who must not end them.
            if folder.stat().st_uid != os.getuid():
                continue
            variables = (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        for variable in variables:
            if variable.startswith(_PREFIX):
                yield int(folder.name), variable[len(_PREFIX) :].decode(errors="replace")
                break
