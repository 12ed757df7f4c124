"""The owner of a run: the one process that appends to it, also where several machines share the folder."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from sciml_bench.errors import StoreError
from sciml_bench.host import identity
from sciml_bench.record.codec import decode, parse
from sciml_bench.record.lines import store_error
from sciml_bench.record.text import printable

OWNER = "owner.json"
"""The file in a run's folder; it is there while a process appends to the run, and after one that was killed."""

SILENT_S = 600.0
"""An owner that this process cannot see counts as ended after this time without a sign, or after twice the limit of a
phase if that is longer: workers report at the end of each phase."""

SIGN_EVERY_S = 20.0


@dataclass(frozen=True)
class Owner:
    """A process, and after how many seconds without a sign it has ended."""

    host: str
    boot: str
    namespace: str
    pid: int
    started: str
    silent_s: float = SILENT_S

    @classmethod
    def this_process(cls, phase_limit_s: float = 0.0) -> Owner:
        """The identity of this process."""
        pid = os.getpid()
        place = (socket.gethostname(), identity.boot(), identity.namespace())
        return cls(*place, pid, identity.started(pid), max(SILENT_S, 2 * phase_limit_s))

    def is_visible(self) -> bool:
        """Return whether its number means the same process here."""
        return bool(self.boot) and (self.boot, self.namespace) == (identity.boot(), identity.namespace())

    def has_ended(self, silent_s: float) -> bool:
        """Return whether it has ended, judged by its process or by the seconds since its last sign."""
        return identity.started(self.pid) != self.started if self.is_visible() else silent_s > self.silent_s


class Ownership:
    """A run that this process owns; ``sign`` shows others that it still does."""

    def __init__(self, path: Path, owner: Owner):
        self._path, self._owner = path, owner
        self._signed_s = time.monotonic()

    def sign(self, *, at_once: bool = False) -> None:
        """Leave a sign, every few seconds at most unless it is wanted ``at_once``.

        Raises:
            StoreError: another process took the run over.
        """
        now = time.monotonic()
        if not at_once and now - self._signed_s < SIGN_EVERY_S:
            return
        self._signed_s = now
        if (found := _read(self._path)) != self._owner:
            by = "its owner's file was removed" if found is None else _described(found)
            raise StoreError(f"{self._path.parent} was taken over ({by}): nothing more is written to it from here.")
        with suppress(OSError):
            os.utime(self._path)

    def give_up(self) -> None:
        """Remove the file, if it is still this process's."""
        if _read(self._path) == self._owner:
            self._path.unlink(missing_ok=True)


@contextmanager
def owned(folder: Path, phase_limit_s: float = 0.0) -> Iterator[Ownership]:
    """Own a run in the body.

    Raises:
        StoreError: another process owns it, or the folder cannot be written.
    """
    owner, path = Owner.this_process(phase_limit_s), folder / OWNER
    refuse_owned(folder)
    with suppress(OSError):
        # A killed process left it.
        path.unlink()
    try:
        with path.open("x", encoding="utf-8") as file:
            json.dump(asdict(owner), file)
    except FileExistsError:
        # Two began at once, and the other one was first.
        refuse_owned(folder)
        raise StoreError(f"another process has just begun to measure {folder}: wait for it to end.") from None
    except OSError as error:
        raise store_error("create", path, error) from error
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
    if owner is None or owner.has_ended(silent_s := _silent_s(path)):
        return
    seen = "" if owner.is_visible() else f", which left a sign {silent_s:.0f} s ago"
    raise StoreError(
        f"{folder} is being measured by {_described(owner)}{seen}. Wait for it to end, or start another run with "
        f"--new; if it has ended, remove {path}."
    )


def _silent_s(path: Path) -> float:
    """Seconds since the file was touched, by the clock of its file system, which machines may not share."""
    probe = path.with_name(f".{OWNER}.{os.getpid()}")
    try:
        probe.touch()
        now_s = probe.stat().st_mtime
        probe.unlink()
        return max(0.0, now_s - path.stat().st_mtime)
    except OSError:
        return 0.0


def _read(path: Path) -> Owner | None:
    """The owner in the file; ``None`` without one, or if the file is damaged."""
    try:
        return decode(Owner, parse(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None


def _described(owner: Owner) -> str:
    return f"process {owner.pid} on {printable(owner.host)}"
