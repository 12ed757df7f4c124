"""The content of a report from each record: one number per process and point, and one loop of each cell.

Records are read as a stream, in any order; memory grows with cells × processes × points only.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from sciml_bench.adapters.base import DEFAULT, Method
from sciml_bench.adapters.declared import Declared
from sciml_bench.analysis.process_summary import PointSummary, ProcessSummary, reduce_record
from sciml_bench.planning.written_plan import WrittenCell, WrittenPlan
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.record import Record
from sciml_bench.record.supersession import supersedes
from sciml_bench.record.task import Cell
from sciml_bench.stats.spread import Spread, spread


@dataclass
class CellSummary:
    """Every process of one planned cell; ``method`` is what its adapter declared of it, ``None`` where unknown."""

    cell: Cell
    division: str
    group: str
    processes: list[ProcessSummary] = field(default_factory=list[ProcessSummary])
    cell_id: str = ""
    role: str = ""
    method: Method | None = None

    @property
    def is_default(self) -> bool:
        """Return whether it is its library's default, and not the library's best way."""
        return self.role == DEFAULT

    def keep(self, process: ProcessSummary) -> None:
        """Add a process; one that was measured again takes the place of its earlier record, by the fixed rule."""
        known = next((item for item in self.processes if item.block == process.block), None)
        if known is not None and not supersedes(process.attempt, known.attempt):
            return
        self.processes = [item for item in self.processes if item is not known] + [process]
        self._keep_one("loop")
        self._keep_one("curve")

    def _keep_one(self, name: str) -> None:
        """Loops and curves are raw samples: a report keeps only the loop of the lowest block that has one."""
        having = [process for process in self.processes if getattr(process, name) is not None]
        if len(having) > 1:
            kept = min(having, key=lambda process: process.block)
            self.processes = [
                process
                if process is kept or getattr(process, name) is None
                else dataclasses.replace(process, **{name: None})
                for process in self.processes
            ]

    def place(self, process: ProcessSummary) -> str:
        """The place of a process's record: ``cell_id/block/attempt``."""
        return f"{self.cell_id}/{process.block}/{process.attempt}"

    @property
    def measured(self) -> bool:
        """Return whether at least one process measured at least one point."""
        return any(process.outcome is Outcome.OK for process in self.processes)

    @property
    def failing(self) -> tuple[ProcessSummary, ...]:
        """The processes without a point that is ok, although other work did not keep them from it."""
        return tuple(process for process in self.processes if process.outcome is not Outcome.OK and not process.starved)

    @property
    def timed(self) -> bool:
        """Return whether there is a time to show: solves may be good where every gradient failed."""
        return any(point.solve.seconds is not None or point.gradient.seconds is not None for point in self.points)

    @property
    def outcome(self) -> Outcome | None:
        """``ok`` if measured, otherwise the outcome of most of its processes; ``None`` if none has run."""
        if not self.processes:
            return None
        if self.measured:
            return Outcome.OK
        return Counter(process.outcome for process in self.processes).most_common(1)[0][0]

    @property
    def point_outcomes(self) -> Counter[Outcome]:
        """Return how the points of all processes ended."""
        return Counter(point.outcome for point in self.points)

    @property
    def first_gradient_process(self) -> Spread | None:
        """Seconds from process start to the first gradient."""
        return spread(process.first_gradient_process_s for process in self.processes)

    @property
    def first_gradient_built(self) -> Spread | None:
        """Seconds from the built program to the first gradient."""
        return spread(process.first_gradient_built_s for process in self.processes)

    @property
    def peak_rss_bytes(self) -> int | None:
        """The largest peak of resident memory of its processes."""
        known = [process.peak_rss_bytes for process in self.processes if process.peak_rss_bytes is not None]
        return max(known, default=None)

    @property
    def points(self) -> list[PointSummary]:
        """The points of all processes."""
        return [point for process in self.processes for point in process.points]


@dataclass
class RunSummary:
    """A run, reduced to what its report shows. ``cells`` are in the plan's order."""

    plan: WrittenPlan
    cells: dict[str, CellSummary]

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems with planned cells, in the plan's order."""
        return tuple(dict.fromkeys(item.cell.problem for item in self.cells.values()))

    @property
    def declared(self) -> Mapping[str, Declared]:
        """The declarations of the run's adapters."""
        return self.plan.declared

    def of_problem(self, name: str) -> list[CellSummary]:
        """The cells of one problem."""
        return [item for item in self.cells.values() if item.cell.problem == name]


NO_SUMMARY = (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError)
"""The errors of reducing a record whose values make no sense."""


def summarise(
    plan: WrittenPlan, records: Iterable[Record], on_damage: Callable[[str], object] = lambda _reason: None
) -> RunSummary:
    """Reduce the records of a run. Records of cells that the plan does not know are left out.

    Also left out is a record whose values make no sense: ``on_damage`` gets its identity with the reason.
    """
    cells = {item.cell_id: _planned(item, plan.declared) for item in plan.cells}
    for record in records:
        if record.cell_id in cells:
            try:
                reduced = reduce_record(record)
            except NO_SUMMARY as error:
                on_damage(f"record {record.record_id}: {error}")
                continue
            cells[record.cell_id].keep(reduced)
    return RunSummary(plan, cells)


def _planned(item: WrittenCell, declared: Mapping[str, Declared]) -> CellSummary:
    """A cell of a plan without measurements."""
    adapter = declared.get(item.cell.adapter)
    return CellSummary(
        item.cell,
        item.division,
        item.group,
        cell_id=item.cell_id,
        role=item.role,
        method=None if adapter is None else adapter.methods.get(item.cell.method),
    )
