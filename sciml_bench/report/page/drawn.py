"""Draws the charts of a run: in this process, or, where there are many, on all its processors.

Drawing is most of the time that a large report takes, and every problem's charts are drawn by themselves.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from sciml_bench.report import charts
from sciml_bench.report.charts.chart import Chart
from sciml_bench.report.summary import RunSummary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# With fewer cells, starting processes takes longer than drawing.
MANY_CELLS = 100

_MOST_PROCESSES = 8

Picture = tuple[Chart, str]
"""A chart, its name with the prefix of its run, and its drawing."""


@contextmanager
def drawing(summary: RunSummary, prefix: str) -> Iterator[Iterator[list[Picture]]]:
    """The pictures of each problem of a run, in order, and at the end those across problems.

    Names get the prefix, so that several runs fit into one page. Where there are many, they are drawn while the block
    does other work, and are waited for when they are asked for.
    """
    problems: list[str | None] = [*summary.problems, None]
    processes = min(_processors(), _MOST_PROCESSES, len(problems))
    if len(summary.cells) < MANY_CELLS or processes < 2:
        yield (_pictures(summary, prefix, problem) for problem in problems)
        return
    # Spawned, not forked: numerical libraries have started threads, which a forked process would lack.
    context = get_context("spawn")
    with ProcessPoolExecutor(processes, context, initializer=_begin, initargs=(summary, prefix)) as pool:
        yield pool.map(_in_pool, problems)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _pictures(summary: RunSummary, prefix: str, problem: str | None) -> list[Picture]:
    from sciml_bench.report.charts.render import svg

    found = charts.across(summary) if problem is None else charts.of_problem(summary, problem)
    named = [dataclasses.replace(chart, name=f"{prefix}{chart.name}") for chart in found]
    # What is drawn already needs no way to draw it, which could not travel between processes.
    return [(dataclasses.replace(chart, draw=_done), svg(chart)) for chart in named]


def _done(_figure: Figure) -> None:
    raise AssertionError("this chart was drawn already")


_run: dict[str, Any] = {}
"""What a process of the pool draws from."""


def _begin(summary: RunSummary, prefix: str) -> None:
    _run.update(summary=summary, prefix=prefix)


def _in_pool(problem: str | None) -> list[Picture]:
    return _pictures(_run["summary"], _run["prefix"], problem)
