"""Which cells of a sweep stand in one table: those that may be set against each other at every size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sciml_bench.report.summary import CellSummary, RunSummary
from sciml_bench.task import Cell

_USUAL = {"precision": "float64", "device": "cpu"}


@dataclass(frozen=True)
class Solver:
    """A cell without its problem, and what was measured of it by problem."""

    cell: Cell
    cells: Mapping[str, CellSummary]

    @property
    def words(self) -> list[str]:
        """Adapter, method, sensitivity and mode; precision and device where they are unusual."""
        unusual = [value for axis, usual in _USUAL.items() if (value := getattr(self.cell, axis)) != usual]
        return [self.cell.adapter, self.cell.method, self.cell.sensitivity, " ".join([self.cell.mode, *unusual])]

    @property
    def name(self) -> str:
        """All of it in one line."""
        return " ".join(self.words)

    def one_method(self, other: Solver) -> bool:
        """Whether only the sensitivity differs."""
        return _method(self.cell) == _method(other.cell)


@dataclass(frozen=True)
class Contest:
    """Solvers of one table, and what unites them."""

    name: str
    solvers: tuple[Solver, ...]


def contests(summary: RunSummary, problems: Mapping[float, str]) -> tuple[Contest, ...]:
    """Every table of a sweep; one whose solvers all stand in a larger one is left out."""
    solvers = list(_solvers(summary, set(problems.values())))
    found = [contest for contest in _all(solvers) if contest.solvers]
    names = [{solver.name for solver in contest.solvers} for contest in found]
    return tuple(
        contest
        for place, (contest, own) in enumerate(zip(found, names, strict=True))
        if not any(own < other or (own == other and at < place) for at, other in enumerate(names))
    )


def _solvers(summary: RunSummary, problems: set[str]) -> Iterator[Solver]:
    of: dict[tuple[str, ...], dict[str, CellSummary]] = {}
    for cell in summary.cells.values():
        which = cell.cell
        if which.problem in problems:
            of.setdefault((*_method(which), which.sensitivity), {})[which.problem] = cell
    for cells in of.values():
        yield Solver(next(iter(cells.values())).cell, cells)


def _all(solvers: list[Solver]) -> Iterator[Contest]:
    def having(test: Iterable[bool]) -> tuple[Solver, ...]:
        return tuple(solver for solver, is_in in zip(solvers, test, strict=True) if is_in)

    yield Contest("each library's recommended way", having(_in_division(solver, "idiomatic") for solver in solvers))
    groups = sorted({cell.group for solver in solvers for cell in solver.cells.values() if cell.group})
    for group in groups:
        yield Contest(
            f"matched: {group}",
            having(any(cell.group == group for cell in solver.cells.values()) for solver in solvers),
        )
    for method in dict.fromkeys(_method(solver.cell) for solver in solvers):
        alike = having(_method(solver.cell) == method for solver in solvers)
        if len(alike) > 1:
            yield Contest(f"kinds of gradient of {' '.join(method[:3])}", alike)
    yield Contest("further combinations", having(_in_division(solver, "other") for solver in solvers))


def _in_division(solver: Solver, name: str) -> bool:
    return any(cell.division == name for cell in solver.cells.values())


def _method(cell: Cell) -> tuple[str, ...]:
    return (cell.adapter, cell.method, cell.mode, cell.precision, cell.device)
