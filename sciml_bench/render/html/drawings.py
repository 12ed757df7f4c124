"""Draws the charts of a run: in this process, or, if there are many, in several."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, repeat

from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.process_pool import process_pool
from sciml_bench.analysis.summary import CellSummary, RunSummary
from sciml_bench.charts.backend import Backend
from sciml_bench.charts.catalog import across, of_problem
from sciml_bench.charts.chart import Chart
from sciml_bench.render.html.page_budget import PageBudget

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
    return RunSummary(dataclasses.replace(summary.plan, skipped=()), cells)


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
