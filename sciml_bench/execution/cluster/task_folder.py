"""The folder of one task: one attempt of a machine at a unit, with its shard, its end and its log.

A task that lives signs its folder as the owner of a run does. Its scheduler may say otherwise: the folder counts.
"""

from __future__ import annotations

import dataclasses
import platform
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from sciml_bench.errors import StoreError
from sciml_bench.execution.owner import has_owner, silent_s
from sciml_bench.execution.shard import Shard
from sciml_bench.record.codec import decode_json, encode_json
from sciml_bench.record.jsonl import is_special, store_error, write_whole

TASKS = "tasks"
"""The folder of a run with its tasks."""

T = TypeVar("T")

_NAME = re.compile(r"(?P<unit>.+)\.(?P<number>[0-9]{1,6})")
_NO_NAME = re.compile(r"[^\w.-]|^-", re.ASCII)
_MACHINE, _END, _LOG, _SHARD, _STOP = "machine.json", "end.json", "log.txt", "shard", "stop"
_BEGUN, _REJECTED = "begun", "rejected.txt"


class Ending(StrEnum):
    """The end of a task, by its own word."""

    MEASURED = "measured"
    INTERRUPTED = "interrupted"
    TIMED_OUT = "timed_out"
    REFUSED = "refused"
    GAVE_WAY = "gave_way"
    FAILED = "failed"


@dataclass(frozen=True)
class End:
    """The end of a task after ``took_s`` seconds, and in a sentence why it is not ``MEASURED``."""

    ending: Ending
    message: str = ""
    took_s: float = 0.0


@dataclass(frozen=True)
class Machine:
    """The node of a task, and the scheduler's name of the task."""

    node: str
    job: str = ""


class TaskFolder:
    """A folder ``UNIT.NUMBER`` of a task."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.log_path = folder / _LOG
        self.shard_path = folder / _SHARD

    @classmethod
    def begin(cls, tasks: Path, unit_id: str) -> TaskFolder:
        """A new one, with a number that no other task has. :class:`StoreError` if it cannot be made."""
        if not tasks.parent.is_dir():
            raise StoreError(f"{platform.node()} does not see {tasks.parent}: give a folder that all nodes see.")
        number = 0
        while True:
            number += 1
            folder = tasks / f"{unit_id}.{number}"
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                continue
            except OSError as error:
                raise store_error("create", folder, error) from error
            write_whole(folder / _BEGUN, "")
            return cls(folder)

    @property
    def number(self) -> int:
        """The place of the task among the tasks of its unit, from 1."""
        return int(self.folder.name.rpartition(".")[2])

    @property
    def is_measured(self) -> bool:
        """Return whether its shard is whole, and was not rejected."""
        return Shard.is_whole_at(self.shard_path) and not (self.folder / _REJECTED).exists()

    @property
    def is_alive(self) -> bool:
        """Return whether a process works in it, by its signs."""
        return has_owner(self.folder)

    @property
    def has_it(self) -> bool:
        """Return whether nobody else need measure its unit: it is measured, or lives."""
        return self.is_measured or self.is_alive

    @cached_property
    def end(self) -> End | None:
        """Its end by its own word; ``None`` if it left none."""
        return _read(End, self.folder / _END)

    @property
    def machine(self) -> Machine | None:
        """Its machine; ``None`` if it ended earlier than that is known."""
        machine = _read(Machine, self.folder / _MACHINE)
        # Names of nodes become options of the scheduler.
        return None if machine is None else dataclasses.replace(machine, node=node_name(machine.node))

    @property
    def node(self) -> str:
        """Its node, for a sentence."""
        machine = self.machine
        return machine.node if machine else "an unknown node"

    @property
    def age_s(self) -> float:
        """Seconds since it began, by the clock of the file system, which machines may not share."""
        return silent_s(self.folder / _BEGUN)

    def place(self, machine: Machine) -> None:
        """Keep its machine."""
        write_whole(self.folder / _MACHINE, encode_json(machine) + "\n")

    def finish(self, end: End) -> None:
        """Keep its end."""
        write_whole(self.folder / _END, encode_json(end) + "\n")

    def reject(self, reason: str) -> None:
        """Keep why its shard does not belong to the run."""
        write_whole(self.folder / _REJECTED, reason + "\n")

    def log(self, most_bytes: int) -> str:
        """The end of its log, at most ``most_bytes``; empty without one."""
        if is_special(self.log_path):
            return ""
        try:
            with self.log_path.open("rb") as file:
                file.seek(max(0, self.log_path.stat().st_size - most_bytes))
                return file.read(most_bytes).decode(errors="replace")
        except OSError:
            return ""

    def request_stop(self) -> None:
        """Ask the task to end, if its scheduler cannot end it."""
        write_whole(self.folder / _STOP, "")

    @property
    def is_to_stop(self) -> bool:
        """Return whether it was asked to end."""
        return (self.folder / _STOP).exists()


def node_name(text: str) -> str:
    """The name of a node, as it may be an option of a scheduler."""
    return _NO_NAME.sub("_", text)


def tasks_of(tasks: Path) -> Mapping[str, list[TaskFolder]]:
    """The tasks of each unit, in the order of their numbers."""
    found: dict[str, list[TaskFolder]] = defaultdict(list)
    try:
        names = [path.name for path in tasks.iterdir()] if tasks.exists() else []
    except OSError as error:
        raise store_error("read", tasks, error) from error
    for name in names:
        if match := _NAME.fullmatch(name):
            found[match["unit"]].append(TaskFolder(tasks / name))
    for folders in found.values():
        folders.sort(key=lambda each: each.number)
    return found


def _read(kind: type[T], path: Path) -> T | None:
    """A small file that another machine wrote; half of one, or one that cannot be read, is none."""
    try:
        return None if is_special(path) else decode_json(kind, path.read_bytes())
    except (OSError, ValueError, StoreError):
        return None
