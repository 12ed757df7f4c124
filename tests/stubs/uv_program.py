"""A program that stands in for uv."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from sciml_bench.host import environments

# "Installs" by writing what it was asked for into the lock, and an interpreter that says that it was used.
UV = f"""#!{sys.executable}
import pathlib, sys
words = sys.argv[1:]

def after(word):
    return pathlib.Path(words[words.index(word) + 1])

if words[:2] == ["pip", "compile"]:
    (file,) = [word for word in words if word.endswith("requirements.in")]
    asked = "".join(line + "\\n" for line in pathlib.Path(file).read_text().splitlines() if "==" in line)
    if "9.9.9" in asked:
        sys.exit("  × No solution found when resolving dependencies:\\n  ╰─▶ there is no version 9.9.9")
    if "0.0.1" in asked and "--constraint" in words:
        sys.exit("no solution with what is installed")
    if "--offline" in words:
        sys.exit("packages were unavailable because the network was disabled")
    after("--output-file").write_text(asked + "numpy==2.0.0\\n")
elif words[0] == "venv":
    python = pathlib.Path(words[-1]) / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\\necho used >> "$(dirname "$0")/used"\\nexec {sys.executable} "$@"\\n')
    python.chmod(0o755)
"""


def use_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the program for uv, and a folder of its own for environments, until the patches are undone."""
    program = tmp_path / "uv"
    program.write_text(UV, encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(environments, "_uv", lambda: [str(program)])
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
