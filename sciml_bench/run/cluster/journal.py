"""The journal of a run on a cluster: which unit was submitted when, and under which name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sciml_bench.record.codec import decode_json, encode_json
from sciml_bench.record.lines import append_line, numbered_lines

_NAME = "submitted.jsonl"


@dataclass(frozen=True)
class Submitted:
    """A task of a unit was submitted to a scheduler, as ``task``, at ``at_s`` seconds of Unix time."""

    unit: str
    scheduler: str
    task: str
    at_s: float


class Journal:
    """The submissions of a run, in a file of its folder."""

    def __init__(self, run: Path):
        self._path = run / _NAME

    def add(self, submitted: Submitted) -> None:
        """Add a line; it is on the disk when this returns."""
        append_line(self._path, encode_json(submitted))

    def of_units(self) -> Mapping[str, list[Submitted]]:
        """The submissions of each unit, oldest first. Damaged lines are passed over."""
        found: dict[str, list[Submitted]] = defaultdict(list)
        for _, line in numbered_lines(self._path) if self._path.exists() else ():
            try:
                submitted = decode_json(Submitted, line)
            except ValueError:
                continue
            found[submitted.unit].append(submitted)
        return found
