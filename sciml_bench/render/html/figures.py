"""Figures of the page: the drawing inline, its data as a table, and how it was measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from markupsafe import Markup

from sciml_bench.analysis.tables.table import Column
from sciml_bench.charts.chart import Chart
from sciml_bench.render.html.drawings import Picture
from sciml_bench.render.html.looks import Looks
from sciml_bench.render.html.table import Entry, Places, Table

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
