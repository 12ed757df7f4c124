"""Facts about a worker's process as a whole: from itself, and from its engine outside.

A record has all of these as separate fields. A new one is stated here and set where it is measured: the worker's in
``measure/worker.py``, the engine's in ``engine/measured_worker.py``; nothing between them handles it by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

STARTUP = ("spawn", "interpreter", "import")
"""The phases before a framework is there: once a process, whatever it measures."""

REPLACED, COMPILED = "replaced_libraries", "compiled_in_worker"
"""Keys among the versions, absent if there are no such packages: names of packages whose library is another one than
the version says, and of packages that the worker compiled because their cache did not fit.
"""


@dataclass(frozen=True, kw_only=True)
class WorkerInfo:
    """A worker's report on its process at its end: largest resident memory, threads and processors, versions of loaded
    packages, compiler cache hits, and on a GPU the most memory that the framework held in arrays.
    """

    peak_rss_bytes: int
    threads: dict[str, str]
    versions: dict[str, str]
    compile_cache_hits: int | None = None
    peak_array_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class HostObservations:
    """The engine's observations of a worker.

    ``wall_s`` is how long the process lived, ``waited_s`` how much of that it waited while others of its group had
    their turn. ``compile_cache_files`` are counted ``before`` and ``after``. ``conditions`` are those ``before`` and
    ``after`` the worker and ``during`` it. ``peak_device_bytes`` is what the driver says that the worker held on a GPU.
    """

    started_at: str
    wall_s: float
    waited_s: float = 0.0
    compile_cache_files: dict[str, int] = field(default_factory=dict)
    conditions: dict[str, Any] = field(default_factory=dict)
    peak_device_bytes: int | None = None


@dataclass(frozen=True)
class ProcessInfo:
    """Worker and host facts of one record, without nested tables in summaries of large runs."""

    worker: WorkerInfo
    host: HostObservations

    @classmethod
    def lean(cls, record: Any) -> ProcessInfo:
        """Return the facts of a measurement, without its tables."""
        worker = WorkerInfo(**{item.name: getattr(record, item.name) for item in fields(WorkerInfo)})
        host = HostObservations(**{item.name: getattr(record, item.name) for item in fields(HostObservations)})
        return cls(replace(worker, threads={}, versions={}), replace(host, compile_cache_files={}, conditions={}))
