"""Figures of the page: the drawing inline, its data as a table, and how it was measured."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from markupsafe import Markup

from sciml_bench.report.charts.chart import Chart
from sciml_bench.report.page.table import Entry, Heading, Places, Table

_STYLE = re.compile(r' style="([^"]*)"')
_DECLARATION = re.compile(r"\s*([a-z-]+)\s*:\s*([^;]*?)\s*(?:;|$)")

# A row of data that is made of more cells than this says how many instead of naming each.
_MOST_LINKS = 4


@dataclass(frozen=True)
class Figure:
    """One figure. ``svg`` is markup of our own drawing; all else is text."""

    id: str
    kind: str
    title: str
    alt: str
    method: str
    svg: Markup
    data: Table
    links: tuple[tuple[Entry, ...], ...]


def figures(charts: Iterable[Chart], places: Places) -> Iterator[Figure]:
    """Draw charts for a page. Their names get the prefix of the run, so that several runs fit into one page."""
    from sciml_bench.report.charts.render import svg

    for chart in charts:
        named = dataclasses.replace(chart, name=f"{places.prefix}{chart.name}")
        numbers = _number_columns(chart)
        yield Figure(
            id=f"fig-{named.name}",
            kind=chart.kind,
            title=chart.title,
            alt=chart.alt,
            method=chart.method,
            svg=Markup(without_styles(svg(named))),
            data=Table(
                id=f"data-{named.name}",
                caption=f"Data of the figure: {chart.title}",
                headings=tuple(
                    Heading(name.replace("_", " "), index in numbers) for index, name in enumerate(chart.columns)
                ),
                rows=tuple(tuple(map(_entry, row[:-1])) for row in chart.rows),
            ),
            links=tuple(_links(places.of_keys(str(row[-1] or ""))) for row in chart.rows),
        )


def without_styles(svg: str) -> str:
    """The same drawing with presentation attributes in the place of ``style``, which the page's policy forbids."""
    return _STYLE.sub(
        lambda style: "".join(f' {name}="{value}"' for name, value in _DECLARATION.findall(style[1])), svg
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
