"""``run`` and the suite verbs, which are ``run --suite``."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sciml_bench.cli import completion, exit_codes
from sciml_bench.cli.cluster import Where, check_cluster, engine_of, engine_options, print_dry_run
from sciml_bench.cli.machine import one_at_a_time, wait_options
from sciml_bench.cli.main import typed_command
from sciml_bench.cli.options import json_option, measuring_options, selection_options
from sciml_bench.cli.parameter_types import TIME_SPAN

if TYPE_CHECKING:
    from sciml_bench.engine.interface import Engine
    from sciml_bench.execution.session import Session
    from sciml_bench.planning.plan import Plan


resume_option = click.option(
    "--resume/--new",
    "resume",
    default=None,
    help="Resume the latest unfinished run of the same plan (the default), or start a new one.",
)

within_option = click.option(
    "--within",
    "within_s",
    type=TIME_SPAN,
    help="Begin no block after the first that would not end in this time, as 30min or 8h; the same command "
    "continues later.",
)


def epilog(*examples: str) -> str:
    lines = "\n".join(f"  {example}" for example in examples)
    return f"\b\nExamples:\n{lines}\n\n{exit_codes.TEXT}"


@click.command(
    epilog=epilog(
        "sciml-bench run --suite stiff --profile smoke",
        "sciml-bench run my_problem.toml",
        "sciml-bench run --problem robertson --adapter diffrax --method kvaerno5",
        "sciml-bench run -k 'robertson and not torch'",
    )
)
@click.argument(
    "words",
    nargs=-1,
    metavar="[PROBLEM|SUITE|FILE.toml|FILE.py:NAME]...",
    shell_complete=completion.WORDS,
)
@selection_options()
@measuring_options
@resume_option
@within_option
@engine_options
@wait_options
@json_option
def run(words: tuple[str, ...], selection: dict[str, Any], **options: Any) -> int:
    """Run selected cells of the catalog, or your own problem files.

    Every cell is measured in fresh processes. The run ends with a table per problem, the failures, and the answer:
    which way to take. The same command resumes an interrupted run.
    """
    from sciml_bench.spec import catalog

    if not words and not any(selection.values()):
        raise click.UsageError(
            "nothing is named. Give problems, suites or files, as in `sciml-bench run robertson`, or select with an "
            f"option. Everything is `sciml-bench run {' '.join(catalog.suites())}`, which takes hours"
        )
    return _run(selection, words, **options)


class _SuiteCommand(click.Command):
    """A command that takes no problems, and says which one does."""

    allow_extra_args = True

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        more = super().parse_args(ctx, args)
        if more:
            command = f"sciml-bench run {shlex.join(more)}"
            raise click.UsageError(f"`{self.name}` runs its whole suite and takes no problem; run: {command}", ctx)
        return more


def _suite_verb(name: str, line: str) -> click.Command:
    @click.command(
        name,
        cls=_SuiteCommand,
        help=line,
        epilog=epilog(f"sciml-bench {name} --profile smoke", f"sciml-bench {name} --adapter scipy"),
    )
    @selection_options(suite=False)
    @measuring_options
    @resume_option
    @within_option
    @engine_options
    @wait_options
    @json_option
    def verb(selection: dict[str, Any], **options: Any) -> int:
        return _run({**selection, "suites": (name,)}, (), **options)

    return verb


stiff = _suite_verb("stiff", "Run the suite of stiff problems. The same as `run --suite stiff`.")
nonstiff = _suite_verb("nonstiff", "Run the suite of non-stiff problems. The same as `run --suite nonstiff`.")
neural = _suite_verb(
    "neural", "Run the suite of neural and universal differential equations. The same as `run --suite neural`."
)
conventional = _suite_verb(
    "conventional",
    "Run the suite of conventional models, a CNN and transformers among them. The same as `run --suite conventional`.",
)
pde = _suite_verb("pde", "Run the suite of discretised partial differential equations. The same as `run --suite pde`.")


events = _suite_verb(
    "events", "Run the suite of problems whose state jumps at events. The same as `run --suite events`."
)
dae = _suite_verb("dae", "Run the suite of problems with algebraic equations. The same as `run --suite dae`.")


def _run(
    selection: dict[str, Any],
    words: tuple[str, ...],
    *,
    out: Path,
    resume: bool | None,
    within_s: float | None,
    where: Where,
    wait: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    from sciml_bench.cli.importing import as_problem_file
    from sciml_bench.cli.plan import print_left_out, print_nothing
    from sciml_bench.cli.progress import carry_out
    from sciml_bench.execution.planning import planned
    from sciml_bench.execution.session import open_session
    from sciml_bench.planning.selection import Selection

    if where.is_cluster and within_s is not None:
        raise click.UsageError("--within is for --engine local: a cluster has --time")
    words = tuple(as_problem_file(word, out) for word in words)
    chosen, files = Selection(**selection).naming(words)
    plan = planned(chosen, files, out=out, **options)
    if not plan.planned:
        return print_nothing(plan)
    print_left_out(plan, chosen.adapters)
    name = _name(selection, words, plan)
    if where.dry_run:
        print_dry_run(where, plan, out, as_json)
        return exit_codes.OK
    if where.engine == "files":
        session = open_session(plan, out, name, resume=resume, command=typed_command())
        return _hand_over(session, as_json)
    if where.is_cluster:
        check_cluster(where, plan, out)
        session = open_session(plan, out, name, resume=resume, command=typed_command(), elsewhere=True)
        carry_out(session, as_json, engine_of(where, session, as_json))
        return end(session, as_json)
    with one_at_a_time(wait, plan.profile):
        session = open_session(plan, out, name, resume=resume, command=typed_command())
        carry_out(session, as_json, None if within_s is None else _within(session, within_s))
    return end(session, as_json)


def _within(session: Session, within_s: float) -> Engine:
    """The local engine, as long as there is time."""
    from sciml_bench.engine.local import LocalEngine
    from sciml_bench.execution.within import WithinEngine

    return WithinEngine(LocalEngine(session.run.environment_hash), time.monotonic() + within_s)


def _name(selection: dict[str, Any], words: tuple[str, ...], plan: Plan) -> str:
    """Return the name of a run folder after its date."""
    what = "-".join(selection["suites"]) or "-".join(Path(word).stem for word in words[:2]) or "selection"
    return f"{what}_{plan.profile.name}"


def _hand_over(session: Session, as_json: bool) -> int:
    """Write the units of all that is left, and say what to do with them; returns the exit code."""
    from sciml_bench.cli.output import print_json
    from sciml_bench.engine.files import UNITS, FilesEngine

    folder = session.run.folder
    session.carry_out(engine=FilesEngine(folder / UNITS))
    rest = session.rest
    if as_json:
        units = [str(path) for path in rest.handed_over]
        print_json({"folder": str(folder), "units": units, "begun_here": rest.begun})
    else:
        click.echo(f"run folder: {folder}")
        if rest.handed_over:
            click.echo(f"units to carry out: {len(rest.handed_over)}, in {folder / UNITS}")
            click.echo("  each on a machine with the same software, and then all of them joined:")
            click.echo(f"    sciml-bench worker --unit {rest.handed_over[0]} --out SHARD")
            click.echo(f"    sciml-bench merge SHARD... -o {folder}")
        elif not rest and not session.interrupted:
            click.echo("all of it is measured")
        if rest.begun:
            click.echo(f"begun on this machine, which must finish them: {', '.join(rest.begun)}")
            click.echo("  the same command with --engine local measures the rest here")
    return exit_codes.INTERRUPTED if session.interrupted else exit_codes.OK


def end(session: Session, as_json: bool) -> int:
    """Print the report of a run, and how to continue an interrupted one; returns the exit code."""
    from sciml_bench.analysis.failures import broken
    from sciml_bench.cli.show import print_report
    from sciml_bench.execution.within import OUT_OF_TIME

    summary = print_report(session.run, as_json)
    if session.interrupted:
        click.echo(f"interrupted; resume with: {typed_command(without=('--new',))}", err=True)
        return exit_codes.INTERRUPTED
    for unit in session.rest.begun:
        click.echo(
            f"lost: {unit}: a part of it is in the run, and its shard is not there: begin another with --new", err=True
        )
    lost = session.rest.begun or any(reason != OUT_OF_TIME for reason in session.rest.lost.values())
    return exit_codes.BROKEN_CELLS if lost or broken(summary) else exit_codes.OK
