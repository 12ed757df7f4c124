"""``compare``: two runs, or two selections of one run."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sciml_bench.cli import completion, exit_codes
from sciml_bench.cli.options import json_option, out_option
from sciml_bench.cli.output import print_json, print_left_out
from sciml_bench.cli.parameter_types import PERCENT

if TYPE_CHECKING:
    from sciml_bench.analysis.comparison.compare import Comparison
    from sciml_bench.record.run_folder import Run


@click.command(
    epilog="""\b
Examples:
  sciml-bench compare 2026-11-21T10-31-05Z_stiff_quick 2026-11-22T09-12-44Z_stiff_quick
  sciml-bench compare results/old results/new -k 'not torch' --band 3%
  sciml-bench compare results/old results/new --repeated results/old-again --repeated results/history
  sciml-bench compare results/old --of 'scipy and radau' --with 'diffrax and kvaerno5'

\b
Exit codes:
    0  nothing is slower in NEW, and nothing is lost; always with --of and --with
    1  something is slower in NEW, or worked in BASE and no longer works
    2  wrong usage, a folder that is not a run, or runs that cannot be compared
    4  nothing to compare: no cell matches, or none has a time on both sides
"""
)
@click.argument("base", metavar="BASE", shell_complete=completion.RUNS)
@click.argument("new", required=False, metavar="[NEW]", shell_complete=completion.RUNS)
@click.option("--of", "of", metavar="EXPR", help="Within one run: the base cells, as in -k.")
@click.option("--with", "others", metavar="EXPR", help="Within one run: the new cells, compared with the base cells.")
@click.option(
    "--repeated",
    multiple=True,
    metavar="RUN",
    help="A run that repeats BASE or NEW with the same software, or a folder of such runs: how far runs differ.",
)
@click.option("-k", "keyword", default="", metavar="EXPR", help="Only cells whose label matches, as in `pytest -k`.")
@click.option(
    "--band", type=PERCENT, default="5%", show_default=True, help="Ratios within this of 1 count as the same."
)
@click.option("--each-tolerance", is_flag=True, help="Report each tolerance separately.")
@out_option
@json_option
def compare(
    base: str,
    new: str | None,
    of: str | None,
    others: str | None,
    repeated: tuple[str, ...],
    keyword: str,
    band: float,
    each_tolerance: bool,
    out: Path,
    as_json: bool,
) -> int:
    """Compare two runs, or two selections of one run, in four verdicts: faster, slower, same, undecided.

    Times are compared at equal accuracy only. Two runs were not measured side by side: how far runs of the same program
    differ comes from repeated ones, and without them a winner is named from a factor of 2 on. Runs of different
    machines, schemas, problems or profiles are refused, and the difference is shown.
    """
    from sciml_bench.analysis.comparison.checked import between_runs, repeats, within_run
    from sciml_bench.analysis.machines import of_one_kind
    from sciml_bench.errors import UsageError
    from sciml_bench.record.run_folder import find_run

    selecting = of is not None or others is not None
    if selecting and (of is None or others is None):
        raise UsageError("--of and --with go together: they are the two selections of one run")
    if selecting == (new is not None):
        raise UsageError("give two runs, BASE and NEW, or one run with --of and --with")
    if selecting and repeated:
        raise UsageError("--repeated is for two runs; cells of one run were measured side by side")
    run = find_run(base, out)
    options = {"keyword": keyword, "band": band, "on_damage": print_left_out}
    if of is not None and others is not None:
        comparison = within_run(run, of, others, **options)
    else:
        again = [each for name in repeated for each in repeats(name, out)]
        run, other = of_one_kind(run), of_one_kind(find_run(new, out))
        comparison = between_runs(run, other, repeated=again, each_tolerance=each_tolerance, **options)
    if comparison is None:
        click.echo("nothing to compare: no cell matches on both sides", err=True)
        return exit_codes.NOTHING_SELECTED
    _print(comparison, run, as_json)
    if not (comparison.lines or comparison.worse):
        click.echo("nothing was compared: no cell has a time on both sides", err=True)
        return exit_codes.NOTHING_SELECTED
    return exit_codes.CHECK_FAILED if comparison.between_runs and comparison.worse else exit_codes.OK


def _print(comparison: Comparison, run: Run, as_json: bool) -> None:
    from sciml_bench.analysis.tables.formatting import wrapped
    from sciml_bench.cli.columns import print_table
    from sciml_bench.render.comparison import (
        HEADINGS,
        comparison_head,
        comparison_rows,
        comparison_table,
        comparison_tail,
    )
    from sciml_bench.render.comparison_document import comparison_document
    from sciml_bench.render.selftest import selftest_document, selftest_line

    if as_json:
        print_json({**comparison_document(comparison), "selftest": selftest_document(run)})
        return
    on_terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if on_terminal else 10_000
    for line in wrapped(selftest_line(run), width):
        click.echo(line)
    for line in comparison_head(comparison, width):
        click.echo(line)
    if on_terminal:
        for line in comparison_table(comparison, width):
            click.echo(line)
        return
    if comparison.lines:
        click.echo()
        print_table(HEADINGS, comparison_rows(comparison))
    for line in comparison_tail(comparison):
        click.echo(line)
