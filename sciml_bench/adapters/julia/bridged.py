"""What every program in Julia tells of its calls, whatever it computes."""

from __future__ import annotations

from typing import Any

# Before NumPy and all other frameworks: a library loaded earlier may bring another version of what Julia needs.
import juliacall

from sciml_bench.adapters.base import Inside, Program
from sciml_bench.adapters.julia.calls import Calls, inside, project_fingerprint


class Bridged(Program):
    """A program whose calls cross the bridge. A subclass sets ``bench``, its module of Julia, which has ``versions``,
    and ``calls``, in which it notes each output that it reads."""

    bench: Any
    calls: Calls

    def synchronise(self, output: Any) -> None:
        """Nothing to wait for: Julia computes before it returns."""

    def inside(self, output: Any) -> Inside:
        return inside(output)

    def trace_count(self) -> int:
        """How many calls have compiled something."""
        return self.calls.compiling

    def phases_ns(self) -> dict[str, int]:
        return self.calls.phases_ns()

    def versions(self) -> dict[str, str]:
        told = {str(name): str(version) for name, version in self.bench.versions().items()}
        return {"juliacall": juliacall.__version__, "julia_manifest": project_fingerprint(), **told}
