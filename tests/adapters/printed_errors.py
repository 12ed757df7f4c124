"""Scripts that run without this package, and the error that they print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

TOGETHER = Path(__file__).with_name("in_scripts.py")
"""Runs scripts of one framework in one process."""


TIMED = "while len(times) < 20 or (sum(times) < 1 and len(times) < 1000):"
"""How long a script times its calls, for somebody who waits for it."""


def hasty(text: str) -> str:
    """A script that times one call."""
    assert TIMED in text
    return text.replace(TIMED, "while not times:")


def error_of(text: str, folder: Path) -> float:
    """Run a script where this package cannot be imported, and return the error that it prints."""
    path = folder / "script.py"
    path.write_text(hasty(text), encoding="utf-8")
    return error_in(run([path], folder))


def run(command: Sequence[Path], folder: Path) -> str:
    """What Python prints for a file and its arguments."""
    for path in command:
        assert path == TOGETHER or "sciml_bench" not in path.read_text(encoding="utf-8")
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    environment.pop("PYTHONPATH", None)
    words = [sys.executable, *map(str, command)]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=folder, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def error_in(printed: str) -> float:
    """The error that a script prints."""
    found = re.search(r"relative error of the gradient (\S+)", printed)
    assert found is not None, printed[-3000:]
    return float(found[1])
