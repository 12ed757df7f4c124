"""``run`` and the suite verbs, which are ``run --suite``."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sciml_bench.cli import options as exits
from sciml_bench.cli.main import one_at_a_time, typed_command
from sciml_bench.cli.options import json_option, measuring_options, selection_options, wait_option

if TYPE_CHECKING:
    from sciml_bench.plan.plan import Plan
    from sciml_bench.record.run_folder import Run


resume_option = click.option(
    "--resume/--new",
    "resume",
    default=None,
    help="Continue the newest unfinished run of the same plan, or start anew. Default: continue it if there is one.",
)


def epilog(*examples: str) -> str:
    lines = "\n".join(f"  {example}" for example in examples)
    return f"\b\nExamples:\n{lines}\n\n{exits.TEXT}"


@click.command(
    epilog=epilog(
        "sciml-bench run --suite stiff --profile smoke",
        "sciml-bench run my_problem.toml",
        "sciml-bench run --problem robertson --adapter diffrax --method kvaerno5",
        "sciml-bench run -k 'robertson and not torch'",
    )
)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE.toml]...")
@selection_options()
@measuring_options
@resume_option
@wait_option
@json_option
def run(files: tuple[Path, ...], selection: dict[str, Any], **options: Any) -> int:
    """Run selected cells, or problem files of your own.

    Without a FILE the problems come from the catalog. Every cell is measured in fresh processes; a table per problem
    follows, then the failures, and the sum of all cells. An interrupted run is continued by the same command.
    """
    return _run(selection, files, **options)


def _suite_verb(name: str, line: str) -> click.Command:
    @click.command(
        name, help=line, epilog=epilog(f"sciml-bench {name} --profile smoke", f"sciml-bench {name} --adapter scipy")
    )
    @selection_options(suite=False)
    @measuring_options
    @resume_option
    @wait_option
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


def _run(
    selection: dict[str, Any],
    files: tuple[Path, ...],
    *,
    out: Path,
    resume: bool | None,
    wait: bool,
    as_json: bool,
    **options: Any,
) -> int:
    from sciml_bench.cli.plan import planned, print_nothing

    plan = planned(selection, files, out=out, **options)
    if not plan.planned:
        return print_nothing(plan)
    with one_at_a_time(wait):
        run = open_run(plan, out, resume, _name(selection, files, plan))
        interrupted = carry_out(plan, run, as_json)
    return end(run, interrupted, as_json)


def _name(selection: dict[str, Any], files: tuple[Path, ...], plan: Plan) -> str:
    """What a run folder is called after its date."""
    what = "-".join(selection["suites"]) or "-".join(path.stem for path in files[:2]) or "selection"
    return f"{what}_{plan.profile.name}"


def open_run(
    plan: Plan, out: Path, resume: bool | None, name: str, settle: Callable[[Path], Plan] | None = None
) -> Run:
    """The run to append to: an unfinished one of the same plan, or a new one.

    ``settle`` puts what the plan needs into the folder of a new run, and returns the plan as it is from there.
    """
    from sciml_bench.errors import UsageError
    from sciml_bench.host.environment import environment_facts
    from sciml_bench.record.run_folder import Run, environment_hash
    from sciml_bench.run.executor import unfinished

    facts = environment_facts(
        (name for adapter in plan.adapters.values() for name in adapter.packages.values()), plan.settings.threads
    )
    if resume is not False:
        found, reason = unfinished(plan, out, environment_hash(facts))
        if found is not None:
            click.echo(f"resuming {found.folder}", err=True)
            return found
        if resume:
            raise UsageError(f"nothing to resume in {out}: {reason}; leave --resume out to start a new run")
    extra = {"hash": plan.hash, "command": typed_command(), "estimated_s": round(plan.cost_s())}

    def settled(folder: Path) -> dict[str, Any]:
        return (plan if settle is None else settle(folder)).to_dict() | extra

    return Run.create(out, name, plan=settled, environment=facts)


def carry_out(plan: Plan, run: Run, as_json: bool) -> bool:
    """Measure what is left; whether the user interrupted it."""
    from sciml_bench.analysis.notes import ONE_BY_ONE
    from sciml_bench.cli.progress import announcement, watching
    from sciml_bench.engine.cell_session import measures_energy
    from sciml_bench.run.executor import execute, remaining

    slots = remaining(plan, run)
    click.echo(announcement(plan, slots), err=as_json)
    of_device = {plan.planned[slot.index].cell.device: slot for slot in slots}
    if plan.profile.comparable and any(measures_energy(plan.task(slot)) for slot in of_device.values()):
        click.echo(f"{ONE_BY_ONE}; profiles with shorter loops take turns", err=as_json)
    click.echo(f"run folder: {run.folder}", err=as_json)
    try:
        with _terminable(), watching(plan, to_stderr=as_json) as watcher:
            execute(plan, run, slots, watcher)
    except KeyboardInterrupt:
        return True
    return False


@contextmanager
def _terminable() -> Iterator[None]:
    """Batch systems end jobs with SIGTERM: it is an interruption like Ctrl-C."""

    def interrupt(_number: int, _frame: Any) -> None:
        raise KeyboardInterrupt

    before: Callable[..., Any] | int | None = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def end(run: Run, interrupted: bool, as_json: bool) -> int:
    """Print the report of a run, and how to go on where it was interrupted; returns the exit code."""
    from sciml_bench.analysis.failures import broken
    from sciml_bench.cli.show import print_report

    summary = print_report(run, as_json)
    if interrupted:
        click.echo(f"interrupted; resume with: {typed_command(without=('--new',))}", err=True)
        return exits.INTERRUPTED
    return exits.BROKEN_CELLS if broken(summary) else exits.OK
