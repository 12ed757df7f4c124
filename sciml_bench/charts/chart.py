"""The chart: one figure as data, words and a way to draw it."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sciml_bench.analysis.summary import CellSummary, RunSummary

if TYPE_CHECKING:
    from sciml_bench.charts.paper import Paper


OF_PROBLEM = {
    "work-precision": "time per solve against the error of the solution",
    "gradient-precision": "time per gradient against the error of the gradient",
    "latency": "where the time of a process went, phase by phase",
    "steady": "the calls of a process in order, with the change-points of their times",
    "stability": "perturbed parameters at each tolerance: right, honest failure, silently wrong",
    "break-even": "total time against the number of gradients",
    "memory": "peak memory, and its growth over the steady calls",
    "training": "loss against the time of training",
}
"""The kinds of which there is one for each problem, and what they show."""

ACROSS = {
    "profile": "performance profile: the share of problems solved within a factor of the fastest",
    "forest": "ratio of times with its interval, a line for each problem",
    "scaling": "time against the size of the problem",
    "tracks": "one ecosystem against another on each suite: models beside equations",
}
"""The kinds that need several problems, and what they show."""

KINDS = (*OF_PROBLEM, *ACROSS)
"""Every kind of chart."""

_LONGEST_LABEL = 80


@dataclass(frozen=True)
class Chart:
    """One figure, its data and its words. Nothing is drawn before ``draw`` is called.

    ``name`` is unique within a page and safe as an id; ``alt`` says in words what is seen, with the numbers that
    matter; ``method`` says how it was measured. ``columns`` name the data with its units. Each of ``rows`` ends with
    the records that it comes from, as ``cell_id/block/attempt``, separated by spaces.
    """

    kind: str
    name: str
    title: str
    alt: str
    method: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    draw: Callable[[Paper], None]


def chart_name(kind: str, *words: str) -> str:
    """An id made of a kind and names that may hold anything: two different names never give the same id."""
    return "-".join([kind, *(_safe(word) for word in words if word)])


def _safe(word: str) -> str:
    safe = re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")[:60]
    if safe == word:
        return safe
    return f"{safe or 'x'}-{hashlib.sha256(word.encode(errors='replace')).hexdigest()[:6]}"


def clean(text: str, longest: int = _LONGEST_LABEL) -> str:
    """One line that can be drawn: control characters become blanks, and what is too long ends in an ellipsis."""
    line = " ".join("".join(_printable(text[: 4 * longest])).split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def _printable(text: str) -> Iterator[str]:
    for character in text:
        # Control and format characters (among them those that turn the direction of text), halves of a pair, and
        # what no standard assigns.
        yield " " if unicodedata.category(character).startswith(("C", "Zl", "Zp")) else character


# Charts as plain JSON values: their words and their data.


def charts_document(charts: Iterable[Chart]) -> dict[str, Any]:
    """Everything but the drawing. Rows are objects; a number that JSON has no word for is ``None``."""
    return {
        "charts": [
            {
                "kind": chart.kind,
                "name": chart.name,
                "title": chart.title,
                "alt": chart.alt,
                "method": chart.method,
                "columns": list(chart.columns),
                "rows": [
                    {name: _plain(value) for name, value in zip(chart.columns, row, strict=True)} for row in chart.rows
                ],
            }
            for chart in charts
        ]
    }


def _plain(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


# Why there is nothing to draw, and what to do about it.

_LACKING = {
    "work-precision": "no solve was within its error bound, so no time is shown",
    "gradient-precision": "no gradient was within its error bound, so no time is shown",
    "latency": "no process got as far as telling of its phases",
    "steady": "no loop of calls was measured",
    "stability": "nothing was tried on perturbed parameters; profile quick and those above it do that",
    "break-even": "it takes two cells with both a first gradient and a time per gradient",
    "memory": "no process told of its memory",
    "training": "nothing was trained; problems with a [training] table are",
    "profile": "it takes two solvers that were measured on the same two problems, and one of them right",
    "forest": "it takes two solvers with times on the same two problems, in the same blocks",
    "scaling": "it takes one problem at two sizes, such as brusselator-2d-16 and brusselator-2d-32; "
    "`sciml-bench scale` makes them",
}


def reason(kind: str, summary: RunSummary, problem: str | None = None) -> str:
    """One sentence that says why a kind of chart has nothing to draw in this run, or for this problem of it."""
    cells = list(summary.cells.values()) if problem is None else summary.of_problem(problem)
    if not any(cell.processes for cell in cells):
        return "nothing to draw: the run has no record yet" + ("" if problem is None else f" of {problem}")
    if kind in ACROSS and kind != "scaling" and not summary.plan["profile"]["comparable"]:
        name = summary.plan["profile"]["name"]
        return f"nothing to draw: the times of profile {name} are never compared; run with --profile quick or more"
    failed = "" if any(cell.measured for cell in cells) else f"; all cells failed ({_outcomes(cells)})"
    return f"nothing to draw: {_LACKING[kind]}{failed}"


def _outcomes(cells: list[CellSummary]) -> str:
    found = sorted({cell.outcome.value for cell in cells if cell.outcome is not None})
    return ", ".join(found)
