"""Commands that need no quiet machine, carried out by the workers of Dask at once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sciml_bench.errors import EngineError
from sciml_bench.record.text import printable
from sciml_bench.run.cluster.dask import connected

_MOST_CHARACTERS = 65_536


@dataclass(frozen=True)
class Done:
    """A command that has ended: its name, its exit code, and the end of its output, to print."""

    name: str
    code: int
    output: str


def fan_out(address: str, commands: Mapping[str, Sequence[str]]) -> Iterator[Done]:
    """Carry out commands of ``sciml-bench``, in any order; each as it ends.

    All workers must see the files that the commands name. A worker that dies gives its command to another one.

    Raises:
        EngineError: the scheduler does not answer, or there are no workers.
    """
    from distributed import as_completed

    client = connected(address)
    try:
        if not client.scheduler_info(n_workers=-1).get("workers"):
            raise EngineError(f"Dask's scheduler at {address} has no workers. Start one: dask worker {address}")
        names = {
            client.submit(_carried_out, list(words), pure=False, retries=1): name for name, words in commands.items()
        }
        for future in as_completed(names):
            name = names[future]
            if future.status == "finished":
                code, output = future.result()
                yield Done(name, code, "\n".join(map(printable, output.splitlines())))
            else:
                yield Done(name, 1, f"the worker that had it was lost ({future.status})")
    finally:
        client.close()


def _carried_out(words: Sequence[str]) -> tuple[int, str]:
    """The exit code and the output of a command."""
    done = subprocess.run(
        [sys.executable, "-m", "sciml_bench", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout[-_MOST_CHARACTERS:]
