"""The two halves of a tolerance point while they are measured."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from sciml_bench.measure.loop_checks import Scored
from sciml_bench.measure.sampling import Loop
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.point import GradientResult, PointResult, SolveResult
from sciml_bench.record.task import Point

H = TypeVar("H", SolveResult, GradientResult)


@dataclass
class CallLog(Generic[H]):
    """The solves, or the gradients, of one point while it is measured.

    ``found`` is the result until now, without the loops, which still grow. ``scored`` are input and output of the
    scored call. The first failure is the one that counts. ``unchecked`` is set while no reference has judged the
    gradient.
    """

    found: H
    scored: Scored | None = None
    outcome: Outcome | None = None
    phase: str | None = None
    message: str = ""
    warm_up: Loop = field(default_factory=Loop)
    steady: Loop = field(default_factory=Loop.checked)
    memory_growth_bytes: int = 0
    unchecked: bool = False

    def keep(self, **measured: Any) -> None:
        """Keep fields of the result."""
        self.found = dataclasses.replace(self.found, **measured)

    def fail(self, outcome: Outcome, phase: str | None, message: str) -> None:
        """Keep a failure, unless there is one."""
        if self.outcome is None:
            self.outcome, self.phase, self.message = outcome, phase, message

    def result(self) -> H:
        """The half as it stands; one that is under way has no outcome yet."""
        return dataclasses.replace(
            self.found,
            outcome=self.outcome,
            warm_up_ns=self.warm_up.ns,
            ns=self.steady.ns,
            inside=self.steady.inside,
            prepare_ns=self.steady.median_prepare_ns,
        )


@dataclass
class PointLog:
    """One point while it is measured."""

    point: Point
    solve: CallLog[SolveResult] = field(default_factory=lambda: CallLog(SolveResult()))
    gradient: CallLog[GradientResult] = field(default_factory=lambda: CallLog(GradientResult()))

    def result(self) -> PointResult:
        """The point as it stands."""
        halves = (self.solve, self.gradient)
        failed = next((half for half in halves if half.outcome not in (None, Outcome.OK)), None)
        measured = [half for half in halves if half.steady.samples]
        return PointResult(
            rtol=self.point.rtol,
            atol=self.point.atol,
            outcome=Outcome.OK if failed is None or failed.outcome is None else failed.outcome,
            phase=None if failed is None else failed.phase,
            message="" if failed is None else failed.message,
            batch=self.point.batch,
            solve=self.solve.result(),
            gradient=self.gradient.result(),
            memory_growth_bytes=sum(half.memory_growth_bytes for half in measured) if measured else None,
            truncated=any(loop.truncated for half in measured for loop in (half.warm_up, half.steady)),
        )
