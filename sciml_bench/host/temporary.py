"""Temporary folders with the number of their process in the name, so that folders of dead processes can be removed."""

from __future__ import annotations

import os
import re
import shutil
import tempfile

from sciml_bench.host.processes.identity import namespace, started

_NAME = re.compile(r"sciml_bench_[a-z]+_(?P<namespace>\d+)_(?P<pid>\d+)_(?P<started>\d+)_.+")


def temporary_folder(kind: str) -> tempfile.TemporaryDirectory[str]:
    """A folder of this process that is removed with its object; ``kind`` is one word."""
    prefix = f"sciml_bench_{kind}_{namespace()}_{os.getpid()}_{started(os.getpid())}_"
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
        if match is None or match["namespace"] != namespace() or not _is_own(entry):
            continue
        if started(int(match["pid"])) != match["started"]:
            shutil.rmtree(entry.path, ignore_errors=True)
            swept += 1
    return swept


def _is_own(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.getuid()
    except OSError:
        return False
