"""A unit of work: cells that must stay together on one machine, as a file that any machine can run.

A unit is a block of one problem, or the rest of it: compared cells run next to each other in time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sciml_bench import __version__
from sciml_bench.engine.limits import Limits, memory_limit_bytes
from sciml_bench.errors import StoreError
from sciml_bench.record.codec import decode, encode, parse
from sciml_bench.record.jsonl import store_error, write_whole
from sciml_bench.record.record import Placement
from sciml_bench.record.task import Task

SCHEMA = 1
"""Of unit files."""

_SHOWN_HASH = 8


@dataclass(frozen=True)
class Job:
    """One process: the task of its worker, and the place of its record in the run."""

    task: Task
    placement: Placement

    @property
    def key(self) -> tuple[str, int]:
        """The cell's identity and the block."""
        return self.placement.cell_id, self.placement.block


@dataclass(frozen=True)
class Unit:
    """Jobs of one problem in one block, in order, with their limits.

    ``plan_hash`` names the plan that the unit belongs to, ``sciml_bench`` the version that wrote it. ``comparable``
    cells take turns in their steady loops. ``memory_bytes`` is ``None`` for the default of the machine that runs it.
    ``rerun_noisy`` is for engines that run units without a session: whether a disturbed group is measured once more.
    """

    plan_hash: str
    problem: str
    block: int
    jobs: tuple[Job, ...]
    timeout_s: float
    memory_bytes: int | None = None
    comparable: bool = True
    rerun_noisy: bool = False
    sciml_bench: str = __version__

    @property
    def id(self) -> str:
        """A name for files: block and problem."""
        return unit_id(self.problem, self.block)

    @property
    def limits(self) -> Limits:
        """The limits of each worker; the memory is this machine's if the unit does not say."""
        return Limits(self.timeout_s, self.memory_bytes or memory_limit_bytes())

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the whole unit."""
        return _hash(self._to_dict())

    def write(self, path: Path) -> None:
        """Write the unit as a file with its hash. :class:`StoreError` when that fails."""
        data = {**self._to_dict(), "hash": self.hash}
        write_whole(path, json.dumps(data, allow_nan=False, separators=(",", ":")) + "\n")

    @classmethod
    def read(cls, path: Path) -> Unit:
        """The unit of a file.

        Raises:
            StoreError: it cannot be read, is not a unit, was changed since it was written, or is of a newer version.
        """
        try:
            data = parse(path.read_bytes())
        except OSError as error:
            raise store_error("read", path, error) from error
        except ValueError as error:
            raise StoreError(f"{path} is damaged: {error}. Copy it again from the run's folder of units.") from error
        if not isinstance(data, dict) or "jobs" not in data or "hash" not in data:
            raise StoreError(f"{path} is not a unit. `sciml-bench run … --engine files` writes units.")
        stated = data.pop("hash")
        schema = data.get("schema")
        if isinstance(schema, int) and schema > SCHEMA:
            raise StoreError(f"{path} was written by a newer version (schema {schema}): upgrade sciml-bench here.")
        if stated != _hash(data):
            raise StoreError(f"{path} was changed after it was written. Copy it again from the run's folder of units.")
        try:
            unit = decode(cls, data)
        except ValueError as error:
            raise StoreError(f"{path} is not a unit of this version: {error}") from error
        if not unit.jobs or any(job.task.cell.problem != unit.problem or job.key[1] != unit.block for job in unit.jobs):
            raise StoreError(f"{path} is not a unit: its jobs do not belong to one problem and one block.")
        return unit

    def check_version(self) -> None:
        """:class:`StoreError` where another version of sciml-bench is installed here than the one that wrote it."""
        if self.sciml_bench != __version__:
            raise StoreError(
                f"unit {self} was written by sciml-bench {self.sciml_bench}, installed here is {__version__}: "
                f"install {self.sciml_bench}, so that all machines measure the same way."
            )

    def _to_dict(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **encode(self)}

    def __str__(self) -> str:
        return f"{self.id} ({self.hash[:_SHOWN_HASH]})"


def unit_id(problem: str, block: int) -> str:
    """The name of the unit of a block of a problem."""
    return f"{block:03d}-{problem}"


def _hash(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
