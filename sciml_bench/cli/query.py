"""``query``: questions in SQL over runs."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sciml_bench.cli import completion, exit_codes
from sciml_bench.cli.options import json_option, out_option

if TYPE_CHECKING:
    from sciml_bench.export.query import Answer


@click.command(
    epilog="""\b
Views:
  records    a row for each process: outcome, time to first gradient, memory, disturbances
  points     a row for each tolerance of a process: median times, errors, outcomes, counts
  samples    a row for each call: solve or gradient; first, warm_up or steady; seconds; counted
  trainings  a row for each step of a training: step, seconds, loss, and how the training ended
  answers    a row for each problem: the fastest way, the next one, and the cheapest way for a number of gradients
  cells      a row for each cell of each table, as in `export --summary`: times at equal accuracy, verdicts

\b
Which columns there are: sciml-bench query "describe points"

\b
Examples:
  sciml-bench query "select problem, verdict, adapter, method, seconds, next_ratio from answers"
  sciml-bench query "select adapter, outcome, count(*) as points from points
      where counts group by all order by all" results/old results/new
  sciml-bench query "select record_id, quantile_cont(seconds, 0.99) / median(seconds) as tail
      from samples where counted and call = 'gradient' group by all order by tail desc limit 5"

\b
Exit codes:
    0  answered
    2  not one SELECT, a question that cannot be answered, a folder that is not a run, or DuckDB is missing
"""
)
@click.argument("question", metavar="SQL")
@click.argument("runs", nargs=-1, metavar="[RUN]...", shell_complete=completion.RUNS)
@out_option
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@json_option
def query(question: str, runs: tuple[str, ...], out: Path, as_csv: bool, as_json: bool) -> int:
    """Query run records with SQL. Give folders or names of runs, or nothing for the newest run.

    DuckDB reads the records in place. A question cannot change them, nor read or write any other file.
    """
    from sciml_bench.errors import UsageError
    from sciml_bench.export.query import ask
    from sciml_bench.record.run_folder import find_run

    if as_csv and as_json:
        raise UsageError("--csv and --json exclude each other")
    found = [find_run(name, out) for name in (runs or (None,))]
    if len({run.folder.resolve() for run in found}) < len(found):
        raise UsageError("a run is given twice")
    answer = ask(question, found)
    _print(answer, as_csv, as_json)
    if answer.left_out:
        told = f"left out, since they hold no record: {answer.left_out} lines; `sciml-bench verify` names them"
        click.echo(told, err=True)
    return exit_codes.OK


def _print(answer: Answer, as_csv: bool, as_json: bool) -> None:
    from sciml_bench.charts.chart import clean
    from sciml_bench.cli.columns import print_table
    from sciml_bench.cli.output import print_json
    from sciml_bench.export.csv_file import guarded
    from sciml_bench.export.duckdb_values import plain, text

    if as_json:
        print_json([dict(zip(answer.columns, map(plain, row), strict=True)) for row in answer.rows])
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow([guarded(name) for name in answer.columns])
        writer.writerows([_field(value) for value in row] for row in answer.rows)
    else:
        rows = [[clean(text(value)) for value in row] for row in answer.rows]
        print_table([clean(name) for name in answer.columns], rows)


def _field(value: object) -> object:
    """A field of CSV: a number as it is, all else as guarded text."""
    from sciml_bench.export.csv_file import guarded
    from sciml_bench.export.duckdb_values import plain, text

    found = plain(value)
    return found if isinstance(found, int | float) and not isinstance(found, bool) else guarded(text(found))
