"""A worker that measures one cell of its framework after the other: ``python -m sciml_bench.measure.screen``.

It reads a time limit and a task from each line of its standard input and waits for the next one, until the input ends.
The framework is imported once, which is what makes it quick, and why its times only sort cells: what one cell leaves in
the process, the next one finds.
"""

from __future__ import annotations

import os
from typing import Any, TextIO

from sciml_bench.host.processes.process import Clock
from sciml_bench.measure.protocol import Ready, Waits
from sciml_bench.measure.worker import measure, serve, share_of_limit
from sciml_bench.record.task import Task


def main(_arguments: list[str], stdin: TextIO, channel: Any, clock: Clock) -> int:
    """Measure the task of every line of ``stdin``; returns 0 when there is none left."""
    channel.send(Ready(clock.now_ns()))
    for place, line in enumerate(iter(stdin.readline, "")):
        limit_s, _, task = line.partition(" ")
        measure(Task.from_json(task), channel.send, clock, share_of_limit(float(limit_s)))
        channel.send(Waits(place))
    return 0


if __name__ == "__main__":
    # As in other workers, destructors of frameworks are not waited for.
    os._exit(serve(main))
