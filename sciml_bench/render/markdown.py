"""Tables in the Markdown of GitHub, one for each table of the report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from sciml_bench.analysis import quantities
from sciml_bench.analysis.rows import Row, Time
from sciml_bench.analysis.tables.layouts import worst_component
from sciml_bench.charts.chart import clean
from sciml_bench.export.cells import Line, million_gradients_cost

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&-])")


def escaped(text: str, longest: int = 200) -> str:
    """One line in which nothing is markup; a name after ``@`` is not called, and ``#1`` refers to no issue."""
    return _SPECIAL.sub(r"\\\1", clean(text, longest)).replace("@", "@\u200b").replace("://", ":\u200b//")


def markdown(lines: Iterable[Line], price_per_hour: float | None = None) -> Iterator[str]:
    """The lines of text, without line feeds."""
    for (problem, table), of_table in groupby(lines, key=lambda line: (line.problem, line.table)):
        rows = list(of_table)
        yield f"### {escaped(problem)}: {escaped(table)}"
        yield ""
        yield from _caution(rows)
        headings = [
            "cell",
            "first gradient",
            "solve",
            "gradient",
            "scd",
            "gradient error (worst component)",
            "peak memory",
            "verdict",
        ]
        if price_per_hour is not None:
            headings.insert(-1, "cost of 10⁶ gradients")
        yield f"| {' | '.join(headings)} |"
        yield f"|{'|'.join(['---'] + ['--:'] * (len(headings) - 2) + ['---'])}|"
        for line in rows:
            yield f"| {' | '.join(_cells(line, price_per_hour))} |"
        yield ""
        yield from _notes(rows)


def _caution(rows: list[Line]) -> Iterator[str]:
    if not rows[0].comparable:
        yield "One process per cell, a check that everything works: these times are not for comparison."
        yield ""


def _cells(line: Line, price: float | None) -> list[str]:
    cell, row = line.cell, line.row
    which = cell.cell
    words = [which.adapter, which.method, which.sensitivity, which.mode]
    words += [value for value in (which.precision, which.device) if value not in {"float64", "cpu"}]
    first = cell.first_gradient_process
    found = [
        escaped(" ".join(words)),
        quantities.duration(first.median) if first else quantities.NOTHING,
        _time(row.solve if row else None),
        _time(row.gradient if row else None),
        quantities.digits(row.scd if row else None),
        _error(row),
        quantities.size(cell.peak_rss_bytes),
        escaped(line.verdict("gradient") or line.verdict("solve") or ("" if row else _failed(line))),
    ]
    if price is not None:
        total = million_gradients_cost(line, price)
        found.insert(-1, quantities.NOTHING if total is None else f"{total:.3g}")
    return found


def _error(row: Row | None) -> str:
    """The headline error of the gradient, and the component that is worst by itself."""
    worst = worst_component(row) if row else ""
    return f"{quantities.error(row.gradient_error if row else None)}{f' ({escaped(worst)})' if worst else ''}"


def _failed(line: Line) -> str:
    counts = line.cell.point_outcomes
    outcome = line.cell.outcome.value if line.cell.outcome else ""
    return ", ".join(f"{name.value} {count}" for name, count in counts.most_common()) or outcome


def _time(time: Time | None) -> str:
    if time is None or time.seconds is None:
        return quantities.NOTHING
    return f"{'≤ ' if time.at_most else ''}{quantities.duration(time.seconds.median)}"


def _notes(rows: list[Line]) -> Iterator[str]:
    comparison = rows[0].comparison
    told = [
        f"{name} at {where}"
        for name, target in (("solve", comparison.solve_target), ("gradient", comparison.gradient_target))
        if (where := quantities.target(target.digits, target.rtol))
    ]
    if told and any(line.row for line in rows):
        yield f"Times: {'; '.join(told)}; medians over the processes. The verdict is against the fastest gradient."
        yield ""
