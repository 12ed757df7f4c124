"""The journal of a run on a cluster: the scheduler's name of each task that was submitted for a unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sciml_bench.record.codec import decode_json, encode_json
from sciml_bench.record.jsonl import append_line, mend_end, numbered_lines

_NAME = "submitted.jsonl"


@dataclass(frozen=True)
class Submitted:
    """Tasks that were submitted together: the scheduler, the time in Unix seconds, and the name of each unit's task.

    ``earlier`` is how many tasks of each unit had begun by then. ``lost`` are units that are not submitted again, with
    the reasons.
    """

    scheduler: str
    at_s: float
    tasks: dict[str, str] = field(default_factory=dict[str, str])
    earlier: dict[str, int] = field(default_factory=dict[str, int])
    lost: dict[str, str] = field(default_factory=dict[str, str])


@dataclass
class LastSubmission:
    """The last submission of a unit: how many of its tasks had begun, and the reason of a lost one, otherwise empty."""

    earlier: int = 0
    lost: str = ""


class Journal:
    """The submissions of a run, in a file of its folder."""

    def __init__(self, run: Path):
        self._path = run / _NAME

    def mend(self) -> None:
        """Cut off a last line that a crash left half written, so that the next line is whole."""
        if self._path.exists():
            mend_end(self._path, _is_line)

    def add(self, submitted: Submitted) -> None:
        """Add a line; it is on the disk when this returns."""
        append_line(self._path, encode_json(submitted))

    def last_tasks(self, scheduler: str) -> Mapping[str, str]:
        """The last task of each submitted unit, empty if another scheduler has it. Damaged lines are passed over."""
        found: dict[str, str] = {}
        for submitted in self._lines():
            known = submitted.scheduler == scheduler
            found |= {unit: task if known else "" for unit, task in submitted.tasks.items()}
        return found

    def last_submissions(self) -> Mapping[str, LastSubmission]:
        """The last submission of each unit."""
        found: dict[str, LastSubmission] = {}
        for submitted in self._lines():
            for unit in submitted.tasks:
                found[unit] = LastSubmission(submitted.earlier.get(unit, 0))
            for unit, reason in submitted.lost.items():
                found.setdefault(unit, LastSubmission()).lost = reason
        return found

    def _lines(self) -> Iterator[Submitted]:
        for _, line in numbered_lines(self._path) if self._path.exists() else ():
            with suppress(ValueError):
                yield decode_json(Submitted, line)


def _is_line(line: bytes) -> bool:
    try:
        decode_json(Submitted, line)
    except ValueError:
        return False
    return True
