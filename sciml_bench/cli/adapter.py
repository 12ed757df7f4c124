"""``adapter check``: the conformance suite for one adapter."""

from __future__ import annotations

import click

from sciml_bench.cli import exits
from sciml_bench.cli.options import json_option


@click.group(epilog="\b\nExample:\n  sciml-bench adapter check scipy\n")
def adapter() -> None:
    """Check an adapter against the conformance suite."""
