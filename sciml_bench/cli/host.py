"""This machine for one command alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from sciml_bench.cli.main import typed_command


@contextmanager
def one_at_a_time(wait: bool) -> Iterator[None]:
    """No other benchmark runs on this host within the body. One that does is waited for, and told of, or refuses us."""
    from sciml_bench.engine import host_lock

    def announce(text: str) -> None:
        click.echo(text, err=True)

    with host_lock(label=typed_command(), wait_s=None if wait else 0.0, announce=announce):
        yield
