"""The owner of a run: the one process that appends to it, also where several machines share the folder."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from sciml_bench.errors import StoreError
from sciml_bench.host.processes import identity
from sciml_bench.record.codec import decode, parse
from sciml_bench.record.jsonl import is_special, store_error
from sciml_bench.record.text import printable

OWNER = "owner.json"
"""The file in a run's folder; it is there while a process appends to the run, and after one that was killed."""

SIGN_EVERY_S = 20.0
SILENT_S = 600.0
"""An owner that this process cannot see counts as ended after this time without a sign."""


@dataclass(frozen=True)
class Owner:
    """A process among all that may share a folder."""

    host: str
    boot: str
    namespace: str
    pid: int
    started: str

    @classmethod
    def this_process(cls) -> Owner:
        """The identity of this process."""
        pid = os.getpid()
        return cls(socket.gethostname(), identity.boot(), identity.namespace(), pid, identity.started(pid))

    def is_visible(self) -> bool:
        """Return whether its number means the same process here."""
        here = (identity.boot(), identity.namespace())
        return (self.boot, self.namespace) == here and (bool(self.boot) or self.host == socket.gethostname())

    def has_ended(self, silent_s: float) -> bool:
        """Return whether it has ended, judged by its process or by the seconds since its last sign."""
        return identity.started(self.pid) != self.started if self.is_visible() else silent_s > SILENT_S


class Ownership:
    """A run that this process owns. A thread shows others that it still does."""

    def __init__(self, path: Path, owner: Owner):
        self._path, self._owner = path, owner
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sign, name="owner", daemon=True)
        self._thread.start()

    def _sign(self) -> None:
        while not self._ended.wait(SIGN_EVERY_S):
            with suppress(OSError):
                os.utime(self._path)

    def check(self) -> None:
        """Check that no other process took the run over.

        Raises:
            StoreError: one did.
        """
        try:
            found = _decoded(self._path.read_bytes())
        except FileNotFoundError:
            found = None
        except OSError:
            # A file system that fails for a moment: the next check sees.
            return
        if found != self._owner:
            by = "its owner's file was removed" if found is None else _described(found)
            raise StoreError(f"{self._path.parent} was taken over ({by}): nothing more is written to it from here.")

    def give_up(self) -> None:
        """Remove the file, if it is still this process's."""
        self._ended.set()
        self._thread.join()
        if _read(self._path) == self._owner:
            with suppress(OSError):
                self._path.unlink()


@contextmanager
def owned(folder: Path) -> Iterator[Ownership]:
    """Own a run in the body.

    Raises:
        StoreError: another process owns it, or the folder cannot be written.
    """
    owner, path = Owner.this_process(), folder / OWNER
    refuse_owned(folder)
    private = folder / f".{OWNER}.{owner.pid}.{threading.get_ident()}"
    try:
        _remove_ended(path, private)
        private.write_text(json.dumps(asdict(owner)), encoding="utf-8")
        _publish(private, path)
    except FileExistsError:
        # Two began at once, and the other one was first.
        refuse_owned(folder)
        raise StoreError(f"another process has just begun to measure {folder}: wait for it to end.") from None
    except OSError as error:
        raise store_error("write", path, error) from error
    finally:
        with suppress(OSError):
            private.unlink(missing_ok=True)
    ownership = Ownership(path, owner)
    try:
        yield ownership
    finally:
        ownership.give_up()


def refuse_owned(folder: Path) -> None:
    """Refuse a run that another process appends to.

    Raises:
        StoreError: it does, or it may: its machine cannot be seen from here, and it left a sign not long ago.
    """
    path = folder / OWNER
    owner = _read(path)
    if owner is None or owner.has_ended(silence_s := silent_s(path)):
        return
    seen = "" if owner.is_visible() else f", which left a sign {silence_s:.0f} s ago"
    raise StoreError(
        f"{folder} is being measured by {_described(owner)}{seen}. Wait for it to end, or start another run with "
        f"--new; if it has ended, remove {path}."
    )


def has_owner(folder: Path) -> bool:
    """Return whether a process owns it, or may: one that cannot be seen from here left a sign not long ago."""
    path = folder / OWNER
    owner = _read(path)
    return owner is not None and not owner.has_ended(silent_s(path))


def _remove_ended(path: Path, private: Path) -> None:
    """Remove the file of an owner that has ended; one that was published meanwhile is put back."""
    try:
        path.rename(private)
    except FileNotFoundError:
        return
    owner = _read(private)
    if owner is not None and not owner.has_ended(silent_s(private)):
        _publish(private, path)
        raise FileExistsError


def _publish(private: Path, path: Path) -> None:
    """Give a whole file its name, unless that exists: :class:`FileExistsError`."""
    try:
        path.hardlink_to(private)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links.
        with path.open("xb") as file:
            file.write(private.read_bytes())


def silent_s(path: Path) -> float:
    """Seconds since the file was touched, by the clock of its file system, which machines may not share."""
    probe = path.with_name(f".{OWNER}.{os.getpid()}.now")
    try:
        probe.touch()
        now_s = probe.stat().st_mtime
        probe.unlink()
    except OSError:
        # A folder that this process may only read.
        now_s = time.time()
    try:
        return max(0.0, now_s - path.stat().st_mtime)
    except OSError:
        return 0.0


def _read(path: Path) -> Owner | None:
    """The owner in the file; ``None`` without one, or if the file is damaged."""
    try:
        return None if is_special(path) else _decoded(path.read_bytes())
    except OSError:
        return None


def _decoded(text: bytes) -> Owner | None:
    try:
        return decode(Owner, parse(text.decode()))
    except ValueError:
        return None


def _described(owner: Owner) -> str:
    return f"process {owner.pid} on {printable(owner.host)}"
