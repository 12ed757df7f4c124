"""Runs a script of findings in a process of its own, as frameworks must not share one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def findings(script: str, *, timeout_s: float = 600.0, **variables: str) -> dict[str, Any]:
    """What the script of this name beside this file prints: one JSON object in its last line."""
    here = Path(__file__).resolve().parent
    path = os.pathsep.join(filter(None, (str(here.parents[1]), os.environ.get("PYTHONPATH", ""))))
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    command = [sys.executable, str(here / script)]
    # Julia sets a pipe to non-blocking, and what no longer fits it is lost.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        done = subprocess.run(
            command, stdout=printed, stderr=subprocess.PIPE, text=True, env=environment, timeout=timeout_s, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        printed.seek(0)
        return json.loads(printed.read().splitlines()[-1])
