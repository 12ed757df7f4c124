"""``adapter check``: the conformance suite for one adapter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sciml_bench.cli import completion, exit_codes
from sciml_bench.cli.options import json_option
from sciml_bench.cli.output import print_json
from sciml_bench.cli.parameter_types import SECONDS
from sciml_bench.errors import UsageError

if TYPE_CHECKING:
    from sciml_bench.adapters.base import Adapter
    from sciml_bench.adapters.conformance import Check


@click.group(epilog="\b\nExample:\n  sciml-bench adapter check scipy\n")
def adapter() -> None:
    """Check an adapter against the conformance suite."""


@adapter.command(
    epilog="""\b
Examples:
  sciml-bench adapter check scipy
  sciml-bench adapter check diffrax -k kvaerno5
"""
)
@click.argument("name", shell_complete=completion.ADAPTERS)
@click.option("-k", "keyword", default="", metavar="EXPR", help="Only cells whose label matches, as in `pytest -k`.")
@click.option("--all", "everything", is_flag=True, help="Every combination of method, sensitivity and mode.")
@click.option(
    "--timeout", "timeout_s", type=SECONDS, default=300.0, show_default=True, metavar="S", help="Limit of each cell."
)
@json_option
def check(name: str, keyword: str, everything: bool, timeout_s: float, as_json: bool) -> int:
    """Check that the adapter NAME meets its declaration; exit code 1 if it does not.

    Small problems with known answers are solved and differentiated in fresh processes: right results at the promised
    accuracy, honest failures, breakpoints, no compilation in timed loops.
    """
    from sciml_bench.adapters import conformance, registry
    from sciml_bench.planning.keyword_expression import compile_keyword

    declared = registry.adapter(name)
    _refuse_models(declared)
    _check_installed(declared)
    wanted = compile_keyword(keyword)
    cells = [cell for cell in conformance.cells(declared, everything) if wanted(cell.label)]
    if not cells:
        click.echo(f"nothing is selected: no cell of {name} matches '{keyword}'", err=True)
        return exit_codes.NOTHING_SELECTED
    found: list[Check] = []
    for result in conformance.check(declared, cells, timeout_s):
        found.append(result)
        click.echo(f"{result.status:<8} {result.cell}  {result.name}: {result.message}", err=as_json)
    if as_json:
        print_json([{"cell": c.cell, "check": c.name, "status": c.status, "message": c.message} for c in found])
    failed = sum(result.status == "failed" for result in found)
    click.echo(f"{name}: {len(found)} checks of {len(cells)} cells, {failed} failed", err=as_json)
    return exit_codes.CHECK_FAILED if failed else exit_codes.OK


def _refuse_models(declared: Adapter) -> None:
    from sciml_bench.record.task import CONVENTIONAL

    if declared.track == CONVENTIONAL:
        command = f"sciml-bench conventional --adapter {declared.name} --profile smoke"
        raise UsageError(f"{declared.name} runs models, whose parity is checked in every cell; run: {command}")


def _check_installed(declared: Adapter) -> None:
    from sciml_bench.adapters import registry

    lacking = registry.missing(declared)
    if lacking is not None:
        raise UsageError(f"{declared.name} cannot be checked here: {lacking.reason}")
