"""Shards joined to their run: all of them are checked before the first is appended."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sciml_bench.engine.files import UNITS
from sciml_bench.engine.unit import Unit, unit_id
from sciml_bench.errors import StoreError
from sciml_bench.execution.other_versions import other_versions
from sciml_bench.execution.owner import Ownership, owned
from sciml_bench.execution.shard import UNIT, Shard, is_complete
from sciml_bench.planning.written_plan import written_plan
from sciml_bench.record.record import Record
from sciml_bench.record.run_folder import PLAN, Run, environment_hash

_SHOWN_HASH, _SHOWN_DIFFERENCES = 12, 3


class OtherSoftware(StoreError):
    """A shard was measured by other versions than the run."""


Place = tuple[str, int]
"""A problem and a block: what one unit measures."""


@dataclass(frozen=True)
class Merged:
    """The result of merging shards: the units added to the run with their numbers of records, the units already there,
    and the ``missing`` ones of the ``units`` that the run handed over.
    """

    added: tuple[Unit, ...]
    known: tuple[Unit, ...]
    records: int
    units: int
    missing: tuple[str, ...]


def shards_in(folders: Sequence[Path]) -> Iterator[Path]:
    """The folders themselves if they are shards, otherwise the shards in them."""
    for folder in folders:
        inside = sorted(path.parent for path in folder.glob(f"*/{UNIT}")) if not (folder / UNIT).is_file() else []
        yield from inside or [folder]


def merge(run: Run, folders: Sequence[Path]) -> Merged:
    """Append the records of shards to the run that their units are of, and keep the environments of their machines.

    A shard that is in the run already is skipped; one that a crash left incomplete is completed.

    Raises:
        StoreError: a shard is not whole, of another plan or of a unit that was changed, holds what its unit does not,
            was measured by other software, or measures a block of a problem that the run, or another shard, has
            from elsewhere; or another process appends to the run. Nothing is changed then.
    """
    with owned(run.folder) as ownership:
        return _merge(run, [Shard.open(folder) for folder in shards_in(folders)], ownership)


def _merge(run: Run, shards: Sequence[Shard], ownership: Ownership) -> Merged:
    Run.resume(run.folder)
    in_run: dict[Place, dict[str, Record]] = defaultdict(dict)
    for record in run.records(on_damage=lambda _: None):
        in_run[record.cell.problem, record.block][record.record_id] = record
    taken: dict[Place, Shard] = {}
    missing: list[tuple[Shard, list[Record]]] = []
    for shard in shards:
        records = checked_records(run, shard)
        place = shard.unit.problem, shard.unit.block
        if place in taken:
            raise StoreError(
                f"{shard.folder} and {taken[place].folder} both measured block {place[1]} of {place[0]}: "
                "give one of them."
            )
        taken[place] = shard
        known = in_run[place]
        if not known.keys() <= {record.record_id for record in records}:
            raise StoreError(
                f"{shard.folder}: block {place[1]} of {place[0]} is in {run.folder} already, measured elsewhere. "
                "Leave this shard out."
            )
        missing.append((shard, [record for record in records if record.record_id not in known]))
    for shard, records in missing:
        run.keep_environment(shard.environment)
        for record in records:
            ownership.check()
            run.append(record)
    handed_over = sorted(path.stem for path in (run.folder / UNITS).glob("*.json"))
    measured = {unit_id(*place) for place, records in in_run.items() if records} | {shard.unit.id for shard in shards}
    return Merged(
        added=tuple(shard.unit for shard, records in missing if records),
        known=tuple(shard.unit for shard, records in missing if not records),
        records=sum(len(records) for _, records in missing),
        units=len(handed_over),
        missing=tuple(name for name in handed_over if name not in measured),
    )


def checked_records(run: Run, shard: Shard) -> list[Record]:
    """The records of a whole shard: all of a unit that the run handed over, measured on one machine by its software.

    Raises:
        StoreError: it is not, see :func:`merge`.
    """
    _check_unit(run, shard)
    _check_software(run, shard)
    return _checked_records(shard)


def _check_unit(run: Run, shard: Shard) -> None:
    """The unit is one that the run handed over, as it was then."""
    unit, plan_hash = shard.unit, written_plan(run).hash
    if unit.plan_hash != plan_hash:
        raise StoreError(
            f"{shard.folder} is of another plan ({unit.plan_hash[:_SHOWN_HASH]}; {run.folder / PLAN} is "
            f"{plan_hash[:_SHOWN_HASH]}). Merge it into the run that wrote its unit."
        )
    path = run.folder / UNITS / f"{unit.id}.json"
    if not path.is_file():
        raise StoreError(f"{shard.folder}: {run.folder} did not hand over unit {unit.id}; there is no {path}.")
    written = Unit.read(path)
    if written.hash != unit.hash:
        raise StoreError(
            f"{shard.folder}: its unit {unit} is not the one that was handed over, {written}. "
            f"Carry out {path} as it is, in a new folder."
        )


def _check_software(run: Run, shard: Shard) -> None:
    """Check that the same versions measured it: other versions make another run."""
    different = other_versions(run.environment, shard.environment)
    if different:
        more = len(different) - _SHOWN_DIFFERENCES
        listed = "; ".join(different[:_SHOWN_DIFFERENCES]) + (f"; and {more} more" if more > 0 else "")
        raise OtherSoftware(
            f"{shard.folder} was measured by other software: {listed}. "
            "Install the same versions there, and carry the unit out again."
        )


def _checked_records(shard: Shard) -> list[Record]:
    """Its records, each a process of the unit on the shard's machine."""
    jobs = {job.key: job for job in shard.unit.jobs}
    environment = environment_hash(dict(shard.environment))
    records = shard.records()
    processes = {(record.cell_id, record.block, record.attempt) for record in records}
    if len(processes) < len(records):
        raise StoreError(
            f"{shard.records_path} has a process twice: copy the shard again, or carry its unit out again."
        )
    for number, record in enumerate(records, start=1):
        job = jobs.get((record.cell_id, record.block))
        if job is None:
            found = f"{record.cell.label} in block {record.block}, which its unit does not have"
        elif record.cell != job.task.cell or _placed(record) != _placed(job.placement):
            found = "a record that differs from its place in the unit"
        elif (record.source_hash, record.seed) != (hashlib.sha256(job.task.source.encode()).hexdigest(), job.task.seed):
            found = f"{record.cell.label} measured with another source or seed"
        elif record.environment_hash != environment or record.host != shard.end.host:
            found = "a record of another machine or environment"
        else:
            continue
        raise StoreError(f"{shard.records_path}:{number}: {found}. Records of another shard do not belong here.")
    if shard.end.records != len(records) or not is_complete(shard.unit, records):
        raise StoreError(f"{shard.folder} does not hold all records of its unit: carry it out again, in a new folder.")
    return records


def _placed(of: Any) -> tuple[Any, ...]:
    """A place without the attempt."""
    return of.block, of.order, of.division, of.profile, of.smoke_only, of.spec_hash
