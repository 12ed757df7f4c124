"""Grouping of a sweep's cells: a table holds cells that may be compared with each other at every size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sciml_bench.analysis.summary import CellSummary, RunSummary
from sciml_bench.record.task import Cell


@dataclass(frozen=True)
class Solver:
    """A cell without its problem, and its measurements by problem."""

    cell: Cell
    cells: Mapping[str, CellSummary]

    @property
    def name(self) -> str:
        """Return how it is called in a sentence."""
        return self.cell.solver

    def one_method(self, other: Solver) -> bool:
        """Return whether only the sensitivity differs."""
        return _method(self.cell) == _method(other.cell)


@dataclass(frozen=True)
class Contest:
    """Solvers of one table, and what unites them."""

    name: str
    solvers: tuple[Solver, ...]


def contests(summary: RunSummary, problems: Mapping[float, str]) -> tuple[Contest, ...]:
    """Every table of a sweep, except tables whose solvers are all in a larger one."""
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
    return (cell.adapter, cell.method, cell.mode, cell.precision, cell.device, cell.saving)
