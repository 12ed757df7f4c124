"""Entry point of ``sciml-bench``: finds the command, turns errors into messages and exit codes.

Nothing but click is imported before the command is known, so that ``--help`` and listings start at once.
"""

from __future__ import annotations

import errno
import importlib
import io
import os
import shlex
import sys
import warnings
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import click

from sciml_bench import __version__
from sciml_bench.cli import exit_codes
from sciml_bench.errors import ProblemWarning, SciMLBenchError
from sciml_bench.record.text import printable

# Name → where the command is, and its line in the help, which is printed without importing it.
COMMANDS: dict[str, tuple[str, str]] = {
    "stiff": ("sciml_bench.cli.run:stiff", "Run the suite of stiff problems."),
    "nonstiff": ("sciml_bench.cli.run:nonstiff", "Run the suite of non-stiff problems."),
    "neural": ("sciml_bench.cli.run:neural", "Run the suite of neural and universal differential equations."),
    "pde": ("sciml_bench.cli.run:pde", "Run the suite of discretised partial differential equations."),
    "events": ("sciml_bench.cli.run:events", "Run the suite of problems whose state jumps at events."),
    "dae": ("sciml_bench.cli.run:dae", "Run the suite of problems with algebraic equations."),
    "conventional": (
        "sciml_bench.cli.run:conventional",
        "Run the suite of conventional models, a CNN and transformers among them.",
    ),
    "advise": (
        "sciml_bench.cli.advise:advise",
        "Say which solver, framework and kind of gradient to take.",
    ),
    "import": (
        "sciml_bench.cli.importing:import_model",
        "Write a Python function, SBML or PEtab as a problem file.",
    ),
    "run": ("sciml_bench.cli.run:run", "Run selected cells of the catalog, or your own problem files."),
    "scale": (
        "sciml_bench.cli.scale:scale",
        "Measure how cost grows with the size of a batch, network or grid, with theta, the time span or the tolerance.",
    ),
    "plan": ("sciml_bench.cli.plan:plan", "Show the cells that would run, their cost, and those skipped."),
    "worker": (
        "sciml_bench.cli.units:worker",
        "Run one unit of work (one block of a problem) and write a shard.",
    ),
    "merge": ("sciml_bench.cli.units:merge", "Merge shards into their run."),
    "status": ("sciml_bench.cli.status:status", "Show the progress of a run on a cluster."),
    "show": ("sciml_bench.cli.show:show", "Show the tables of a run."),
    "query": ("sciml_bench.cli.query:query", "Query run records with SQL."),
    "export": ("sciml_bench.cli.export:export", "Write a run as a table: CSV, Parquet, LaTeX, Markdown or JSON."),
    "plot": ("sciml_bench.cli.plot:plot", "Draw one kind of figure of a run, as PNG, SVG or PDF."),
    "compare": ("sciml_bench.cli.compare:compare", "Compare two runs, or two selections of one run, in four verdicts."),
    "report": (
        "sciml_bench.cli.report:report",
        "Write the report of runs as one HTML file: verdicts, tables, figures, and why to believe them.",
    ),
    "verify": ("sciml_bench.cli.verify:verify", "Check a run against the rules of measurement."),
    "certify": (
        "sciml_bench.cli.certify:certify",
        "Write the objective of a model and its gradient with their certified digits.",
    ),
    "doctor": ("sciml_bench.cli.doctor:doctor", "Report sources of timing noise on this machine and how to fix each."),
    "selftest": (
        "sciml_bench.cli.selftest:selftest",
        "Measure how often verdicts are wrong on this machine, and the slowdown they find.",
    ),
    "list": ("sciml_bench.cli.listing:listing", "List problems, adapters, suites or runs."),
    "describe": ("sciml_bench.cli.describe:describe", "Describe a problem, or print its equations as source code."),
    "claims": ("sciml_bench.cli.claims:claims", "List, test and judge published performance claims."),
    "schema": ("sciml_bench.cli.schema:schema", "Print the JSON Schema of problem files."),
    "adapter": ("sciml_bench.cli.adapter:adapter", "Check an adapter against the conformance suite."),
    "versions": (
        "sciml_bench.cli.versions:versions",
        "Measure releases of a package on the same cells, and say which is slower.",
    ),
    "julia": ("sciml_bench.cli.julia:julia", "Set up Julia, or show its status."),
    "env": (
        "sciml_bench.cli.env:env",
        "Make environments of Python packages for adapters.",
    ),
    "each": (
        "sciml_bench.cli.each:each",
        "Advise, certify, or compute or check references for many models at once.",
    ),
    "reference": ("sciml_bench.cli.reference:reference", "Show, compute or check reference solutions."),
}

_EPILOG = f"""\b
Examples:
  sciml-bench stiff --profile smoke
  sciml-bench run my_problem.toml --adapter scipy,diffrax
  sciml-bench list problems

{exit_codes.TEXT}"""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in the order in which a newcomer needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        return getattr(importlib.import_module(module), attribute)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; for an unknown name suggest the closest."""
        from difflib import get_close_matches

        close = get_close_matches(args[0], COMMANDS, n=1) if args else []
        if close and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"No such command '{args[0]}'. Did you mean '{close[0]}'?", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The command list of the help, from the table above alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sciml-bench")
@click.option("--debug", is_flag=True, help="Show a traceback with every error.")
def cli(debug: bool) -> None:
    """Find the solver, framework and kind of gradient for your differential equation."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; messages go to standard error."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # Characters that an encoding does not have are spelled.
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors="backslashreplace")
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        return _carry_out(words)


def _show_warning(message: Warning | str, category: type[Warning], *_place: Any) -> None:
    said = f"{message}" if issubclass(category, ProblemWarning) else f"{category.__name__}: {message}"
    _complain(f"warning: {said}")


def _complain(text: str) -> None:
    """Print a message on standard error: it may quote a stranger's file, folder or package."""
    click.echo(printable(text), err=True)


def _carry_out(words: list[str]) -> int:
    try:
        result = _invoked(words)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        return _click_failure(error)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return exit_codes.INTERRUPTED
    except SciMLBenchError as error:
        if words[0] == "--debug":
            raise
        _complain(f"ERROR: {error}")
        return exit_codes.USAGE
    except BrokenPipeError:
        # The reader went away (`sciml-bench show … | head`); Python would complain again while flushing at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return exit_codes.OK
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        click.echo(f"ERROR: the output cannot be written: {error.strerror}", err=True)
        return exit_codes.USAGE
    return result if isinstance(result, int) else exit_codes.OK


def _invoked(words: list[str]) -> Any:
    if "_SCIML_BENCH_COMPLETE" in os.environ:
        return cli.main(words, prog_name="sciml-bench", standalone_mode=False, obj=words)
    # Click's own main makes a closed pipe an exit with code 1, as if a check had failed.
    with cli.make_context("sciml-bench", words.copy(), obj=words) as context:
        return cli.invoke(context)


def typed_command(without: Collection[str] = ()) -> str:
    """The command line that is being carried out, to be typed again, without these words."""
    typed = click.get_current_context().find_root().obj
    return shlex.join(["sciml-bench", *(word for word in typed if word not in without)])


def _click_failure(error: click.ClickException) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return exit_codes.USAGE
    _complain(f"ERROR: {error.format_message()}")
    if isinstance(error, click.UsageError) and error.ctx is not None:
        click.echo(f"See `{error.ctx.command_path} --help`.", err=True)
    return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
