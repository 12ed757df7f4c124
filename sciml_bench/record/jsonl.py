"""A file of lines that only grows: each is on the disk before the next is measured, and damage stays in its line."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from sciml_bench.errors import StoreError

_CURES = {
    errno.ENOSPC: "Free some space and run the same command again; all measurements are kept.",
    errno.EDQUOT: "Your quota is used up: free some space and run again; all measurements are kept.",
    errno.EFBIG: "The file reached the size limit (ulimit -f): raise it and run again; all measurements are kept.",
    errno.EROFS: "The file system is read-only: choose another folder.",
    errno.EACCES: "You may not write there: choose another folder, or change its permissions.",
    errno.EPERM: "You may not write there: choose another folder, or change its permissions.",
}


@dataclass(frozen=True)
class DamagedLine:
    """A line that holds no record. ``number`` counts from 1."""

    path: Path
    number: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.number}: {self.reason}"


def store_error(action: str, path: Path, error: OSError) -> StoreError:
    """The error for the user: what could not be done, why, and the fix."""
    cure = _CURES.get(error.errno or 0, "")
    return StoreError(f"cannot {action} {path}: {error.strerror or error}.{' ' if cure else ''}{cure}")


_SEAL = "sha256"


def sealed(line: str) -> str:
    """A JSON object in one line with its checksum as the last member."""
    return f'{line[:-1]},"{_SEAL}":"{hashlib.sha256(line.encode()).hexdigest()}"}}'


def unsealed(data: dict[str, Any], line: bytes) -> bool | None:
    """Take the checksum out of the values of a line; whether the line is as it was written, ``None`` without one."""
    if _SEAL not in data:
        return None
    del data[_SEAL]
    body, _, checksum = line.rstrip(b"\n").rpartition(f',"{_SEAL}":"'.encode())
    return hashlib.sha256(body + b"}").hexdigest().encode() + b'"}' == checksum


def is_changed(line: bytes) -> bool:
    """Return whether a line with a checksum is not as it was written."""
    start = f',"{_SEAL}":"'.encode()
    return start in line and unsealed({_SEAL: ""}, line) is False


def append_line(path: Path, line: str) -> None:
    """Append one line and wait until it is on the disk.

    When that fails, the file is cut back to what it was, so that the lines before stay valid, and
    :class:`StoreError` is raised.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError as error:
        raise store_error("open", path, error) from error
    try:
        size = os.fstat(descriptor).st_size
        if size == 0:
            sync_folder(path.parent)
        try:
            data = memoryview(line.encode() + b"\n")
            while data:
                data = data[os.write(descriptor, data) :]
            os.fsync(descriptor)
        except OSError as error:
            # If even this fails, the half line stays, and the next resume cuts it off.
            with suppress(OSError):
                os.ftruncate(descriptor, size)
            raise store_error("append to", path, error) from error
    finally:
        os.close(descriptor)


def is_special(path: Path) -> bool:
    """Return whether a path is a pipe or a device, which need not end and have no size, or a folder."""
    return path.exists() and not path.is_file()


def leads_outside(path: Path, named_by: Path) -> bool:
    """Return whether a path is a link out of its folder, by which a stranger's file would show another one.

    It may be a link to where the file that names it is: some installers link every file.
    """
    # A path's own ``resolve`` raises for a link to itself.
    target, folder, named = (Path(os.path.realpath(item)) for item in (path, path.parent, named_by))
    return not (target.is_relative_to(folder) or target.parent == named.parent)


LONGEST_LINE_BYTES = 2**26
"""A line of more is damage: the longest records, of thousands of samples at each tolerance, have a tenth of it."""

_SHOWN_BYTES = 1000


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers from 1, one at a time; none if the file does not exist.

    Of a line that is too long to be a record, the start alone, without an end.
    """
    if is_special(path):
        raise StoreError(f"{path} is not a regular file: it cannot hold records.")
    try:
        with path.open("rb") as file:
            yield from enumerate(bounded_lines(file), start=1)
    except FileNotFoundError:
        return
    except OSError as error:
        raise store_error("read", path, error) from error


def bounded_lines(file: BinaryIO, end: int | None = None) -> Iterator[bytes]:
    """The lines of an open file, as :func:`numbered_lines` gives them, up to a place in it."""
    while (end is None or file.tell() < end) and (line := file.readline(LONGEST_LINE_BYTES)):
        if not line.endswith(b"\n") and len(line) == LONGEST_LINE_BYTES:
            line = line[:_SHOWN_BYTES]
            while (rest := file.readline(LONGEST_LINE_BYTES)) and not rest.endswith(b"\n"):
                pass
        yield line


def mend_end(path: Path, is_whole: Callable[[bytes], bool]) -> bytes:
    """Make the file end with a newline after a crash in the middle of a last line.

    The last line gets its newline if it ``is_whole`` without it; otherwise it is cut off and returned.
    """
    try:
        with path.open("r+b") as file:
            keep = _end_of_last_line(file)
            file.seek(keep)
            rest = file.read()
            if not rest:
                return b""
            whole = is_whole(rest)
            if whole:
                file.write(b"\n")
            else:
                file.truncate(keep)
            file.flush()
            os.fsync(file.fileno())
            return b"" if whole else rest
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise store_error("repair", path, error) from error


def _end_of_last_line(file: BinaryIO) -> int:
    """Offset just past the last newline, found from the end so that a long file is not read."""
    block = 2**16
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - block)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def write_whole(path: Path, text: str) -> None:
    """Write a file at once: readers see the old text or the new one, never a part."""
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise StoreError(f"cannot write {path!s:.200}: {error.reason}. Names and texts must be UTF-8.") from error
    try:
        with whole(path) as temporary, temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise store_error("write", path, error) from error


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary name, whose file takes the place of another in the end; nothing is left after an error.

    A link stays and its target is replaced. Devices and pipes are written into.
    """
    # A path's own ``resolve`` raises for a link to itself without an error number.
    path = Path(os.path.realpath(path))
    if path.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    special = is_special(path)
    folder = Path(tempfile.mkdtemp()) if special else path.parent
    temporary = folder / f".{path.name}.{os.getpid()}"
    try:
        yield temporary
        if special:
            with temporary.open("rb") as source, path.open("wb") as target:
                shutil.copyfileobj(source, target)
        else:
            temporary.replace(path)
            sync_folder(folder)
    finally:
        temporary.unlink(missing_ok=True)
        if special:
            folder.rmdir()


def sync_folder(folder: Path) -> None:
    """Put the names of a folder on the disk, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
