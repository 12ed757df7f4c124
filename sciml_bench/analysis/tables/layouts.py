"""Layouts of a problem's table, from the widest to the narrowest. No layout ever cuts a number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sciml_bench.adapters.base import DEFAULT
from sciml_bench.analysis import quantities
from sciml_bench.analysis.rows import Row, Time
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.record.outcome import Outcome


@dataclass(frozen=True)
class Layout:
    """Headings and rows of text; a text may hold several lines. Columns from ``first_number`` on hold numbers."""

    headings: list[str]
    rows: list[list[str]]
    first_number: int


@dataclass(frozen=True)
class Facts:
    """A row as text: each number with what belongs below it (the range over the processes, or a reason)."""

    names: list[str]
    first_gradient: tuple[str, str]
    from_built: tuple[str, str]
    solve: tuple[str, str]
    gradient: tuple[str, str]
    scd: str
    mescd: str
    gradient_error: str
    worst_component: str
    ok: str
    failed: str
    memory: str


def facts(row: Row) -> Facts:
    """Every number of a row as text."""
    cell = row.summary.cell
    which = [cell.method, cell.sensitivity, cell.mode]
    first, built = row.summary.first_gradient_process, row.summary.first_gradient_built
    ok, failed = _points(row.summary)
    return Facts(
        names=[cell.adapter + (f" ({DEFAULT})" if row.summary.is_default else ""), *which],
        first_gradient=(quantities.duration(first.median if first else None), quantities.duration_range(first)),
        from_built=(quantities.duration(built.median if built else None), quantities.duration_range(built)),
        solve=_time(row.solve),
        gradient=_time(row.gradient),
        scd=(">" if row.solve_capped else "") + quantities.digits(row.scd),
        mescd=(">" if row.solve_capped else "") + quantities.digits(row.mescd),
        gradient_error=("<" if row.gradient_capped else "") + quantities.error(row.gradient_error),
        worst_component=worst_component(row),
        ok=ok,
        failed=failed,
        memory=quantities.size(row.summary.peak_rss_bytes),
    )


def wide(rows: Sequence[Row]) -> Layout:
    """A column for every fact; ranges over the processes stand below the medians."""
    return Layout(
        headings=[
            "adapter",
            "method",
            "sensitivity",
            "mode",
            "1st gradient\nfrom start",
            "1st gradient\nfrom built",
            "solve",
            "gradient",
            "scd",
            "mescd",
            "gradient error\nworst component",
            "points",
            "memory",
        ],
        rows=[
            [
                *told.names,
                _stacked(*told.first_gradient),
                _stacked(*told.from_built),
                _stacked(*_range_only(row.solve, told.solve)),
                _stacked(*_range_only(row.gradient, told.gradient)),
                told.scd,
                told.mescd,
                _stacked(told.gradient_error, told.worst_component),
                _stacked(told.ok, told.failed.replace(", ", "\n")),
                told.memory,
            ]
            for row, told in ((row, facts(row)) for row in rows)
        ],
        first_number=4,
    )


def narrow(rows: Sequence[Row]) -> Layout:
    """Two facts above each other in every column, without ranges."""
    return Layout(
        headings=["cell", "1st gradient\n(from built)", "solve\ngradient", "scd mescd\ngrad. error", "points\nmemory"],
        rows=[
            [
                f"{' '.join(told.names[:2])}\n{' '.join(told.names[2:])}",
                f"{told.first_gradient[0]}\n({told.from_built[0]})",
                f"{told.solve[0]}\n{told.gradient[0]}",
                _stacked(f"{told.scd} {told.mescd:>5}\n{told.gradient_error}", told.worst_component),
                _stacked(f"{told.ok}\n{told.memory}", told.failed.replace(", ", "\n")),
            ]
            for told in map(facts, rows)
        ],
        first_number=1,
    )


def stacked(rows: Sequence[Row]) -> list[str]:
    """No columns at all: a few short lines per cell."""
    lines: list[str] = []
    for told in map(facts, rows):
        lines += [
            " ".join(told.names),
            f"  1st gradient {told.first_gradient[0]}",
            f"    from built {told.from_built[0]}",
            f"  solve {told.solve[0]}, gradient {told.gradient[0]}",
            f"  scd {told.scd}, mescd {told.mescd}",
            f"  gradient error {_with_worst(told)}",
            f"  points {told.ok}, {told.memory}",
        ]
        lines += [f"    {failed}" for failed in told.failed.split(", ") if failed]
    return lines


def plain(rows: Sequence[Row]) -> Layout:
    """One line per cell for pipes and files: ranges and reasons in brackets."""
    return Layout(
        headings=[
            "adapter",
            "method",
            "sensitivity",
            "mode",
            "1st gradient",
            "from built",
            "solve",
            "gradient",
            "scd",
            "mescd",
            "gradient error (worst component)",
            "points",
            "memory",
        ],
        rows=[
            [
                *told.names,
                _bracketed(*told.first_gradient),
                _bracketed(*told.from_built),
                _bracketed(*told.solve),
                _bracketed(*told.gradient),
                told.scd,
                told.mescd,
                _bracketed(told.gradient_error, told.worst_component),
                f"{told.ok}, {told.failed}" if told.failed else told.ok,
                told.memory,
            ]
            for told in map(facts, rows)
        ],
        first_number=13,
    )


TABLES: tuple[Callable[[Sequence[Row]], Layout], ...] = (wide, narrow)


def _with_worst(told: Facts) -> str:
    return f"{told.gradient_error}{f', worst {told.worst_component}' if told.worst_component else ''}"


def worst_component(row: Row) -> str:
    """The component of the gradient that is worst by itself, and its relative error; empty where there is none."""
    if row.worst_component is None or row.worst_component_error is None:
        return ""
    return f"{row.worst_component} {quantities.error(row.worst_component_error)}"


def _time(time: Time) -> tuple[str, str]:
    if time.seconds is None:
        return quantities.NOTHING, time.reason
    bound = "≤ " if time.at_most else ""
    return bound + quantities.duration(time.seconds.median), quantities.duration_range(time.seconds)


def _range_only(time: Time, told: tuple[str, str]) -> tuple[str, str]:
    """Reasons are too long for a column; the digits beside it tell the same."""
    return told if time.seconds else (told[0], "")


def _points(cell: CellSummary) -> tuple[str, str]:
    outcomes = cell.point_outcomes
    total = sum(outcomes.values())
    ok = outcomes.pop(Outcome.OK, 0)
    return f"ok {ok}/{total}", ", ".join(f"{outcome} {count}" for outcome, count in outcomes.most_common())


def _stacked(main: str, below: str) -> str:
    return f"{main}\n{below}" if below else main


def _bracketed(main: str, extra: str) -> str:
    return f"{main} ({extra})" if extra else main
