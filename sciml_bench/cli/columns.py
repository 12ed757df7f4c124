"""Columns of text: fitted to a terminal, and one plain line for each row elsewhere."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest

import click

_GAP, _NARROWEST = 2, 10


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, optional: Sequence[str] = ()) -> None:
    """Print left-aligned columns without a box: fast to start, easy to cut.

    A terminal that is too narrow leaves out ``optional`` columns, the first one first, and then wraps the widest ones.
    """
    for line in table_lines(headings, rows, optional, _terminal_width()):
        click.echo(line)


def _terminal_width() -> int | None:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def table_lines(
    headings: Sequence[str], rows: Sequence[Sequence[str]], optional: Sequence[str], width: int | None
) -> Iterator[str]:
    """Yield the lines of a table that is at most ``width`` wide, without a limit for ``None``."""
    lines = [list(headings), *(list(row) for row in rows)]
    for heading in optional:
        if width is not None and sum(_widths(lines)) > width:
            place = lines[0].index(heading)
            lines = [line[:place] + line[place + 1 :] for line in lines]
    widths = _widths(lines)
    while width is not None and sum(widths) > width and max(widths) > _NARROWEST:
        widest = widths.index(max(widths))
        others = sum(widths) - widths[widest]
        # No narrower than the second widest, so that both share what is missing.
        second = max((other for other in widths if other != widths[widest]), default=0)
        widths[widest] = min(widths[widest] - 1, max(width - others, second, _NARROWEST))
    for line in lines:
        cells = [_wrapped(text, size - _GAP) for text, size in zip(line, widths, strict=True)]
        for parts in zip_longest(*cells, fillvalue=""):
            yield "".join(part.ljust(size) for part, size in zip(parts, widths, strict=True)).rstrip()


def _wrapped(text: str, width: int) -> list[str]:
    return [text] if len(text) <= width else textwrap.wrap(text, width)


def _widths(lines: Sequence[Sequence[str]]) -> list[int]:
    """The widths of columns with the gap after them."""
    return [max(len(text) for text in column) + _GAP for column in zip(*lines, strict=True)]
