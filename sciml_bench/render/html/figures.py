"""Figures of the page: the drawing inline, its data as a table, and how it was measured."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, repeat

from markupsafe import Markup

from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.loaded_run import process_pool
from sciml_bench.analysis.summary import CellSummary, RunSummary
from sciml_bench.analysis.tables.table import Column
from sciml_bench.charts.backend import Backend
from sciml_bench.charts.catalog import across, of_problem
from sciml_bench.charts.chart import Chart
from sciml_bench.render.html.explained import PageBudget
from sciml_bench.render.html.table import Entry, Places, Table

# Makes drawings fit for a page: without ``style`` attributes, which the page's policy forbids.

_STYLE = re.compile(r' style="([^"]*)"')
# Only what our own drawings use: nothing else gets into the style sheet.
_LOOK = re.compile(r"[a-zA-Z0-9#.,;:%() '-]*")


@dataclass
class Looks:
    """The looks of all drawings of a page, by their text; their names are class names."""

    names: dict[str, str] = field(default_factory=dict[str, str])

    def class_of(self, look: str) -> str:
        """The class of a look.

        Raises:
            ValueError: the look holds what none of our drawings does.
        """
        if not _LOOK.fullmatch(look):
            raise ValueError(f"not the look of a drawing: {look[:80]!r}")
        return self.names.setdefault(look, f"s{len(self.names)}")

    @property
    def sheet(self) -> str:
        """The rules of all classes, to be added to the page's style sheet."""
        return "\n".join(f".{name}{{{look}}}" for look, name in self.names.items())

    def slim(self, svg: str) -> str:
        """Return the drawing with classes."""
        return _STYLE.sub(lambda style: f' class="{self.class_of(style[1])}"', svg)


# Draws the charts of a run: in this process, or, if there are many, in several.

# With fewer cells, starting processes takes longer than drawing.
MANY_CELLS = 100

Picture = tuple[Chart, str]
"""A chart, its name with the prefix of its run, and its drawing."""


@contextmanager
def drawing(
    analysis: Analysis, prefix: str, budget: PageBudget, processes: int = 1
) -> Iterator[Iterator[list[Picture]]]:
    """The pictures of each problem of a run, in order, and at the end those across problems.

    Names get the prefix, so that several runs fit into one page; each problem has the cells that the limit leaves. If
    there are many, ``processes`` processes draw them while the block does other work, and reading one waits for it.
    """
    summary = analysis.summary
    problems = summary.problems
    processes = min(processes, len(problems))
    if len(summary.cells) < MANY_CELLS or processes < 2:
        of_problems = (_pictures(_only(summary, problem, budget), prefix, problem) for problem in problems)
        yield chain(of_problems, (_across(analysis, prefix) for _ in range(1)))
        return
    with process_pool(processes) as pool:
        drawn = pool.map(_pictures, (_only(summary, name, budget) for name in problems), repeat(prefix), problems)
        yield chain(drawn, (_across(analysis, prefix) for _ in range(1)))


def _only(summary: RunSummary, problem: str, budget: PageBudget) -> RunSummary:
    """The part of a run that the figures of one problem need: all cells by name, for they share out the looks, but
    only the drawn processes.
    """

    def drawn(cell: CellSummary) -> bool:
        return cell.cell.problem == problem and budget.draws(cell)

    cells = {
        cell_id: cell
        if cell.cell.problem == problem and budget.draws(cell)
        else dataclasses.replace(cell, processes=[])
        for cell_id, cell in summary.cells.items()
    }
    return RunSummary({**summary.plan, "skipped": []}, cells)


def _pictures(summary: RunSummary, prefix: str, problem: str) -> list[Picture]:
    return _drawn(of_problem(summary, problem), prefix)


def _across(analysis: Analysis, prefix: str) -> list[Picture]:
    return _drawn(across(analysis.summary, analysis=analysis), prefix)


def _drawn(charts: Iterable[Chart], prefix: str) -> list[Picture]:
    named = [dataclasses.replace(chart, name=f"{prefix}{chart.name}") for chart in charts]
    # A finished drawing needs no way to draw it, which could not travel between processes.
    return [(dataclasses.replace(chart, draw=_done), chart.svg()) for chart in named]


def _done(_backend: Backend) -> None:
    raise AssertionError("this chart was drawn already")


# A row of data that is made of more cells than this says how many instead of naming each.
_MOST_LINKS = 4


@dataclass(frozen=True)
class Figure:
    """One figure. ``svg`` is markup of our own drawing; the rest is text."""

    id: str
    kind: str
    title: str
    alt: str
    method: str
    svg: Markup
    data: Table
    links: tuple[tuple[Entry, ...], ...]


def figures(pictures: Iterable[Picture], places: Places, looks: Looks) -> Iterator[Figure]:
    """Drawn charts as figures of a page."""
    for chart, picture in pictures:
        numbers = _number_columns(chart)
        yield Figure(
            id=f"fig-{chart.name}",
            kind=chart.kind,
            title=chart.title,
            alt=chart.alt,
            method=chart.method,
            svg=Markup(looks.slim(picture)),
            data=Table(
                id=f"data-{chart.name}",
                caption=f"Data of the figure: {chart.title}",
                columns=tuple(
                    Column(name.replace("_", " "), index in numbers) for index, name in enumerate(chart.columns)
                ),
                rows=tuple(tuple(map(_entry, row[:-1])) for row in chart.rows),
            ),
            links=tuple(_links(places.of_keys(str(row[-1] or ""))) for row in chart.rows),
        )


def _number_columns(chart: Chart) -> set[int]:
    return {
        index
        for index in range(len(chart.columns))
        if any(_is_number(row[index]) for row in chart.rows)
        and all(row[index] is None or row[index] == "" or _is_number(row[index]) for row in chart.rows)
    }


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _entry(value: object) -> Entry:
    if value is None or value == "":
        return Entry("–")
    if isinstance(value, bool):
        return Entry("yes" if value else "no")
    if isinstance(value, int | float):
        return Entry(
            f"{value:.4g}" if isinstance(value, float) else str(value), value=value if math.isfinite(value) else None
        )
    return Entry(str(value))


def _links(found: tuple[Entry, ...]) -> tuple[Entry, ...]:
    if len(found) <= _MOST_LINKS:
        return found
    return (*found[: _MOST_LINKS - 1], Entry(f"and {len(found) - _MOST_LINKS + 1} more cells"))
