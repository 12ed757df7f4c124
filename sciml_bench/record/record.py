"""The record: what one worker left, one line of JSON, with a schema version."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sciml_bench.record.codec import decode, encode, parse
from sciml_bench.record.jsonl import DamagedLine, numbered_lines, unsealed
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.perturbed_solve import PerturbedSolve
from sciml_bench.record.point import PointResult
from sciml_bench.record.process import HostObservations, WorkerInfo
from sciml_bench.record.scoring_rules import SCORING_RULES
from sciml_bench.record.task import Cell, Task
from sciml_bench.record.training import Trained

_log = logging.getLogger(__name__)

SCHEMA = 1
"""The version of a record's keys; another one is not read."""


@dataclass(frozen=True)
class Placement:
    """The place of a record in its run, by the plan.

    ``cell_id`` names the cell with its problem's content and emitted source; ``order`` is its place in the block.
    ``smoke_only`` marks a profile whose times must not be compared. ``attempt`` is 1 for the one repetition of a group
    of cells that was disturbed.
    """

    cell_id: str
    block: int
    order: int
    division: str
    profile: str
    smoke_only: bool
    spec_hash: str
    attempt: int = 0


@dataclass(frozen=True, kw_only=True)
class Measurement(WorkerInfo, HostObservations):
    """One cell, measured once.

    ``outcome`` is ok if at least one point is; ``phase`` and ``message`` then say why the worker ended early, if it
    did. Every point of the task is in ``points``, in order.

    ``phases_ns`` has one sum per kind of phase, none of which contains another: the framework's tracing, lowering and
    compiling inside a call is taken out of that call's phase and kept separately, and by the framework's own names in
    ``framework_phases_ns``. ``time_to_first_gradient_ns`` counts to the end of the first gradient call, from the start
    of the process and from the built program, and is empty without a first gradient.

    ``fill_s`` is how long another worker took to fill the caches. ``noisy`` are the reasons why the conditions count as
    disturbed. ``energy`` has joules and window, or ``not_measurable`` with the reason; ``None`` when the worker did not
    get that far.
    """

    outcome: Outcome
    phase: str | None
    message: str
    stderr_tail: str
    phases_ns: dict[str, int]
    time_to_first_gradient_ns: dict[str, int]
    points: tuple[PointResult, ...]
    fill_s: float = 0.0
    framework_phases_ns: dict[str, int] = field(default_factory=dict)
    noisy: tuple[str, ...] = ()
    energy: dict[str, Any] | None = None
    stability: tuple[PerturbedSolve, ...] = ()
    training: Trained | None = None

    def __post_init__(self) -> None:
        if any(ns < 0 for ns in self.time_to_first_gradient_ns.values()):
            raise ValueError("a time to the first gradient is negative")


@dataclass(frozen=True, kw_only=True)
class Record(Measurement, Placement):
    """One cell, measured once by one worker, at its place in a run. Attribute names are the keys in the file.

    ``host`` is empty on the machine that the run was made on. A machine that ran a unit for it has a pseudonym that is
    valid within one plan, see :func:`sciml_bench.host.machine.pseudonym`. ``scoring_rules`` judged its points, see
    :mod:`sciml_bench.record.scoring_rules`.
    """

    record_id: str
    cell: Cell
    seed: int
    environment_hash: str
    source_hash: str
    reference_kind: str | None
    caches: str = "cold"
    host: str = ""
    scoring_rules: int = SCORING_RULES

    @property
    def placement(self) -> Placement:
        return Placement(**{name: getattr(self, name) for name in Placement.__dataclass_fields__})

    @property
    def own_s(self) -> float:
        """Return how long the process was there, without the time in which others of its group had their turn."""
        return self.wall_s - self.waited_s

    @classmethod
    def of(
        cls, measurement: Measurement, task: Task, placement: Placement, environment_hash: str, host: str = ""
    ) -> Record:
        """The record of a measurement of a task at its place in a run."""
        identity = f"{placement.cell_id}/{placement.block}/{measurement.started_at}/{environment_hash}/{host}"
        return cls(
            record_id=_sha256(identity)[:16],
            cell=task.cell,
            caches=task.cell.caches,
            seed=task.seed,
            environment_hash=environment_hash,
            host=host,
            source_hash=_sha256(task.source),
            reference_kind=task.reference_kind,
            **vars(measurement),
            **vars(placement),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; the schema comes first."""
        return {"schema": SCHEMA} | encode(self)

    def to_json(self) -> str:
        """One line, without its newline."""
        return json.dumps(self.to_dict(), allow_nan=False, separators=(",", ":"))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Record:
        """The record in plain JSON values. ``ValueError`` if they are not a record of this schema."""
        return decode(cls, fields_of(data))

    @classmethod
    def from_json(cls, text: str | bytes) -> Record:
        """Inverse of :meth:`to_json`. ``ValueError`` if the text is not a record, or not as it was written."""
        data = parse(text)
        if not isinstance(data, dict):
            raise ValueError("not a record: not a JSON object")
        if unsealed(data, text.encode() if isinstance(text, str) else text) is False:
            raise ValueError("its checksum does not match: it was changed after it was written")
        return cls.from_dict(data)


def fields_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record as JSON values, without its schema. ``ValueError`` if it has none, or another one."""
    fields = dict(data)
    schema = fields.pop("schema", None)
    if not isinstance(schema, int) or isinstance(schema, bool):
        raise ValueError("not a record: it has no schema version")
    if schema != SCHEMA:
        raise ValueError(f"written by another version of sciml-bench (schema {schema}, this one reads {SCHEMA})")
    return fields


def read_records(path: Path, on_damage: Callable[[DamagedLine], None] | None = None) -> Iterator[Record]:
    """The records of a file, one at a time, whatever its size.

    A truncated or corrupted line is passed to ``on_damage``, or logged as a warning, and the rest is read.
    """
    for number, line in numbered_lines(path):
        try:
            yield Record.from_json(line)
        except (ValueError, RecursionError) as error:
            cut = "" if line.endswith(b"\n") else " (the line is cut off)"
            damage = DamagedLine(path, number, f"{error}{cut}")
            if on_damage is None:
                _log.warning("%s", damage)
            else:
                on_damage(damage)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
