"""Processes that share work; only commands start them, as the programs of others may not bear to be imported again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process

from sciml_bench.errors import SciMLBenchError

_MOST = 8


def available() -> int:
    """Return the number of processes that a command may use; 1 is only its own."""
    if parent_process() is not None:
        return 1
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors, _MOST)


@contextmanager
def process_pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of ``processes`` processes, which end with the block.

    Raises:
        SciMLBenchError: one of them ended before its work was done.
    """
    try:
        # Spawned, not forked: numerical libraries have started threads, which a forked process would not have.
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            yield pool
    except BrokenProcessPool as error:
        raise SciMLBenchError(
            "a process that was started to help has ended: memory is short, or a script called the command without "
            'standing under `if __name__ == "__main__":`. Put the call there, or type the command in a shell.'
        ) from error
