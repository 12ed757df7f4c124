"""The chart: one figure as data, words and a way to draw it."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Not imported: whoever wants the data of a chart needs no drawing.
    from sciml_bench.report.charts.paper import Paper

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
