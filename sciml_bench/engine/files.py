"""The engine of files: units are written, and carried out later, by hand or by a batch system, wherever that is.

``sciml-bench worker`` carries one out and leaves a shard, ``sciml-bench merge`` joins shards to their run.
"""

from __future__ import annotations

import sys
from collections import deque
from pathlib import Path

from sciml_bench.engine.interface import Engine, EventCallback, HandedOver
from sciml_bench.engine.unit import Unit
from sciml_bench.errors import StoreError
from sciml_bench.record.jsonl import store_error

UNITS = "units"
"""The folder of a run with the units that were handed over."""


class FilesEngine(Engine):
    """Writes units into a folder. ``StoreError`` when that fails.

    A unit that was written before stays as it was: a machine may be carrying it out.
    """

    name = "files"
    room = sys.maxsize
    finishes_groups = False

    def __init__(self, folder: Path):
        self.folder = folder
        self._waiting: deque[Unit] = deque()

    def submit(self, unit: Unit) -> None:
        self._waiting.append(unit)

    def wait(self, on: EventCallback) -> None:
        while self._waiting:
            unit = self._waiting.popleft()
            on(HandedOver(unit, write_unit(unit, self.folder)))

    def cancel(self) -> None:
        self._waiting.clear()


def write_unit(unit: Unit, folder: Path) -> Path:
    """Write a unit into a folder and return its file, which stays as it was if it was written before.

    :class:`StoreError` when that fails.
    """
    path = folder / f"{unit.id}.json"
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise store_error("create", folder, error) from error
    if not _is_written(unit, path):
        unit.write(path)
    return path


def _is_written(unit: Unit, path: Path) -> bool:
    """Return whether a file is a unit of the same plan, block and problem, maybe of more jobs than are left now."""
    if not path.is_file():
        return False
    try:
        written = Unit.read(path)
    except StoreError:
        return False
    return (written.plan_hash, written.id) == (unit.plan_hash, unit.id)
