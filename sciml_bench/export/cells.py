"""The summary: a row for each cell of each table, with latency, throughput, error, memory, energy and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from sciml_bench.analysis.advice.break_even import million_gradients_cost, price_of
from sciml_bench.analysis.analysis import Analysis, RankedTable
from sciml_bench.analysis.process_summary import PointSummary
from sciml_bench.analysis.ranking import PairwiseVerdict
from sciml_bench.analysis.rows import Comparison, Row, Target, Time
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.training import training_rows
from sciml_bench.export.column import Column, Kind, Value
from sciml_bench.export.column import Row as ExportRow

_TEXT, _INTEGER, _NUMBER, _TRUTH = Kind.TEXT, Kind.INTEGER, Kind.NUMBER, Kind.TRUTH


@dataclass(frozen=True)
class Line:
    """One cell in one table: its row if it has a time, and the ranked table of that row."""

    run: str
    problem: str
    table: str
    comparison: Comparison
    cell: CellSummary
    comparable: bool
    row: Row | None = None
    ranked: RankedTable | None = None

    def verdict(self, quantity: str) -> str | None:
        """See :meth:`RankedTable.verdict`; ``None`` where the cell is not judged."""
        return self.ranked.verdict(quantity, self.row) or None if self.ranked and self.row else None

    def standing(self, quantity: str) -> PairwiseVerdict | None:
        """Return how it stands against the fastest of its table."""
        return self.ranked.standing(quantity, self.row) if self.ranked and self.row else None


def lines(analysis: Analysis) -> Iterator[Line]:
    """The cells of every table, in the order of the tables; cells without a time come last in theirs."""
    run, may_compare = analysis.folder.name, analysis.comparable
    for problem in analysis.problems:
        ranked = {table.table.name: table for table in problem.tables}
        untimed = problem.untimed
        for name in dict.fromkeys([*ranked, *untimed]):
            found = ranked.get(name)
            for row in found.table.rows if found else ():
                yield Line(run, problem.name, name, problem.comparison, row.summary, may_compare, row, found)
            for cell in untimed.get(name, ()):
                yield Line(run, problem.name, name, problem.comparison, cell, may_compare)


_NOTHING = Time(None)


def _solve(line: Line) -> Time:
    return line.row.solve if line.row else _NOTHING


def _gradient(line: Line) -> Time:
    return line.row.gradient if line.row else _NOTHING


def _seconds(time: Time, which: str = "median") -> float | None:
    return None if time.seconds is None else getattr(time.seconds, which)


def _rate(time: Time) -> float | None:
    seconds = _seconds(time)
    return 1 / seconds if seconds else None


def _at_most(time: Time) -> bool | None:
    return None if time.seconds is None else time.at_most


def _target_error(target: Target) -> float | None:
    return None if target.digits is None else 10.0**-target.digits


def _ratio(line: Line, quantity: str, which: str) -> float | None:
    found = line.standing(quantity)
    return None if found is None else getattr(found.judgement.ratio, which)


def _first(line: Line, which: str = "median") -> float | None:
    found = line.cell.first_gradient_process
    return None if found is None else getattr(found, which)


def _built(line: Line) -> float | None:
    found = line.cell.first_gradient_built
    return None if found is None else found.median


def _largest(line: Line, name: str) -> int | None:
    known = [size for process in line.cell.processes if (size := getattr(process, name)) is not None]
    return max(known, default=None)


def _growth(line: Line) -> int | None:
    known = [
        sum(grown)
        for process in line.cell.processes
        if (grown := [p.memory_growth_bytes for p in process.points if p.memory_growth_bytes is not None])
    ]
    return round(median(known)) if known else None


def _working(line: Line, call: str) -> int | None:
    """The median over the processes at the tightest tolerance at which each of them has the number."""
    of_process = [
        {p.rtol: size for p in process.points if (size := p.half(call).working_bytes) is not None}
        for process in line.cell.processes
    ]
    known = [sizes for sizes in of_process if sizes]
    common = set.intersection(*map(set, known)) if known else set()
    return round(median(sizes[min(common)] for sizes in known)) if common else None


def _bridge(line: Line, call: str) -> float | None:
    """The cost per call of crossing a bridge to the framework; ``None`` if Python calls it directly."""
    known = [cost for point in line.cell.points if (cost := point.half(call).bridge_s) is not None]
    return median(known) if known else None


def _energy_rtol(line: Line, joules: Callable[[PointSummary], float | None]) -> float | None:
    """The tolerance at which the most processes have their energy known; the tightest of equals."""
    votes: dict[float, int] = {}
    for point in line.cell.points:
        if joules(point) is not None:
            votes[point.rtol] = votes.get(point.rtol, 0) + 1
    return max(votes, key=lambda rtol: (votes[rtol], -rtol), default=None)


def _joules(line: Line, joules: Callable[[PointSummary], float | None]) -> float | None:
    rtol = _energy_rtol(line, joules)
    known = [found for point in line.cell.points if point.rtol == rtol and (found := joules(point)) is not None]
    return median(known) if known else None


def _no_energy(line: Line) -> str | None:
    if any(point.gradient.joules is not None or point.solve.joules is not None for point in line.cell.points):
        return None
    return next((process.no_energy for process in line.cell.processes if process.no_energy), "not measured")


def _million_gradients(line: Line, price_per_hour: float | None) -> float | None:
    return million_gradients_cost(line.row, price_per_hour) if line.row else None


def _to_target(line: Line) -> float | None:
    rows = training_rows([line.cell])
    reached = rows[0].to_target_from_process if rows else None
    return None if reached is None else reached.median


def _outcomes(line: Line) -> str:
    counts = line.cell.point_outcomes
    if not counts:
        return line.cell.outcome.value if line.cell.outcome else ""
    return ", ".join(f"{outcome.value} {count}" for outcome, count in counts.most_common())


def _records(line: Line) -> str:
    processes = sorted(line.cell.processes, key=lambda process: process.block)
    return " ".join(line.cell.place(process) for process in processes)


_Get = Callable[[Line, "float | None"], Value]


def _column(name: str, kind: Kind, meaning: str, get: Callable[[Line], Value]) -> tuple[Column, _Get]:
    return Column(name, kind, meaning), lambda line, _: get(line)


def _cost_column(name: str, meaning: str, get: _Get) -> tuple[Column, _Get]:
    return Column(name, _NUMBER, meaning), get


def _cell_columns() -> Iterator[tuple[Column, _Get]]:
    axes = ("adapter", "method", "sensitivity", "mode", "precision", "device", "saving")
    yield _column("run", _TEXT, "the run's folder", lambda line: line.run)
    yield _column("comparison", _TEXT, "with what: a division, or a group of the matched one", lambda line: line.table)
    yield _column("problem", _TEXT, "the problem", lambda line: line.problem)
    for axis in axes:
        yield _column(axis, _TEXT, f"the {axis}", lambda line, axis=axis: getattr(line.cell.cell, axis))
    yield _column("processes", _INTEGER, "processes that count", lambda line: len(line.cell.processes))
    yield _column("outcomes", _TEXT, "how the points of all processes ended", _outcomes)
    yield _column("comparable", _TRUTH, "whether times of this run may be compared", lambda line: line.comparable)


def _time_columns() -> Iterator[tuple[Column, _Get]]:
    yield _column("first_gradient_s", _NUMBER, "from process start to the first gradient, median", _first)
    yield _column("first_gradient_min_s", _NUMBER, "fastest process", lambda line: _first(line, "minimum"))
    yield _column("first_gradient_max_s", _NUMBER, "slowest process", lambda line: _first(line, "maximum"))
    yield _column("first_gradient_from_built_s", _NUMBER, "from the built program to the first gradient", _built)
    for name, get in (("solve", _solve), ("gradient", _gradient)):
        yield from _columns_of_call(name, get)


def _columns_of_call(name: str, get: Callable[[Line], Time]) -> Iterator[tuple[Column, _Get]]:
    def target(line: Line) -> Target:
        return line.comparison.solve_target if name == "solve" else line.comparison.gradient_target

    yield _column(
        f"{name}_at_error", _NUMBER, "the error at which the time is read off", lambda line: _target_error(target(line))
    )
    yield _column(
        f"{name}_at_rtol", _NUMBER, "the tolerance instead, without a reference", lambda line: target(line).rtol
    )
    yield _column(f"{name}_s", _NUMBER, f"time per {name}, median over processes", lambda line: _seconds(get(line)))
    yield _column(f"{name}_min_s", _NUMBER, "fastest process", lambda line: _seconds(get(line), "minimum"))
    yield _column(f"{name}_max_s", _NUMBER, "slowest process", lambda line: _seconds(get(line), "maximum"))
    yield _column(
        f"{name}_s_is_a_bound", _TRUTH, "whether the time is known from above only", lambda line: _at_most(get(line))
    )
    yield _column(f"{name}_bridge_s", _NUMBER, "of it, crossing a bridge; median", lambda line: _bridge(line, name))
    yield _column(f"{name}s_per_s", _NUMBER, "throughput", lambda line: _rate(get(line)))
    yield _column(
        f"{name}_verdict",
        _TEXT,
        "against the least time of the table; of that itself: fastest, same or undecided",
        lambda line: line.verdict(name),
    )
    yield _column(
        f"{name}_ratio", _NUMBER, "time over the time of the fastest", lambda line: _ratio(line, name, "estimate")
    )
    yield _column(f"{name}_ratio_low_95", _NUMBER, "lower end of its interval", lambda line: _ratio(line, name, "low"))
    yield _column(
        f"{name}_ratio_high_95", _NUMBER, "upper end of its interval", lambda line: _ratio(line, name, "high")
    )


def _training_columns() -> Iterator[tuple[Column, _Get]]:
    yield _column("to_target_s", _NUMBER, "from process start to the target of the training, median", _to_target)
    yield _cost_column("to_target_cost", "price of that time", lambda line, price: price_of(_to_target(line), price))


def _error_columns() -> Iterator[tuple[Column, _Get]]:
    def of(name: str) -> Callable[[Line], Any]:
        return lambda line: getattr(line.row, name) if line.row else None

    yield _column("scd", _NUMBER, "correct digits at the end time, best point", of("scd"))
    yield _column("mescd", _NUMBER, "digits of the mixed error over all saved times, best point", of("mescd"))
    yield _column("solution_error_is_a_bound", _TRUTH, "the reference is no better", of("solve_capped"))
    yield _column("gradient_error", _NUMBER, "relative error of d loss / d log p, best point", of("gradient_error"))
    yield _column("gradient_error_is_a_bound", _TRUTH, "the reference is no better", of("gradient_capped"))
    yield _column("gradient_worst_component", _TEXT, "component that is worst there", of("worst_component"))
    yield _column("gradient_worst_component_error", _NUMBER, "its relative error", of("worst_component_error"))


def _resource_columns() -> Iterator[tuple[Column, _Get]]:
    yield _column("peak_rss_bytes", _INTEGER, "largest resident memory", lambda line: line.cell.peak_rss_bytes)
    yield _column("memory_growth_bytes", _INTEGER, "growth over the steady calls, median", _growth)
    for name in ("solve", "gradient"):
        yield _column(
            f"{name}_working_bytes",
            _INTEGER,
            f"what one {name} holds at its peak, at the tightest tolerance that all processes reached",
            lambda line, name=name: _working(line, name),
        )
    for name, about in (
        ("peak_device_bytes", "largest memory on the device, as the driver counts it"),
        ("peak_array_bytes", "of it, held in the framework's arrays"),
    ):
        yield _column(name, _INTEGER, about, lambda line, name=name: _largest(line, name))
    for name, get in (("solve", lambda point: point.solve.joules), ("gradient", lambda point: point.gradient.joules)):
        yield _column(
            f"{name}_joules", _NUMBER, f"energy per {name} above idle", lambda line, get=get: _joules(line, get)
        )
        yield _column(
            f"{name}_joules_at_rtol", _NUMBER, "at this tolerance", lambda line, get=get: _energy_rtol(line, get)
        )
    yield _column("no_energy", _TEXT, "the reason for a missing energy", _no_energy)
    yield _cost_column("price_per_hour", "price of the machine, as given", lambda _, price: price)
    yield _cost_column(
        "first_gradient_cost",
        "price of the time to the first gradient",
        lambda line, price: price_of(_first(line), price),
    )
    yield _cost_column(
        "million_solves_cost", "price of 10⁶ solves", lambda line, price: price_of(_seconds(_solve(line)), price, 1e6)
    )
    yield _cost_column("million_gradients_cost", "price of the first and 10⁶ − 1 more gradients", _million_gradients)
    yield _column("records", _TEXT, "the records, as cell_id/block/attempt", _records)


_ALL = (*_cell_columns(), *_time_columns(), *_training_columns(), *_error_columns(), *_resource_columns())

COLUMNS = tuple(column for column, _ in _ALL)
"""The columns of the summary."""


def cell_rows(analysis: Analysis, price_per_hour: float | None = None) -> Iterator[ExportRow]:
    """The rows of a run; ``price_per_hour`` is the machine's, in any currency."""
    for line in lines(analysis):
        yield tuple(get(line, price_per_hour) for _, get in _ALL)
