"""The emitted source of a task as an imported module."""

from __future__ import annotations

import atexit
import importlib.util
import shutil
import tempfile
from pathlib import Path
from types import ModuleType

from sciml_bench.record.task import Task


def load_source(task: Task) -> ModuleType:
    """Import the task's emitted source from a real file, so that tracebacks and source-reading compilers find it.

    The source comes from our own emitters, never from a problem file: its text is printed from a checked expression
    tree, and no string of a file reaches it.
    """
    folder = Path(tempfile.mkdtemp(prefix="sciml_bench_source_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = folder / "problem_source.py"
    path.write_text(task.source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("problem_source", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot import {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
