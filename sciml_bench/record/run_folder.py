"""A run: a folder with its plan, its environment, and one record per line."""

from __future__ import annotations

import datetime
import hashlib
import itertools
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from sciml_bench.errors import StoreError, UsageError
from sciml_bench.record.codec import parse
from sciml_bench.record.jsonl import (
    DamagedLine,
    append_line,
    is_changed,
    is_special,
    mend_end,
    numbered_lines,
    sealed,
    store_error,
    sync_folder,
    write_whole,
)
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Record, read_records

PLAN = "plan.json"
ENVIRONMENT = "environment.json"
RECORDS = "records.jsonl"
PROBLEMS = "problems"
"""The folder of problem files that a run was given or made."""
LOCKS = "locks"
"""Files that pin what workers load beside Python's packages, by their names; the environment has their hashes."""
ENVIRONMENTS = "environments"
"""Environments of machines that carried units out for the run, by their hashes."""

_log = logging.getLogger(__name__)


class Run:
    """A run's folder. :meth:`create`, :meth:`open` or :meth:`resume` one.

    ``only`` are the environments whose records it shows, all by default.
    """

    def __init__(self, folder: Path, only: frozenset[str] | None = None):
        self.folder = folder
        self.only = only
        self.records_path = folder / RECORDS

    def measured_in(self, environments: frozenset[str]) -> Run:
        """This run with the records of these environments alone."""
        return Run(self.folder, environments)

    @classmethod
    def create(
        cls,
        parent: Path,
        name: str,
        *,
        plan: dict[str, Any] | Callable[[Path], dict[str, Any]],
        environment: dict[str, Any],
        locks: Mapping[str, str] | None = None,
        now: datetime.datetime | None = None,
    ) -> Run:
        """A new folder ``parent/2026-11-21T10-31-05Z_name`` with plan and environment, and no records yet.

        ``name`` describes the run, for example suite and profile; the time is UTC, so that names sort by age. A name
        that is taken gets a number. A plan that depends on the folder is made from it, and may leave files there. The
        plan is written last: a folder without one is not a run.
        """
        now = now or datetime.datetime.now(datetime.UTC)
        folder = _new_folder(parent, f"{now:%Y-%m-%dT%H-%M-%SZ}_{name}")
        write_whole(folder / ENVIRONMENT, _pretty(environment))
        for lock, text in (locks or {}).items():
            path = folder / LOCKS / lock
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise store_error("create", path.parent, error) from error
            write_whole(path, text)
        write_whole(folder / PLAN, _pretty(plan(folder) if callable(plan) else plan))
        return cls(folder)

    @classmethod
    def open(cls, folder: Path) -> Run:
        """An existing run, to read. :class:`StoreError` when the folder is none, or its name cannot be printed."""
        if not folder.is_dir():
            raise StoreError(f"no run '{folder}'; see `sciml-bench list runs`")
        if not (folder / PLAN).is_file():
            raise StoreError(f"{folder} is not a run: it has no {PLAN}. Give the folder that a run was written to.")
        if not folder.name.isprintable():
            raise StoreError(f"the name of {folder} has characters that cannot be printed: rename the folder.")
        return cls(folder)

    @classmethod
    def resume(cls, folder: Path) -> Run:
        """An existing run, to append to. A last line that a crash left half written is cut off."""
        run = cls.open(folder)
        rest = mend_end(run.records_path, is_record)
        if rest:
            _log.warning("%s: cut off a last line of %d bytes that was not complete", run.records_path, len(rest))
        return run

    @cached_property
    def plan(self) -> dict[str, Any]:
        """The content of its plan's file. :class:`StoreError` if it cannot be read."""
        return read_object(self.folder / PLAN)

    @cached_property
    def environment(self) -> dict[str, Any]:
        """The environment in which the run was created, or one in which records were measured that it shows."""
        created = read_object(self.folder / ENVIRONMENT)
        path = None if self.only is None else self.folder / ENVIRONMENTS / f"{min(self.only)}.json"
        if path is None or environment_hash(created) in (self.only or ()) or not path.is_file():
            return created
        return read_object(path)

    @cached_property
    def locks(self) -> Mapping[str, bytes]:
        """The content of each lock file that is kept with the run, by its name."""
        folder = self.folder / LOCKS
        files = (path for path in sorted(folder.rglob("*")) if path.is_file())
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}

    @cached_property
    def environment_hash(self) -> str:
        """By which records refer to the environment."""
        return environment_hash(self.environment)

    @cached_property
    def environments(self) -> Mapping[str, Mapping[str, Any]]:
        """By hash, its environment and the environments of all machines that ran units for it.

        Raises:
            StoreError: a file cannot be read, or is not what its name says.
        """
        created = read_object(self.folder / ENVIRONMENT)
        found: dict[str, Mapping[str, Any]] = {environment_hash(created): created}
        for path in sorted((self.folder / ENVIRONMENTS).glob("*.json")):
            facts = read_object(path)
            if environment_hash(facts) != path.stem:
                raise StoreError(f"{path} was changed: its content does not hash to its name. Restore it from a copy.")
            found[path.stem] = facts
        return found if self.only is None else {name: facts for name, facts in found.items() if name in self.only}

    def keep_environment(self, facts: Mapping[str, Any]) -> None:
        """Keep the environment of another machine next to the run's. :class:`StoreError` if that fails."""
        name = environment_hash(dict(facts))
        folder = self.folder / ENVIRONMENTS
        if name in self.environments:
            return
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise store_error("create", folder, error) from error
        write_whole(folder / f"{name}.json", _pretty(dict(facts)))
        del self.environments

    def append(self, record: Record) -> None:
        """Add a record; it is on the disk when this returns. :class:`StoreError` otherwise, and nothing is lost."""
        append_line(self.records_path, sealed(record.to_json()))

    def records(self, on_damage: Callable[[DamagedLine], None] | None = None) -> Iterator[Record]:
        """All records, one at a time; damaged lines are passed on or logged, and the rest is read."""
        found = read_records(self.records_path, on_damage)
        return found if self.only is None else (each for each in found if each.environment_hash in self.only)

    def done(self, *, redo_failed: bool = False) -> set[tuple[str, int]]:
        """The (cell_id, block) pairs that need not be measured again; with ``redo_failed`` only pairs that are ok."""
        done: set[tuple[str, int]] = set()
        for _, line in numbered_lines(self.records_path):
            try:
                data = parse(line)
                if not is_changed(line) and (data["outcome"] == Outcome.OK or not redo_failed):
                    done.add((data["cell_id"], data["block"]))
            except (ValueError, KeyError, TypeError):
                # Named by line when the records are read; here it only means that the cell is measured again.
                continue
        return done


# A plan of ten thousand cells has eight.
_LARGEST_OBJECT_BYTES = 2**28


def is_record(line: bytes) -> bool:
    """Return whether a line holds a whole record, also if it was changed since."""
    try:
        Record.from_json(line)
    except ValueError:
        return is_changed(line) and line.endswith(b'"}')
    return True


def _new_folder(parent: Path, name: str) -> Path:
    for number in itertools.count(1):
        folder = parent / (name if number == 1 else f"{name}-{number}")
        try:
            parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
            sync_folder(parent)
        except FileExistsError as error:
            if not parent.is_dir():
                raise StoreError(f"cannot create runs in {parent}: it is a file. Choose another folder.") from error
        except OSError as error:
            raise store_error("create", folder, error) from error
        else:
            return folder
    raise AssertionError("counting ended")


def _pretty(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object that a file of a run holds. :class:`StoreError` when there is none."""
    if is_special(path):
        raise StoreError(f"{path} is not a regular file: it cannot hold a run's facts.")
    try:
        if path.stat().st_size > _LARGEST_OBJECT_BYTES:
            raise StoreError(f"{path} is larger than {_LARGEST_OBJECT_BYTES >> 20} MiB: it cannot hold a run's facts.")
        data = parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise store_error("read", path, error) from error
    except ValueError as error:
        raise StoreError(f"{path} is damaged: {error}. Restore it from a copy, or start a new run.") from error
    if not isinstance(data, dict):
        raise StoreError(f"{path} is damaged: it holds no JSON object. Restore it from a copy, or start a new run.")
    return data


def environment_hash(facts: dict[str, Any]) -> str:
    """Hex SHA-256 of the facts as canonical JSON."""
    canonical = json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def runs_in(folder: Path) -> Iterator[Run]:
    """The runs below a folder, newest first; other folders are skipped.

    Runs are named by date; renamed ones come last.
    """
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir(), key=_by_age, reverse=True):
        try:
            yield Run.open(path)
        except StoreError:
            continue


def made_at(folder: Path) -> datetime.datetime | None:
    """The time in the name of a run's folder; ``None`` if it has another name."""
    name = folder.name
    # Earlier versions named runs by local time.
    zone = datetime.UTC if name[19:20] == "Z" else None
    try:
        return datetime.datetime.strptime(name[:19], "%Y-%m-%dT%H-%M-%S").replace(tzinfo=zone).astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        return None


def _by_age(folder: Path) -> tuple[datetime.datetime, str]:
    return made_at(folder) or datetime.datetime.min.replace(tzinfo=datetime.UTC), folder.name


def find_run(name: str | Path | None, out: Path) -> Run:
    """The run of this folder, or of this name below ``out``; the newest one there without a name.

    Raises:
        UsageError: there is no run yet.
        StoreError: the folder is not a run.
    """
    if name is None:
        for run in runs_in(out):
            return run
        raise UsageError(f"no run in {out}; make one with `sciml-bench stiff --profile smoke`")
    given = Path(name)
    return Run.open(given if given.is_dir() or not (out / name).is_dir() else out / name)
