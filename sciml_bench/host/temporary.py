"""Temporary folders with the number of their process in the name, so that folders of dead processes can be removed."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

import psutil

# The processes that can see each other: a container with another table of processes may share the folder.
_NAMESPACE = Path("/proc/self/ns/pid")
_NAME = re.compile(r"sciml_bench_[a-z]+_(?P<namespace>\d+)_(?P<pid>\d+)_(?P<started>\d+)_.+")


def temporary_folder(kind: str) -> tempfile.TemporaryDirectory[str]:
    """A folder of this process that is removed with its object; ``kind`` is one word."""
    prefix = f"sciml_bench_{kind}_{_namespace()}_{os.getpid()}_{_started(os.getpid())}_"
    return tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)


def sweep() -> int:
    """Remove this user's folders whose process ended without doing so, as when it was killed; return how many."""
    swept = 0
    try:
        found = list(os.scandir(tempfile.gettempdir()))
    except OSError:
        return 0
    for entry in found:
        match = _NAME.fullmatch(entry.name)
        if match is None or match["namespace"] != _namespace() or not _is_own(entry):
            continue
        if _started(int(match["pid"])) != match["started"]:
            shutil.rmtree(entry.path, ignore_errors=True)
            swept += 1
    return swept


def _is_own(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.getuid()
    except OSError:
        return False


def _namespace() -> str:
    try:
        return re.sub(r"\D", "", str(_NAMESPACE.readlink())) or "0"
    except OSError:
        return "0"


def _started(pid: int) -> str:
    """The start of a process, by which it differs from all others of its number; empty if no process has the number.

    In ticks since the machine started, which the clock of the day does not move; elsewhere than on Linux in seconds.
    """
    try:
        # After the name, which may contain anything.
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        pass
    try:
        return f"{psutil.Process(pid).create_time():.0f}"
    except psutil.Error:
        return ""
