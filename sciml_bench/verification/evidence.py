"""The evidence: the lines of a run's file as read, and its plan and environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from sciml_bench.adapters.base import INFERENCE
from sciml_bench.host.environments import pins
from sciml_bench.planning.blocks import Slot, blocks
from sciml_bench.planning.cells import Planned
from sciml_bench.planning.plan import plan_hash
from sciml_bench.planning.written_plan import WrittenCell, WrittenPlan, as_plan
from sciml_bench.record.codec import parse
from sciml_bench.record.decode_error import UnknownMember
from sciml_bench.record.jsonl import numbered_lines, unsealed
from sciml_bench.record.record import Record, fields_of
from sciml_bench.record.task import AT, CALLS, SOLVE, Cell


@dataclass(frozen=True)
class Line:
    """One line of ``records.jsonl``. ``number`` counts from 1.

    ``record`` is ``None`` if the line cannot be read as one; ``refused`` then holds the id of the broken rule, and the
    finding. ``checksum`` says whether the line is as it was written; ``None`` without one.
    """

    number: int
    data: Mapping[str, Any]
    record: Record | None
    refused: tuple[str, str] | None = None
    checksum: bool | None = None

    @property
    def label(self) -> str:
        """The label of the line's cell, or its number if it has none."""
        cell = self.data.get("cell")
        try:
            return self.record.cell.label if self.record else Cell(**cell).label if cell else f"line {self.number}"
        except (TypeError, ValueError):
            return f"line {self.number}"


@dataclass(frozen=True)
class Intent:
    """The promises of a run's plan with the hash of its content, the environments of its machines by hash, and its lock
    files by name.
    """

    plan: WrittenPlan
    environments: Mapping[str, Mapping[str, Any]]
    locks: Mapping[str, bytes]
    hash: str

    @classmethod
    def of(
        cls, content: Mapping[str, Any], environments: Mapping[str, Mapping[str, Any]], locks: Mapping[str, bytes]
    ) -> Intent:
        """The intent of the content of a plan's file.

        Raises:
            StoreError: it is not a plan.
        """
        return cls(as_plan(content), environments, locks, plan_hash(content))

    def packages(self, record: Record) -> Mapping[str, str]:
        """The installed packages of a record's cell: of its named environment, if that has a lock, or of the run's."""
        adapter = record.cell.adapter
        lock = self.locks.get(f"environments/{adapter.partition(AT)[2]}.txt")
        if lock is None or f"{adapter}/Manifest.toml" in self.locks:
            installed = self.environments.get(record.environment_hash, {}).get("packages", {})
            return {canonicalize_name(name): version for name, version in installed.items()}
        return pins(lock.decode(errors="replace"))

    @cached_property
    def cells(self) -> dict[str, WrittenCell]:
        """The planned cells by their identity."""
        return {item.cell_id: item for item in self.plan.cells}

    def tolerances(self, label: str) -> tuple[tuple[float, float], ...]:
        """The relative and absolute tolerances of a cell: the profile's ladder, or a claim's."""
        purpose = self.plan.claimed or self.plan.advised
        own = None if purpose is None else purpose.points.get(label)
        return own if own is not None else tuple((rtol, rtol) for rtol in self.plan.profile.rtols)

    def calls(self, record: Record) -> tuple[str, ...]:
        """The calls that the plan requests for the cell of a record; earlier plans only give the sensitivity."""
        planned = self.cells.get(record.cell_id)
        if planned is not None and planned.calls is not None:
            return planned.calls
        return (SOLVE,) if record.cell.sensitivity == INFERENCE else CALLS

    @cached_property
    def spec_hashes(self) -> dict[str, str]:
        """The hash of each problem's specification."""
        return {problem.name: problem.spec_hash for problem in self.plan.problems}

    @cached_property
    def places(self) -> dict[tuple[str, int], tuple[int, Slot]]:
        """The place of each cell and block in the seeded order: its place in the whole run, and its slot."""
        cells = self.plan.cells
        planned = [Planned(item.cell, item.division, item.group) for item in cells]
        order = blocks(planned, self.plan.profile.processes, self.plan.settings.seed)
        return {(cells[slot.index].cell_id, slot.block): (place, slot) for place, slot in enumerate(order)}


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of a file, one at a time; a line that is not a record is marked, and the rest is read."""
    for number, text in numbered_lines(path):
        yield _line(number, text)


def _line(number: int, text: bytes) -> Line:
    try:
        data = parse(text)
    except ValueError as error:
        cut = "" if text.endswith(b"\n") else " (the line is cut off)"
        return Line(number, {}, None, ("lines", f"{error}{cut}"))
    if not isinstance(data, dict):
        return Line(number, {}, None, ("lines", "not a JSON object"))
    checksum = unsealed(data, text)
    try:
        fields_of(data)
    except ValueError as error:
        return Line(number, data, None, ("schema", str(error)))
    try:
        return Line(number, data, Record.from_dict(data), checksum=checksum)
    except UnknownMember as error:
        return Line(number, data, None, ("outcome", str(error)))
    except ValueError as error:
        return Line(number, data, None, ("lines", str(error)))
