"""``schema``: the JSON Schema of problem files."""

from __future__ import annotations

import click

from sciml_bench.cli.output import print_json


@click.command(
    epilog="""\b
Examples:
  sciml-bench schema > problem.schema.json
  sciml-bench schema --models > model.schema.json
  sciml-bench schema --claims > claim.schema.json
"""
)
@click.option(
    "--models", "of_models", is_flag=True, help="Print the schema of model files, as in problems/conventional."
)
@click.option("--claims", "of_claims", is_flag=True, help="Print the schema of claim files.")
def schema(of_models: bool, of_claims: bool) -> None:
    """Print the JSON Schema of problem files, for editors that complete and check TOML."""
    if of_models and of_claims:
        raise click.UsageError("One schema at a time: --models or --claims.")
    if of_models:
        from sciml_bench.models.schema import model_schema

        print_json(model_schema())
        return
    if of_claims:
        from sciml_bench.published_claims.schema import claim_schema

        print_json(claim_schema())
        return
    from sciml_bench.spec.schema import problem_schema

    print_json(problem_schema())
