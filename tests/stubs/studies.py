"""Small studies by the command line, as a user runs them: two problems in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

WAIT_S = 120.0

_DECAY = """
spec = 1
name = "{name}"
title = "A decay"

[time]
t1 = 1

[parameters]
k = {rate}

[states]
y = 1

[equations]
y = "-k*y"
"""


def study(folder: Path) -> Path:
    """A new folder with two problems."""
    folder.mkdir(exist_ok=True)
    for name, rate in (("slow", "0.5"), ("fast", "2")):
        (folder / f"{name}.toml").write_text(_DECAY.format(name=name, rate=rate))
    return folder


def command(*options: str, profile: str = "smoke") -> list[str]:
    """The command that measures them."""
    words = ["run", "slow.toml", "fast.toml", "--adapter", "scipy", "--method", "rk45", "--profile", profile]
    return [sys.executable, "-m", "sciml_bench", *words, "--out", "runs", *options]


def done(words: list[str], folder: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """A command that has ended."""
    return subprocess.run(
        words, cwd=folder, env=dict(variables), capture_output=True, text=True, timeout=300, check=False
    )


def the_run(folder: Path) -> Path:
    """The one run of a study."""
    (run,) = (folder / "runs").iterdir()
    return run


def records(run: Path) -> list[dict[str, Any]]:
    """All records of a run."""
    path = run / "records.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def facts(run: Path) -> list[Any]:
    """All of a run that does not depend on the machine: cells, blocks, outcomes and digits."""
    found = [
        (record["cell_id"], record["block"], record["outcome"], [_digits(point) for point in record["points"]])
        for record in records(run)
    ]
    return sorted(found)


def verified(run: Path, variables: Mapping[str, str]) -> str:
    """The words of ``verify`` about a valid run."""
    found = done([sys.executable, "-m", "sciml_bench", "verify", str(run)], run.parents[1], variables)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def until(true: Callable[[], object], otherwise: str) -> None:
    """Wait until something is true."""
    deadline_s = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < deadline_s, otherwise
        time.sleep(0.2)


def _digits(point: dict[str, Any]) -> float:
    return point["solve"]["scores"]["scd"]
