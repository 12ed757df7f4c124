"""The journal of a run on a cluster: the scheduler's name of each task that was submitted for a unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sciml_bench.record.codec import decode_json, encode_json
from sciml_bench.record.jsonl import append_line, mend_end, numbered_lines

_NAME = "submitted.jsonl"


@dataclass(frozen=True)
class Submitted:
    """Tasks that were submitted together: the scheduler, the time in Unix seconds, and the name of each unit's task."""

    scheduler: str
    at_s: float
    tasks: dict[str, str]


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
        for _, line in numbered_lines(self._path) if self._path.exists() else ():
            try:
                submitted = decode_json(Submitted, line)
            except ValueError:
                continue
            known = submitted.scheduler == scheduler
            found |= {unit: task if known else "" for unit, task in submitted.tasks.items()}
        return found


def _is_line(line: bytes) -> bool:
    try:
        decode_json(Submitted, line)
    except ValueError:
        return False
    return True
