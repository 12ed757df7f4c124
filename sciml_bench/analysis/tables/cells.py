"""The cells of a problem as a table: times at equal accuracy, errors, outcomes, memory, cost and verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sciml_bench.adapters.base import DEFAULT
from sciml_bench.analysis.advice.break_even import million_gradients_cost
from sciml_bench.analysis.analysis import Analysis, ProblemAnalysis, RankedTable
from sciml_bench.analysis.explanation.interpolation import interpolation_lines
from sciml_bench.analysis.rows import Row, Time
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables import formatting
from sciml_bench.analysis.tables.table import (
    CELL,
    Column,
    Entry,
    Table,
    Unit,
    bytes_entry,
    cell_entries,
    error_entry,
    number_entry,
    seconds_entry,
)
from sciml_bench.record.outcome import Outcome

COLUMNS = (
    *CELL,
    Column("1st gradient", True, "from the start of the process", unit=Unit.SECONDS),
    Column("from built", True, "first gradient, from the built program", unit=Unit.SECONDS),
    Column("solve", True, "per call, at equal accuracy", unit=Unit.SECONDS),
    Column("gradient", True, "per call, at equal accuracy", unit=Unit.SECONDS),
    Column("scd", True, "correct digits at the end time, of the best point"),
    Column("mescd", True, "digits of the mixed error over all saved times, of the best point"),
    Column(
        "gradient error", True, "of d loss / d log p, relative, of the best point; below it the worst component",
        unit=Unit.ERROR,
    ),
    Column("points", True, "tolerances × processes that are ok"),
    Column("memory", True, "largest peak of a process", unit=Unit.BYTES),
)  # fmt: skip

_COST = Column("cost of 10⁶ gradients", True, "the first gradient and 10⁶ − 1 more, at the price given")
_VERDICT = Column("verdict", meaning="against the fastest gradient")

# Names, first gradients, times, errors, and outcome with memory, above each other.
_FOLDS = (((0, 1), (2, 3)), ((4,), (5,)), ((6,), (7,)), ((8, 9), (10,)), ((11,), (12,)))


def cell_table(ranked: RankedTable) -> Table:
    """One table of a problem, the fastest gradient first."""
    rows = ranked.table.rows
    return Table(
        caption=ranked.table.heading,
        columns=COLUMNS,
        rows=tuple(_entries(ranked, row) for row in rows),
        names=len(CELL),
        notes=tuple(interpolation_lines(rows)),
        cell_ids=tuple(row.summary.cell_id for row in rows),
        folds=_FOLDS,
    )


def paper_tables(analysis: Analysis, price_per_hour: float | None = None) -> Iterator[tuple[str, Table]]:
    """The tables of cells for papers and issues, with their problems: verdicts, costs, and cells without a time."""
    for problem in analysis.problems:
        ranked = {table.table.name: table for table in problem.tables}
        untimed = problem.untimed
        for name in dict.fromkeys([*ranked, *untimed]):
            of_table = untimed.get(name, ())
            yield problem.name, _paper(problem, name, ranked.get(name), of_table, analysis.comparable, price_per_hour)


def _paper(
    problem: ProblemAnalysis,
    name: str,
    ranked: RankedTable | None,
    untimed: Sequence[CellSummary],
    comparable: bool,
    price: float | None,
) -> Table:
    rows = ranked.table.rows if ranked else ()
    costs = [None if price is None else million_gradients_cost(row, price) for row in rows]
    return Table(
        caption=name,
        columns=(*COLUMNS, *([] if price is None else [_COST]), _VERDICT),
        rows=(
            *(
                (*_entries(ranked, row), *([] if price is None else [number_entry(cost)]), _verdict(ranked, row))
                for row, cost in zip(rows, costs, strict=True)
                if ranked
            ),
            *(_untimed(cell, priced=price is not None) for cell in untimed),
        ),
        names=len(CELL),
        notes=(
            *(_targets(problem) if rows else ()),
            *(() if comparable else ("These times are not for comparison: one process per cell, or all disturbed.",)),
        ),
        cell_ids=(*(row.summary.cell_id for row in rows), *(cell.cell_id for cell in untimed)),
    )


def _targets(problem: ProblemAnalysis) -> Iterator[str]:
    """The points at which a problem's times are compared."""
    comparison = problem.comparison
    told = [
        f"{name} at {where}"
        for name, target in (("solve", comparison.solve_target), ("gradient", comparison.gradient_target))
        if (where := formatting.target(target.digits, target.rtol))
    ]
    if told:
        yield f"Times: {'; '.join(told)}; medians over the processes."


def _entries(ranked: RankedTable, row: Row) -> tuple[Entry, ...]:
    cell = row.summary
    ok, failed, total = _points(cell)
    return (
        *cell_entries(cell.cell, default=DEFAULT if cell.is_default else ""),
        _first(cell),
        seconds_entry(cell.first_gradient_built, (process.first_gradient_built_s for process in cell.processes)),
        _time(row.solve, ranked.is_best("solve", row)),
        _time(row.gradient, ranked.is_best("gradient", row)),
        Entry((">" if row.solve_capped else "") + formatting.digits(row.scd), value=row.scd),
        Entry((">" if row.solve_capped else "") + formatting.digits(row.mescd), value=row.mescd),
        error_entry(row.gradient_error, _worst_component(row), "<" if row.gradient_capped else ""),
        Entry(f"ok {ok}/{total}", failed, float(ok)),
        bytes_entry(cell.peak_rss_bytes),
    )


def _first(cell: CellSummary) -> Entry:
    return seconds_entry(cell.first_gradient_process, (process.first_gradient_process_s for process in cell.processes))


def _untimed(cell: CellSummary, *, priced: bool) -> tuple[Entry, ...]:
    """A measured cell without a time: its outcome replaces its verdict."""
    outcome = cell.outcome.value if cell.outcome else ""
    ended = ", ".join(f"{name.value} {count}" for name, count in cell.point_outcomes.most_common()) or outcome
    names, empty = cell_entries(cell.cell), Entry(formatting.NOTHING)
    between = [empty] * (len(COLUMNS) - len(names) - 2)
    return (
        *names,
        _first(cell),
        *between,
        bytes_entry(cell.peak_rss_bytes),
        *([empty] if priced else []),
        Entry(ended),
    )


def _verdict(ranked: RankedTable, row: Row) -> Entry:
    return Entry(ranked.verdict("gradient", row) or ranked.verdict("solve", row))


def _time(time: Time, best: bool) -> Entry:
    blocks = time.blocks.values()
    return seconds_entry(time.seconds, blocks, reason=time.reason, at_most=time.at_most, best=best)


def _worst_component(row: Row) -> str:
    """The component of the gradient with the largest relative error, and that error; empty if there is none."""
    if row.worst_component is None or row.worst_component_error is None:
        return ""
    return f"{row.worst_component} {formatting.error(row.worst_component_error)}"


def _points(cell: CellSummary) -> tuple[int, str, int]:
    """Count the points that are ok, name the ends of the others, and count all.

    A process without points counts as many as others have.
    """
    outcomes = cell.point_outcomes
    each = max((len(process.points) for process in cell.processes), default=0)
    for process in cell.processes:
        if not process.points:
            outcomes[process.outcome] += each
    total, ok = outcomes.total(), outcomes.pop(Outcome.OK, 0)
    return ok, ", ".join(f"{outcome} {count}" for outcome, count in outcomes.most_common()), total
