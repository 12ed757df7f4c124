"""A program of a library that solves equations compiled by Numba and takes no gradients."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from importlib.metadata import version
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import cfunc, njit

from sciml_bench.adapters.emitted_source import load_source
from sciml_bench.adapters.numba import CompileTimes
from sciml_bench.adapters.program import FloatArray, Gradient, Program, Solution, Vector
from sciml_bench.adapters.segments import split
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Point, Task


class Inputs(NamedTuple):
    """The inputs of one call: the initial state, and for each segment what a C function is given."""

    y0: Vector
    data: tuple[Vector, ...]
    rtol: float
    atol: Any


class SolvesOnly(Program):
    """The common part of such programs; ``compiled`` counts the compilations of the equations and of ``solvers``."""

    library: str
    package: str

    def __init__(self, task: Task, *solvers: Any):
        self._numbers = task.numbers
        self._source = load_source(task)
        self._segments = split(task.numbers)
        self._scale = np.asarray(task.numbers.atol_scale)
        self.compiled = CompileTimes([*vars(self._source).values(), *solvers])

    @cached_property
    def derivative(self) -> Any:
        """``derivative(t, y, dy, p)``; if it jumps, ``p`` ends with the times between which it is smooth."""
        derivative, n = self._source.derivative, len(self._numbers.p)
        if not any(segment.clipped for segment in self._segments):
            return derivative

        @njit
        def within(t: float, y: Any, dy: Any, p: Any) -> None:
            derivative(min(max(t, p[n]), p[n + 1]), y, dy, p)

        return within

    def address(self, signature: Any, function: Any) -> int:
        """The address of a function, compiled as a C function of this signature."""
        # Kept alive with the program.
        self._function: Any = cfunc(signature)(function)
        return self._function.address

    def split_theta(self, theta: FloatArray) -> tuple[Vector, Vector]:
        """The initial state and the parameters."""
        numbers, values = self._numbers, np.array(theta, dtype=np.float64)
        y0, p = (np.asarray(given, dtype=np.float64) for given in (numbers.y0, numbers.p))
        return (y0, values) if numbers.wrt == "parameters" else (values, p)

    def prepare(self, theta: FloatArray, point: Point) -> Any:
        y0, p = self.split_theta(theta)
        # Never empty: libraries take its address.
        data = tuple(np.array([*p, segment.low, segment.high]) for segment in self._segments)
        return Inputs(y0, data, point.rtol, point.atol * self._scale)

    def solution(self, ys: Vector, statistics: Mapping[str, float], most: float = np.inf) -> Solution:
        """A solve that its library calls a success; :class:`SolverFailure` if a state reaches ``most`` or is NaN."""
        largest = float(np.max(np.abs(ys)))
        if not largest < most:
            raise SolverFailure(Outcome.NONFINITE, f"{self.library} reports success with a state of {largest:g}")
        return Solution(ys, dict(statistics))

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

    def versions(self) -> dict[str, str]:
        return {self.package: version(self.package), "numba": numba.__version__, "numpy": np.__version__}
