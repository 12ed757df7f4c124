"""Columns of text: fitted to a terminal, and one plain line for each row elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, optional: Sequence[str] = ()) -> None:
    """Print left-aligned columns without a box: fast to start, easy to cut.

    A terminal that is too narrow leaves out ``optional`` columns, the first one first, and then wraps the widest ones.
    """
    if sys.stdout.isatty():
        from rich.console import Console

        print_fitted(headings, rows, optional, Console(highlight=False))
        return
    lines = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        click.echo("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())


def print_fitted(
    headings: Sequence[str], rows: Sequence[Sequence[str]], optional: Sequence[str], console: Console
) -> None:
    """Print a table that is at most as wide as a console."""
    from rich.measure import Measurement

    places = list(range(len(headings)))
    left_out = [list(headings).index(heading) for heading in optional]
    unlimited = console.options.update(width=10_000)
    while left_out and Measurement.get(console, unlimited, _grid(headings, rows, places)).maximum > console.width:
        places.remove(left_out.pop(0))
    console.print(_grid(headings, rows, places))


def _grid(headings: Sequence[str], rows: Sequence[Sequence[str]], places: Sequence[int]) -> Table:
    from rich.table import Table
    from rich.text import Text

    # Text, so that nothing in the data is markup.
    grid = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for place in places:
        grid.add_column(Text(headings[place]), overflow="fold")
    for row in rows:
        grid.add_row(*(Text(row[place]) for place in places))
    return grid
