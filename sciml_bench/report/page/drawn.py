"""Draws the charts of a run: in this process, or, where there are many, in several.

Drawing is most of the time that a large report takes, and every problem's charts are drawn by themselves.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, repeat
from typing import TYPE_CHECKING

from sciml_bench.report import charts
from sciml_bench.report.charts.chart import Chart
from sciml_bench.report.crew import crew
from sciml_bench.report.page.limit import Limit
from sciml_bench.report.summary import RunSummary

if TYPE_CHECKING:
    from sciml_bench.report.charts.paper import Paper

# With fewer cells, starting processes takes longer than drawing.
MANY_CELLS = 100

Picture = tuple[Chart, str]
"""A chart, its name with the prefix of its run, and its drawing."""


@contextmanager
def drawing(summary: RunSummary, prefix: str, limit: Limit, processes: int = 1) -> Iterator[Iterator[list[Picture]]]:
    """The pictures of each problem of a run, in order, and at the end those across problems.

    Names get the prefix, so that several runs fit into one page; of each problem the cells that the limit leaves are
    drawn. Where there are many, so many processes draw them while the block does other work, and they are waited for
    when they are asked for.
    """
    problems = summary.problems
    processes = min(processes, len(problems))
    if len(summary.cells) < MANY_CELLS or processes < 2:
        yield (_pictures(_only(summary, problem, limit), prefix, problem) for problem in (*problems, None))
        return
    with crew(processes) as pool:
        drawn = pool.map(_pictures, (_only(summary, name, limit) for name in problems), repeat(prefix), problems)
        yield chain(drawn, (_pictures(summary, prefix, None) for _ in range(1)))


def _only(summary: RunSummary, problem: str | None, limit: Limit) -> RunSummary:
    """What the figures of one problem need of a run: all cells by name, for they share out the looks, but only the
    processes that are drawn."""
    if problem is None:
        return summary
    cells = {
        cell_id: cell if cell.cell.problem == problem and limit.draws(cell) else dataclasses.replace(cell, processes=[])
        for cell_id, cell in summary.cells.items()
    }
    return RunSummary({**summary.plan, "skipped": []}, cells)


def _pictures(summary: RunSummary, prefix: str, problem: str | None) -> list[Picture]:
    from sciml_bench.report.charts.page_paper import svg

    found = charts.across(summary) if problem is None else charts.of_problem(summary, problem)
    named = [dataclasses.replace(chart, name=f"{prefix}{chart.name}") for chart in found]
    # What is drawn already needs no way to draw it, which could not travel between processes.
    return [(dataclasses.replace(chart, draw=_done), svg(chart)) for chart in named]


def _done(_paper: Paper) -> None:
    raise AssertionError("this chart was drawn already")
