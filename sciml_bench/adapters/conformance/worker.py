"""Runs the conformance checks of one cell: tasks as JSON on standard input, one JSON result a line on standard output.

Like every worker it imports the standard library, NumPy and one adapter's program.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable

from sciml_bench.adapters.conformance import checks
from sciml_bench.adapters.program import Program
from sciml_bench.host.processes.parent import end_with_parent
from sciml_bench.record.task import Task


def main() -> None:
    """Read the tasks, run every check, write every result."""
    # Results go to a private copy of standard output: what a framework prints must not mix with them.
    results = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    tasks = {name: Task.from_json(text) for name, text in json.loads(sys.stdin.read()).items()}
    for name, status, message in checks.perform(tasks, program_builder(next(iter(tasks.values())))):
        results.write(json.dumps({"name": name, "status": status, "message": message}) + "\n")


def program_builder(task: Task) -> Callable[[Task], Program]:
    """The program of the adapter, imported."""
    module, _, function = task.program.partition(":")
    return getattr(importlib.import_module(module), function)


if __name__ == "__main__":
    end_with_parent()
    main()
