"""Commands for many models, carried out by the workers of Dask at once."""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sciml_bench.errors import EngineError
from sciml_bench.execution.cluster.dask import RESOURCE, START, connected, workers_of
from sciml_bench.record.text import printable

_MOST_CHARACTERS = 65_536
_POLL_S, _ALONE_S = 2.0, 600.0
_COMMAND = """import sys
from sciml_bench.__main__ import main
from sciml_bench.host.processes.parent import end_with_parent

end_with_parent()
sys.exit(main())
"""


@dataclass(frozen=True)
class Done:
    """A command that has ended: its name, its exit code, and the end of its output, to print."""

    name: str
    code: int
    output: str


def fan_out(
    address: str, commands: Mapping[str, Sequence[str]], folder: Path, *, measures: bool = False
) -> Iterator[Done]:
    """Carry out commands of ``sciml-bench`` in a folder that all workers see, in any order; each as it ends.

    Commands that measure need workers with the resource ``bench``. A worker that dies gives its command to another one.

    Raises:
        EngineError: the scheduler does not answer, or there are no workers.
    """
    client = connected(address)
    try:
        if not workers_of(client, RESOURCE if measures else None):
            which = f" with the resource {RESOURCE}" if measures else ""
            raise EngineError(
                f"Dask's scheduler at {address} has no workers{which}. Start one on each machine: {START}"
            )
        options: dict[str, Any] = {"pure": False, "retries": 1, "resources": {RESOURCE: 1} if measures else None}
        names = {
            client.submit(_carried_out, list(words), str(folder), **options): name for name, words in commands.items()
        }
        for future in _as_they_end(client, list(names), address, RESOURCE if measures else None):
            name = names[future]
            if future.status == "finished":
                code, output = future.result()
                yield Done(name, code, "\n".join(map(printable, output.splitlines())))
            else:
                yield Done(name, 1, f"the worker that had it was lost ({future.status})")
    finally:
        client.close()


def _as_they_end(client: Any, futures: list[Any], address: str, resource: str | None) -> Iterator[Any]:
    """Futures as they end. :class:`EngineError` if there has been no worker for them for ten minutes."""
    alone_s = 0.0
    while futures:
        ended = [future for future in futures if future.done()]
        yield from ended
        futures = [future for future in futures if future not in ended]
        if ended or workers_of(client, resource):
            alone_s = 0.0
        elif alone_s > _ALONE_S:
            raise EngineError(
                f"all workers have left Dask's scheduler at {address}. Start one on each machine: {START}"
            )
        if futures and not ended:
            time.sleep(_POLL_S)
            alone_s += _POLL_S


def _carried_out(words: Sequence[str], folder: str) -> tuple[int, str]:
    """The exit code and the output of a command, which ends with the process of this worker."""
    if not Path(folder).is_dir():
        return 2, f"{platform.node()} does not see {folder}: give a folder that all workers see."
    done = subprocess.run(
        [sys.executable, "-c", _COMMAND, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
        cwd=folder,
    )
    output = done.stdout[-_MOST_CHARACTERS:]
    if done.returncode < 0:
        return 1, f"{output.rstrip()}\nit was ended by signal {-done.returncode}\n".lstrip()
    return done.returncode, output
