"""Reports of Julia's own clock and project, for programs of solvers and of models. Imports nothing of Julia."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sciml_bench.adapters.julia.manifest import fingerprint
from sciml_bench.adapters.program import Inside

LOOKUP_NS = 500_000
"""Julia's clock of compiling also runs while it looks up code that it has, as for each function pointer on a compiled
tape of ReverseDiff: some microseconds, and up to 60 in one call of some ten thousand, where the look-up is
interrupted. To compile a function takes milliseconds; 30 to 120 microseconds if it turns out to be constant,
without code.
"""


class Calls:
    """Counts compilations in calls whose outputs have been read: nanoseconds by kind, and how many calls."""

    def __init__(self) -> None:
        self.compiling = 0
        self._compile_ns = {"solve": 0, "gradient": 0}

    def note(self, kind: str, output: Any) -> None:
        """Add one call of a kind."""
        self._compile_ns[kind] += output.compile_ns
        self.compiling += output.compile_ns > LOOKUP_NS

    def phases_ns(self) -> dict[str, int]:
        return {f"{kind}_compile": ns for kind, ns in self._compile_ns.items()}


def inside(output: Any) -> Inside:
    """A call as Julia timed it."""
    return Inside(output.ns, output.gc_ns, output.compile_ns, output.allocated_bytes)


def project_fingerprint() -> str:
    """Fingerprint of the project that this process started with."""
    return fingerprint(Path(os.environ["PYTHON_JULIACALL_PROJECT"]))
