"""Processes that share work; only commands start them, as the programs of others may not bear to be imported again.

A process that is started imports the main module of its parent. That of ``sciml-bench`` is made for it; a script that
asks for a report, and has no ``if __name__ == "__main__"``, would be run once more in each process and wait for itself.
So functions work in their own process unless they are told how many to start, and a process that was itself started
starts none.
"""

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
    """How many processes a command may share its work out to; 1 is none but its own."""
    if parent_process() is not None:
        return 1
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors, _MOST)


@contextmanager
def crew(processes: int) -> Iterator[ProcessPoolExecutor]:
    """So many processes, which end with the block.

    Raises:
        SciMLBenchError: one of them ended before its work was done.
    """
    try:
        # Spawned, not forked: numerical libraries have started threads, which a forked process would lack.
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            yield pool
    except BrokenProcessPool as error:
        raise SciMLBenchError(
            "a process that was started to help has ended: memory is short, or a script called the command without "
            'standing under `if __name__ == "__main__":`. Put the call there, or type the command in a shell.'
        ) from error
