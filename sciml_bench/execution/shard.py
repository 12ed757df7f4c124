"""A shard: the results of a unit on its machine, as a folder that travels to the unit's run.

It holds the unit, the environment of its machine, the records, and at the end how it ended, with the hash of the
records: a copy that is not whole shows.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sciml_bench.adapters.registry import adapters
from sciml_bench.engine.interface import EngineEvent, JobMeasured
from sciml_bench.engine.local import LocalEngine
from sciml_bench.engine.unit import Job, Unit
from sciml_bench.errors import StoreError
from sciml_bench.execution.schedule import History
from sciml_bench.execution.session import locks_of
from sciml_bench.host import temporary
from sciml_bench.host.doctor.other_work import disturbing
from sciml_bench.host.environment import environment_facts
from sciml_bench.host.processes import strays
from sciml_bench.record.codec import decode_json, encode_json
from sciml_bench.record.jsonl import append_line, mend_end, numbered_lines, sealed, store_error, write_whole
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Record
from sciml_bench.record.run_folder import ENVIRONMENT, PLAN, RECORDS, environment_hash, is_record, read_object

_SIGNAL_S = 0.5

UNIT, END = "unit.json", "end.json"


@dataclass(frozen=True)
class End:
    """That a shard is whole: how many records it has, and the SHA-256 of their file.

    ``disturbed_by`` is all that the doctor found to disturb its machine, before the first process.
    """

    host: str
    records: int
    records_sha256: str
    disturbed_by: tuple[str, ...] = ()


class Shard:
    """A shard's folder. :meth:`begin` one, or :meth:`open` one that is whole."""

    def __init__(self, folder: Path, unit: Unit, environment: Mapping[str, Any]):
        self.folder = folder
        self.unit = unit
        self.environment = environment
        self.records_path = folder / RECORDS

    @classmethod
    def begin(cls, unit: Unit, folder: Path, environment: Mapping[str, Any]) -> Shard:
        """A new shard, or one that the same machine began and did not finish.

        Raises:
            StoreError: the folder holds something else, or cannot be written.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            there = {path.name for path in folder.iterdir()}
        except OSError as error:
            raise store_error("create", folder, error) from error
        if not there:
            write_whole(folder / ENVIRONMENT, json.dumps(environment, indent=1, allow_nan=False) + "\n")
            # Last: a folder without it is not a shard.
            unit.write(folder / UNIT)
            # As others will read it: without characters that move a terminal's cursor.
            return cls(folder, unit, read_object(folder / ENVIRONMENT))
        if UNIT not in there:
            raise StoreError(f"{folder} is not empty, and not a shard: give --out a new folder.")
        known = Unit.read(folder / UNIT)
        if known.hash != unit.hash:
            raise StoreError(f"{folder} is the shard of another unit, {known}: give --out another folder.")
        shard = cls(folder, unit, read_object(folder / ENVIRONMENT))
        if environment_hash(dict(shard.environment)) != environment_hash(dict(environment)):
            raise StoreError(f"{folder} was begun in another environment: give --out a new folder.")
        mend_end(shard.records_path, is_record)
        return shard

    @classmethod
    def open(cls, folder: Path) -> Shard:
        """A shard that is whole, to read.

        Raises:
            StoreError: the folder is not a shard, is not finished, or was changed since.
        """
        if not (folder / UNIT).is_file():
            if (folder / PLAN).is_file():
                raise StoreError(
                    f"{folder} is a run, not a shard: `sciml-bench compare` shows two runs next to each other."
                )
            raise StoreError(f"{folder} is not a shard: give folders that `sciml-bench worker --out` wrote.")
        shard = cls(folder, Unit.read(folder / UNIT), read_object(folder / ENVIRONMENT))
        if not shard.is_whole:
            raise StoreError(
                f"{folder} is not finished: run `sciml-bench worker` there again, with the same --unit and --out."
            )
        if shard.end.records_sha256 != _file_hash(shard.records_path):
            raise StoreError(f"{shard.records_path} was changed or cut off after it was written: copy the shard again.")
        return shard

    @property
    def is_whole(self) -> bool:
        """Return whether its unit was carried out to its end."""
        return self.is_whole_at(self.folder)

    @staticmethod
    def is_whole_at(folder: Path) -> bool:
        """Return whether a folder has the end of a shard."""
        return (folder / END).is_file()

    @cached_property
    def end(self) -> End:
        """Return its end. :class:`StoreError` if that cannot be read."""
        return end_of(self.folder)

    def records(self) -> list[Record]:
        """Its records. :class:`StoreError` where a line is not one."""
        found: list[Record] = []
        for number, line in numbered_lines(self.records_path):
            try:
                found.append(Record.from_json(line))
            except ValueError as error:
                raise StoreError(f"{self.records_path}:{number}: {error}. Copy the shard again.") from error
        return found

    def append(self, record: Record) -> None:
        """Add a record; it is on the disk when this returns."""
        append_line(self.records_path, sealed(record.to_json()))

    def finish(self, host: str, disturbed_by: tuple[str, ...] = ()) -> None:
        """Say that it is whole."""
        records = sum(1 for _ in numbered_lines(self.records_path))
        end = End(host, records, _file_hash(self.records_path), disturbed_by)
        write_whole(self.folder / END, encode_json(end) + "\n")


def end_of(folder: Path) -> End:
    """The end of a shard. :class:`StoreError` if it cannot be read."""
    path = folder / END
    try:
        return decode_json(End, path.read_bytes())
    except OSError as error:
        raise store_error("read", path, error) from error
    except ValueError as error:
        raise StoreError(f"{path} is damaged: {error}. Copy the shard again.") from error


def environment_of(unit: Unit) -> dict[str, Any]:
    """The environment of this machine, as a unit is measured in it."""
    used = dict.fromkeys(job.task.cell.adapter for job in unit.jobs)
    there = adapters(used)
    packages = (name for adapter in there.values() for name in adapter.packages.values())
    locks = locks_of(there[name] for name in used if name in there)
    return environment_facts(packages, unit.jobs[0].task.threads, locks)


OnMeasured = Callable[[int, int, Record], None]
"""Is called when record number ``place`` of ``total`` is on the disk; a group that is repeated makes the total grow."""


def carry_out(shard: Shard, host: str, on_measured: OnMeasured | None = None) -> None:
    """Measure the rest of a shard's unit here, then repeat disturbed groups if the unit asks for it.

    ``host`` is the pseudonym of this machine. An interruption leaves a shard that the same call finishes.

    Raises:
        StoreError: an earlier part was measured on another machine.
    """
    if shard.is_whole:
        return
    unit = shard.unit
    known = shard.records()
    if any(record.host != host for record in known):
        raise StoreError(
            f"{shard.folder} was begun on another machine, or before this one was restarted: cells that are compared "
            "must be measured on one machine. Give --out a new folder."
        )
    temporary.sweep()
    strays.sweep()
    disturbed_by = tuple(f"{each.title}: {each.found}" for each in disturbing())
    history = History.of(known)
    done, total = len(known), len(unit.jobs)
    with LocalEngine(environment_hash(dict(shard.environment)), host) as engine:

        def on(happening: EngineEvent) -> None:
            nonlocal done
            if isinstance(happening, JobMeasured):
                if happening.record.outcome is Outcome.CRASH:
                    # A scheduler that ends a task may end a worker before it ends this process.
                    time.sleep(_SIGNAL_S)
                shard.append(happening.record)
                history.keep(happening.record)
                done += 1
                if on_measured is not None:
                    on_measured(done, total, happening.record)

        while jobs := _left(unit, history):
            total = done + len(jobs)
            engine.submit(dataclasses.replace(unit, jobs=tuple(jobs)))
            engine.wait(on)
    shard.finish(host, disturbed_by)


def _left(unit: Unit, history: History) -> list[Job]:
    """The jobs of a unit that are still to run."""
    tasks = {job.key: job.task for job in unit.jobs}
    left = history.left_of([job.placement for job in unit.jobs], rerun_noisy=unit.rerun_noisy)
    return [Job(tasks[place.cell_id, place.block], place) for place in left]


def is_complete(unit: Unit, records: Sequence[Record]) -> bool:
    """Return whether nothing of a unit is left."""
    return not _left(unit, History.of(records))


def _file_hash(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes() if path.exists() else b"").hexdigest()
    except OSError as error:
        raise store_error("read", path, error) from error
