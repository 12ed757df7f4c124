"""The memory that this process may use, by its control groups: of a batch job, a container or a service."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def memory_limit(root: Path = Path("/")) -> int | None:
    """The smallest limit in bytes of this process's control groups and those above them; ``None`` without any."""
    return min(_limits(root), default=None)


def _limits(root: Path) -> Iterator[int]:
    lines: list[str] = []
    with suppress(OSError):
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8", errors="replace").splitlines()
    for line in lines:
        # The hierarchy of version 2 has no controllers here.
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and "memory" not in controllers.split(","):
            continue
        top = root / "sys/fs/cgroup" / ("memory" if controllers else "")
        name = "memory.limit_in_bytes" if controllers else "memory.max"
        parts = [part for part in path.split("/") if part]
        for depth in range(len(parts) + 1):
            with suppress(OSError, ValueError):
                # "max" is not a number.
                yield int(top.joinpath(*parts[:depth], name).read_text(encoding="ascii"))
