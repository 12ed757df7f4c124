"""``plot``: the figures of a run as files. (Not named ``plot``, to keep it apart from ``plan``.)"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sciml_bench.charts.catalog import KINDS
from sciml_bench.charts.catalog import charts as of_kind
from sciml_bench.charts.chart import SUFFIXES
from sciml_bench.cli import completion, exit_codes
from sciml_bench.cli.options import json_option, machine_option, out_option
from sciml_bench.cli.output import print_json, print_left_out

if TYPE_CHECKING:
    from sciml_bench.charts.chart import Chart


_LISTED = "\n".join(f"  {kind.name:<19} {kind.shows}" for kind in KINDS.values())


@click.command(
    epilog=f"""\b
Kinds, one figure for each problem and division (from profile on: across problems):
{_LISTED}

\b
Examples:
  sciml-bench plot work-precision
  sciml-bench plot gradient-precision results/2026-11-21T10-31-05Z_stiff_quick --problem robertson -o robertson.pdf
  sciml-bench plot profile 2026-11-21T10-31-05Z_stiff_standard -o profile.svg
  sciml-bench plot stability --problem robertson --json

\b
Exit codes:
    0  drawn
    2  wrong usage, a folder that is not a run, or a file that cannot be written
    4  nothing to draw
"""
)
@click.argument("kind", metavar="KIND", type=click.Choice(tuple(KINDS)))
@click.argument("run", required=False, metavar="[RUN]", shell_complete=completion.RUNS)
@click.option("--problem", metavar="NAME", help="Only this problem.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A file that ends in .png, .svg or .pdf, or a folder. Without it PNG files are written to this folder. "
    "Of several figures all but the first get their names added to the name of the file.",
)
@machine_option
@out_option
@json_option
def plot(
    kind: str,
    run: str | None,
    problem: str | None,
    output: Path | None,
    machine: int | None,
    out: Path,
    as_json: bool,
) -> int:
    """Draw one kind of figure of a run, as PNG, SVG or PDF. RUN is its folder, its name, or nothing for the newest one.

    The same records give the same bytes every time. With --json the data is printed, and nothing is drawn unless -o is
    given too.
    """
    from sciml_bench.analysis.analysis import analysed
    from sciml_bench.analysis.machines import of_one_kind
    from sciml_bench.record.run_folder import find_run

    _check_output(output)
    found = analysed(of_one_kind(find_run(run, out), machine), print_left_out)
    charts = of_kind(found, kind, problem)
    if as_json:
        from sciml_bench.charts.chart import charts_document

        print_json(charts_document(charts))
    if not charts:
        click.echo(KINDS[kind].reason(found.summary, problem), err=True)
        return exit_codes.NOTHING_SELECTED
    if output is not None or not as_json:
        _save(charts, output, quiet=as_json)
    return exit_codes.OK


def _check_output(output: Path | None) -> None:
    """Complain of a wrong suffix before anything is read."""
    from sciml_bench.errors import UsageError

    if output is not None and output.suffix.lower() not in {"", *SUFFIXES}:
        raise UsageError(f"{output}: figures are written as {', '.join(SUFFIXES)}; end the name with one of them")


def _save(charts: list[Chart], output: Path | None, *, quiet: bool) -> None:
    for number, chart in enumerate(charts):
        path = _path(chart, output, number)
        _make_folder(path.parent)
        chart.save(path)
        click.echo(f"wrote {path}", err=quiet)


def _make_folder(folder: Path) -> None:
    from sciml_bench.errors import StoreError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make {folder}: {error.strerror or error}. Choose another place with -o.") from error


def _path(chart: Chart, output: Path | None, number: int) -> Path:
    if output is None:
        return Path(f"{chart.name}.png")
    if output.is_dir() or not output.suffix:
        return output / f"{chart.name}.png"
    return output if number == 0 else output.with_name(f"{output.stem}-{chart.name}{output.suffix}")
