"""Runs a script beside this file in a process of its own, as frameworks must not share one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def lines(script: str, *arguments: str) -> list[list[str]]:
    """The words of each line that the script prints."""
    command = [sys.executable, str(Path(__file__).with_name(script)), *arguments]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [line.split() for line in done.stdout.splitlines()]
