"""``export``: a run as a table for other programs and for papers."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from sciml_bench.cli import completion, exit_codes
from sciml_bench.cli.options import machine_option, out_option
from sciml_bench.cli.output import print_left_out
from sciml_bench.cli.parameter_types import PRICE

if TYPE_CHECKING:
    from sciml_bench.export.column import Row
    from sciml_bench.record.run_folder import Run


FORMATS = ("csv", "parquet", "latex", "markdown", "json")
_OF_TABLES = ("latex", "markdown")
_TOLD_EVERY_S = 2.0


@click.command(
    epilog="""\b
Examples:
  sciml-bench export --to csv -o samples.csv
  sciml-bench export results/2026-11-21T10-31-05Z_stiff_quick --to parquet -o samples.parquet
  sciml-bench export --to json --summary --price-per-hour 2.50
  sciml-bench export 2026-11-21T10-31-05Z_stiff_standard --to latex -o tables.tex

\b
Exit codes:
    0  written
    2  wrong usage, a folder that is not a run, or a file that cannot be written
    4  the run has no record
"""
)
@click.argument("run", required=False, metavar="[RUN]", shell_complete=completion.RUNS)
@click.option("--to", "form", type=click.Choice(FORMATS), required=True, help="The format.")
@click.option(
    "--summary", is_flag=True, help="A row for each cell of each table. LaTeX and Markdown are always such tables."
)
@click.option(
    "--price-per-hour",
    type=PRICE,
    metavar="PRICE",
    help="Hourly price of the machine; adds cost columns to the summary.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write to FILE, not to standard output.",
)
@machine_option
@out_option
def export(
    run: str | None,
    form: str,
    summary: bool,
    price_per_hour: float | None,
    output: Path | None,
    machine: int | None,
    out: Path,
) -> int:
    """Write a run as a table: CSV, Parquet, LaTeX, Markdown or JSON. RUN is its folder, its name, or nothing for the
    newest one.

    Long format has a row for each raw sample. The summary has latency, throughput, error, memory, energy and cost of a
    cell in the same row.
    """
    from sciml_bench.analysis.machines import of_one_kind
    from sciml_bench.errors import UsageError
    from sciml_bench.record.run_folder import find_run

    summary = summary or form in _OF_TABLES
    if form == "parquet" and output is None:
        raise UsageError("Parquet is a binary format: name its file with -o FILE")
    if price_per_hour is not None and not summary:
        raise UsageError("--price-per-hour is for the summary: add --summary")
    found = find_run(run, out)
    written = (
        _write_summary(of_one_kind(found, machine), form, price_per_hour, output)
        if summary
        else _write_samples(found, form, output)
    )
    if not written:
        click.echo(f"nothing to export: {found.folder} has no record", err=True)
        return exit_codes.NOTHING_SELECTED
    return exit_codes.OK


def _write_samples(run: Run, form: str, output: Path | None) -> bool:
    from sciml_bench.export.samples import COLUMNS, sample_rows

    return _write_rows(COLUMNS, sample_rows(run, print_left_out), form, output)


def _write_summary(run: Run, form: str, price: float | None, output: Path | None) -> bool:
    from sciml_bench.analysis.analysis import analysed
    from sciml_bench.export.cells import COLUMNS, cell_rows, lines

    found = analysed(run, print_left_out)
    if form not in _OF_TABLES:
        return _write_rows(COLUMNS, cell_rows(found, price), form, output)
    from sciml_bench.render.latex import latex
    from sciml_bench.render.markdown import markdown

    if not any(True for _ in lines(found)):
        return False
    with _file(output) as file:
        file.writelines(f"{line}\n" for line in (latex if form == "latex" else markdown)(found, price))
    return True


def _write_rows(columns: Any, rows: Iterator[Row], form: str, output: Path | None) -> bool:
    """Write rows as they come; nothing, not even a heading, when there are none."""
    first = next(rows, None)
    if first is None:
        return False
    counted = _told(_with(first, rows))
    if form == "parquet":
        from sciml_bench.export.parquet_file import write_parquet

        assert output is not None
        with _whole(output) as path:
            write_parquet(columns, counted, path)
        return True
    from sciml_bench.export.csv_file import write_csv
    from sciml_bench.export.json_file import write_json

    with _file(output) as file:
        if form == "csv":
            write_csv(columns, counted, file)
        else:
            write_json(columns, counted, file)
    return True


def _with(first: Row, rest: Iterable[Row]) -> Iterator[Row]:
    yield first
    yield from rest


def _told(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows, and report their number on a terminal every other second."""
    told_s = time.monotonic()
    for number, row in enumerate(rows, start=1):
        if number % 1000 == 0 and sys.stderr.isatty() and time.monotonic() > told_s + _TOLD_EVERY_S:
            told_s = time.monotonic()
            click.echo(f"{number} rows", err=True)
        yield row


@contextmanager
def _file(output: Path | None) -> Iterator[IO[str]]:
    """Standard output, or a file that is there when it is whole."""
    if output is None:
        yield sys.stdout
        return
    with _whole(output) as path, path.open("w", encoding="utf-8", newline="") as file:
        yield file


@contextmanager
def _whole(output: Path) -> Iterator[Path]:
    """A temporary name next to a file, which replaces the file in the end; nothing is left after an error."""
    from sciml_bench.errors import StoreError
    from sciml_bench.record.jsonl import whole

    try:
        with whole(output) as temporary:
            yield temporary
    except OSError as error:
        raise StoreError(f"cannot write {output}: {error.strerror or error}. Choose another file with -o.") from error
