"""Where output goes: data to standard output, and messages beside it when the data is JSON."""

from __future__ import annotations

import json
from typing import Any

import click


def print_json(data: Any) -> None:
    """Print JSON for another program."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))


def print_table(headings: list[str], rows: list[list[str]]) -> None:
    """Print left-aligned columns without a box: fast to start, easy to cut."""
    lines = [headings, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headings))]
    for line in lines:
        click.echo("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
