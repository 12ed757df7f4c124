"""A unit of work: what must stay together on one machine, as a file that any machine can carry out.

A unit is a block of one problem, or what is left of it: the cells that are compared run next to each other in time.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sciml_bench.engine.limits import Limits, memory_limit_bytes
from sciml_bench.errors import StoreError
from sciml_bench.record.lines import write_whole
from sciml_bench.record.record import Placement
from sciml_bench.record.task import Task

SCHEMA = 1
"""Of unit files."""


@dataclass(frozen=True)
class Job:
    """One process: what its worker is told, and where its record stands in the run."""

    task: Task
    placement: Placement


@dataclass(frozen=True)
class Unit:
    """Jobs of one problem in one block, in order, with their limits.

    ``plan_hash`` names the plan that the unit belongs to. ``comparable`` cells take turns in their steady loops.
    ``memory_bytes`` is ``None`` for the default of the machine that runs it. ``rerun_noisy`` is for engines that carry
    a unit out by themselves: whether a disturbed group is measured once more.
    """

    plan_hash: str
    problem: str
    block: int
    jobs: tuple[Job, ...]
    timeout_s: float
    memory_bytes: int | None = None
    comparable: bool = True
    rerun_noisy: bool = False

    @property
    def id(self) -> str:
        """A name for files: block and problem, and which attempt where the group is measured again."""
        again = "" if not any(job.placement.attempt for job in self.jobs) else "-again"
        return f"{self.block:03d}-{self.problem}{again}"

    @property
    def limits(self) -> Limits:
        """What each worker may use; the memory is that of this machine where the unit does not say."""
        return Limits(self.timeout_s, self.memory_bytes or memory_limit_bytes())

    @property
    def hash(self) -> str:
        """SHA-256 of all that the unit says."""
        return _hash(self._to_dict())

    def write(self, path: Path) -> None:
        """Write the unit as a file with its hash. :class:`StoreError` when that fails."""
        data = self._to_dict()
        write_whole(path, json.dumps({**data, "hash": _hash(data)}, allow_nan=False) + "\n")

    @classmethod
    def read(cls, path: Path) -> Unit:
        """The unit of a file.

        Raises:
            StoreError: it cannot be read, is no unit, was changed since it was written, or is of a newer version.
        """
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror}. Give the file of a unit.") from error
        except ValueError as error:
            raise StoreError(f"{path} is damaged: {error}. Write the units anew, or restore the file.") from error
        if not isinstance(data, dict) or "jobs" not in data or "hash" not in data:
            raise StoreError(f"{path} is not a unit. `sciml-bench run … --engine files` writes units.")
        told = data.pop("hash")
        schema = data.get("schema")
        if isinstance(schema, int) and schema > SCHEMA:
            raise StoreError(f"{path} was written by a newer version (schema {schema}): upgrade sciml-bench here.")
        if told != _hash(data):
            raise StoreError(f"{path} was changed after it was written. Use the file as `--engine files` wrote it.")
        try:
            return cls._from_dict(data)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StoreError(f"{path} is not a unit of this version ({type(error).__name__}: {error}).") from error

    def _to_dict(self) -> dict[str, Any]:
        jobs = [
            {"task": json.loads(job.task.to_json()), "placement": dataclasses.asdict(job.placement)}
            for job in self.jobs
        ]
        own = {
            item.name: getattr(self, item.name) for item in dataclasses.fields(self) if item.name != "jobs"
        }  # fmt: skip
        return {"schema": SCHEMA, **own, "jobs": jobs}

    @classmethod
    def _from_dict(cls, data: Mapping[str, Any]) -> Unit:
        jobs = tuple(
            Job(Task.from_json(json.dumps(job["task"])), Placement(**job["placement"])) for job in data["jobs"]
        )
        return cls(**{**{name: value for name, value in data.items() if name != "schema"}, "jobs": jobs})


def _hash(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
