"""A program of a library that solves equations compiled by Numba and takes no gradients."""

from __future__ import annotations

from typing import Any

from sciml_bench.adapters.base import Gradient, Program
from sciml_bench.adapters.numba import CompileTimes
from sciml_bench.record.outcome import Outcome, SolverFailure


class SolvesOnly(Program):
    """The calls that all such programs answer in one way; ``compiled`` counts their compilations."""

    library: str
    compiled: CompileTimes

    def gradient(self, inputs: Any) -> Any:
        raise SolverFailure(Outcome.UNSUPPORTED, f"{self.library} takes no gradients")

    def read_gradient(self, output: Any) -> Gradient:
        raise SolverFailure(Outcome.UNSUPPORTED, f"{self.library} takes no gradients")

    def synchronise(self, output: Any) -> None:
        """Nothing to wait for: the solvers return when they are done."""

    def trace_count(self) -> int:
        return self.compiled.count

    def phases_ns(self) -> dict[str, int]:
        return {"compile": self.compiled.ns}
