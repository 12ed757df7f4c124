"""One side of a comparison: a run, reduced, with the samples that the bootstrap draws from."""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sciml_bench.analysis.summary import CellSummary, RunSummary, summarise
from sciml_bench.planning.written_plan import WrittenPlan, written_plan
from sciml_bench.record.jsonl import DamagedLine
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Record
from sciml_bench.record.run_folder import Run
from sciml_bench.record.scoring_rules import BY_COMPONENT
from sciml_bench.record.supersession import supersedes


@dataclass(frozen=True)
class Samples:
    """The calls of one point that count, in nanoseconds; empty if its half failed."""

    rtol: float
    solve_ns: array[int]
    gradient_ns: array[int]


@dataclass(frozen=True)
class Side:
    """A run to compare. ``samples`` are by cell label and block; ``scoring_rules`` are the rules of its records; rules
    that score gradients equally count as one.
    """

    name: str
    plan: WrittenPlan
    environment: Mapping[str, Any]
    summary: RunSummary
    samples: Mapping[tuple[str, int], tuple[Samples, ...]] = field(
        default_factory=dict[tuple[str, int], tuple[Samples, ...]]
    )
    scoring_rules: frozenset[int] = frozenset()
    record_ids: frozenset[str] = frozenset()

    @property
    def cells(self) -> dict[str, CellSummary]:
        """The planned cells by label, in the plan's order."""
        return {cell.cell.label: cell for cell in self.summary.cells.values()}

    @property
    def spec_hashes(self) -> dict[str, str]:
        """The hash of each problem's specification."""
        return {problem.name: problem.spec_hash for problem in self.plan.problems}

    def chosen(self, matches: Callable[[str], bool]) -> Side:
        """Return a run reduced to the cells whose label matches."""
        kept = {key: cell for key, cell in self.summary.cells.items() if matches(cell.cell.label)}
        problems = {cell.cell.problem for cell in kept.values()}
        left = tuple(problem for problem in self.plan.problems if problem.name in problems)
        plan = dataclasses.replace(self.plan, problems=left)
        return dataclasses.replace(self, plan=plan, summary=RunSummary(plan, kept))


def read_side(run: Run, on_damage: Callable[[DamagedLine], None]) -> Side:
    """Read a run once, and keep of each record what a comparison needs.

    Raises:
        StoreError: its plan or its environment cannot be read, or the plan is incomplete.
    """
    plan = written_plan(run)
    kept: dict[tuple[str, int], tuple[int, tuple[Samples, ...]]] = {}
    rules: set[int] = set()
    record_ids: set[str] = set()

    def passing() -> Iterator[Record]:
        for record in run.records(on_damage):
            rules.add(min(record.scoring_rules, BY_COMPONENT))
            record_ids.add(record.record_id)
            key = (record.cell.label, record.block)
            if key not in kept or supersedes(record.attempt, kept[key][0]):
                kept[key] = record.attempt, _samples(record)
            yield record

    summary = summarise(plan, passing())
    samples = {key: points for key, (_, points) in kept.items()}
    return Side(run.folder.name, plan, run.environment, summary, samples, frozenset(rules), frozenset(record_ids))


def _samples(record: Record) -> tuple[Samples, ...]:
    return tuple(
        Samples(
            point.rtol,
            array("q", point.solve.counted_ns if point.solve.outcome is Outcome.OK else ()),
            array("q", point.gradient.counted_ns if point.gradient.outcome is Outcome.OK else ()),
        )
        for point in record.points
    )
