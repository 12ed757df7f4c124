"""Data on standard output; messages go to standard error where the data is JSON."""

from __future__ import annotations

import json
from typing import Any

import click


def print_left_out(what: object) -> None:
    """Say on standard error what of a file is left out."""
    click.echo(f"left out: {what}", err=True)


def print_json(data: Any) -> None:
    """Print JSON for another program."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))
