"""One benchmark at a time on a host: two that run together measure each other."""

from __future__ import annotations

import datetime
import json
import os
import tempfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from filelock import FileLock, Timeout

from sciml_bench.errors import EngineError
from sciml_bench.record.jsonl import is_special
from sciml_bench.record.text import printable

_READABLE_BY_ALL = 0o666


def lock_path() -> Path:
    """Path of this host's lock: in a local folder that all its users share, never a network file system.

    ``TMPDIR`` is not asked, because batch systems give each job its own.
    """
    shared = Path("/tmp")
    return (shared if shared.is_dir() else Path(tempfile.gettempdir())) / "sciml-bench.lock"


def lock_path_of(processors: Collection[int]) -> Path:
    """Path of the lock of these processors of a host that others share: whoever has other ones does not wait."""
    name = zlib.crc32(",".join(map(str, sorted(processors))).encode())
    return lock_path().with_name(f"sciml-bench-{name:08x}.lock")


@contextmanager
def host_lock(
    *,
    label: str,
    wait_s: float | None = 0.0,
    path: Path | None = None,
    announce: Callable[[str], object] = lambda _text: None,
) -> Iterator[None]:
    """Hold this host's lock in the body. ``label`` tells others who holds it, for example the command line.

    ``wait_s`` is how long to wait for another run, ``None`` for ever; before a wait ``announce`` gets its holder.
    :class:`EngineError` if it is still held then. The kernel releases the lock when the process dies, however it
    dies.
    """
    path = path or lock_path()
    lock = FileLock(path, mode=_READABLE_BY_ALL)
    try:
        _acquire(lock, wait_s, lambda: announce(f"waiting for another benchmark on this host ({_holder(path)})"))
    except Timeout:
        hint = "Wait for it to end, or add --wait to this command." if wait_s == 0 else "It did not end in time."
        raise EngineError(
            f"another benchmark runs on this host ({_holder(path)}); two at a time would disturb each other. {hint}"
        ) from None
    except OSError as error:
        raise EngineError(f"cannot use the host lock {path}: {error.strerror or error}. Remove it.") from error
    try:
        _write(path, label)
        yield
    finally:
        _write(path, None)
        lock.release()


def holder(path: Path | None = None) -> str:
    """Return which benchmark holds this host's lock; empty if none does.

    The note of a process that was there when it was written is enough: a benchmark that starts meanwhile must not find
    the lock held. Any other file has to be tried.
    """
    path = path or lock_path()
    note = _note(path)
    if note is not None and _wrote(note):
        return _described(note)
    lock = FileLock(path, mode=_READABLE_BY_ALL)
    try:
        if not path.exists():
            return ""
        lock.acquire(timeout=0)
    except Timeout:
        return _holder(path)
    except OSError:
        return ""
    lock.release()
    return ""


def _wrote(note: Mapping[str, Any]) -> bool:
    """Return whether a process of this number ran when the note was written: numbers are used again."""
    try:
        since = datetime.datetime.fromisoformat(note["since"]).timestamp()
        return psutil.Process(note["pid"]).create_time() <= since + 1
    except (psutil.Error, ValueError, OverflowError):
        return False


def _acquire(lock: FileLock, wait_s: float | None, announce: Callable[[], object]) -> None:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        if wait_s == 0:
            raise
        announce()
        lock.acquire(timeout=-1 if wait_s is None else wait_s)


def _write(path: Path, label: str | None) -> None:
    """Leave a note about the holder in the lock file. Without it the lock works just as well."""
    note = ""
    if label is not None:
        since = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        note = json.dumps({"pid": os.getpid(), "since": since, "label": label})
    # Not created here: in a shared folder the kernel may refuse that for another user's file, and it exists.
    with suppress(OSError):
        # Another user may have put a link or a pipe there.
        descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            os.write(descriptor, note.encode())
        finally:
            os.close(descriptor)


def _holder(path: Path) -> str:
    note = _note(path)
    return f"see {path}" if note is None else _described(note)


def _note(path: Path) -> Mapping[str, Any] | None:
    try:
        # Any user of the host can write this file.
        if is_special(path):
            return None
        with path.open("rb") as file:
            note = json.loads(file.read(4096))
        return {"label": str(note["label"]), "pid": int(note["pid"]), "since": str(note["since"])}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _described(note: Mapping[str, Any]) -> str:
    return f"{note['label']!r}, process {note['pid']}, since {' '.join(printable(note['since']).split())}"
