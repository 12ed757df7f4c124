"""``schema``: the JSON Schema of problem files."""

from __future__ import annotations

import click

from sciml_bench.cli.output import print_json


@click.command(
    epilog="""\b
Example:
  sciml-bench schema > problem.schema.json
"""
)
def schema() -> None:
    """Print the JSON Schema of problem files, for editors that complete and check TOML."""
    from sciml_bench.problem import schema as problem_schema

    print_json(problem_schema.schema())
