"""``advise``: what to take for one problem."""

from __future__ import annotations

import math
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sciml_bench.cli import completion, exit_codes
from sciml_bench.cli.importing import as_problem_file, t_span_option
from sciml_bench.cli.machine import one_at_a_time, wait_options
from sciml_bench.cli.main import typed_command
from sciml_bench.cli.options import json_option, out_option
from sciml_bench.cli.output import print_json
from sciml_bench.cli.parameter_types import ACCURACY, NAMES, TIME_SPAN
from sciml_bench.cli.run import epilog

if TYPE_CHECKING:
    from sciml_bench.execution.advising import Found, Listener


@click.command(
    epilog=epilog(
        "sciml-bench advise robertson",
        "sciml-bench advise my_problem.toml --in jax,torch --within 5min --code gradient.py",
        "sciml-bench advise my_problem.toml --for solve --accuracy 1e-4 --count 100000",
        "sciml-bench advise model.py:rhs",
        "sciml-bench advise problem.yaml",
        "sciml-bench advise model.xml --t-span 0,100",
    )
)
@click.argument("model", shell_complete=completion.PROBLEMS)
@click.option("--within", "within_s", type=TIME_SPAN, default="10min", show_default=True, help="The time to take.")
@click.option(
    "--for",
    "call",
    type=click.Choice(("gradient", "solve", "training")),
    default="gradient",
    show_default=True,
    help="The task: gradients of the loss, solves, or a training (one gradient for each step).",
)
@click.option(
    "--count",
    type=click.IntRange(min=1),
    metavar="N",
    help="The number of gradients or solves [default: 1000, or the steps of the training].",
)
@click.option(
    "--accuracy", type=ACCURACY, default="1e-6", show_default=True, metavar="E", help="The relative error to reach."
)
@click.option(
    "--in", "names", type=NAMES, multiple=True, metavar="NAME[,NAME]", help="Only these: adapters, or jax, torch, tf."
)
@click.option(
    "--code",
    "code",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the way to take as a script that needs only its framework.",
)
@t_span_option
@out_option
@wait_options
@json_option
def advise(
    model: str,
    t_span: tuple[float, ...] | None,
    within_s: float,
    call: str,
    count: int | None,
    accuracy: float,
    names: tuple[tuple[str, ...], ...],
    code: Path | None,
    out: Path,
    wait: str | None,
    as_json: bool,
) -> int:
    """Say which solver, framework and kind of gradient to take for MODEL.

    MODEL is a name of the catalog, a problem file, an SBML model, a PEtab problem, or a Python function as
    FILE.py:NAME, which is run. Ways are first tried in one process for each framework, the most promising first; the
    best then compete in fresh processes, until one is decided or time is up.
    """
    from sciml_bench.analysis.advice.as_given import as_given
    from sciml_bench.analysis.advice.petab_jl import compared
    from sciml_bench.execution.advising import Asked
    from sciml_bench.execution.advising import advise as find
    from sciml_bench.importing.forms import is_petab, is_python
    from sciml_bench.render.recommendation import print_recommendation, recommendation_document

    words = [word for group in names for word in group]
    of_petab, given = is_petab(model), str(Path(model).resolve()) if is_python(model) else ""
    model = as_problem_file(model, out, t_span)
    asked = Asked.about(
        model, call, count=count, accuracy=accuracy, within_s=within_s, names=words, out=out,
        command=typed_command(), given=given,
    )  # fmt: skip
    click.echo(f"{asked.entry.name}: {asked.entry.title}", err=as_json)
    for line in asked.doubts:
        click.echo(f"  {line}", err=as_json)
    with one_at_a_time(wait):
        found = find(asked, _listener(asked.advised.count, as_json))
    usual = [compared(found.recommendation, asked.entry.problem)] if of_petab and found.recommendation.ways else []
    usual += [line] if given and (line := as_given(found.recommendation)) else []
    if as_json:
        document = recommendation_document(found.recommendation, [str(run.folder) for run in found.runs])
        print_json({**document, "compared": usual})
    else:
        print_recommendation(found.recommendation)
        for line in usual:
            click.echo(line)
        click.echo(f"runs: {', '.join(str(run.folder) for run in found.runs)}")
    if found.recommendation.ways and not found.recommendation.standing.decided and len(found.recommendation.ways) > 1:
        click.echo(f"To decide it, give it more time: {with_more_time(asked.command, 2 * within_s)}", err=as_json)
    if found.recommendation.ways:
        _write(found, model, code, as_json)
    return exit_codes.INTERRUPTED if found.interrupted else exit_codes.OK


def with_more_time(command: str, within_s: float) -> str:
    """Return the same question with another time to take."""
    words = iter(shlex.split(command))
    kept: list[str] = []
    for word in words:
        if word == "--within":
            next(words, "")
        elif not word.startswith("--within="):
            kept.append(word)
    time = f"{within_s / 60:g}min" if within_s % 60 == 0 else f"{within_s:g}s"
    return shlex.join([*kept, "--within", time])


def _write(found: Found, model: str, code: Path | None, as_json: bool) -> None:
    """Write the script of the cheapest way that has one, or say how to get it."""
    from sciml_bench.record.jsonl import write_whole
    from sciml_bench.record.task import DEFAULT_SAVING, GRADIENT

    best = found.recommendation.ways[0]
    way, text, why = found.first_script()
    if way is None:
        click.echo(f"no script: {why}", err=True)
        return
    if way is not best:
        factor = f", {way.factor_text} times the cost" if way.factor_text else ""
        click.echo(f"no script of {best.name}: {why}; this is {way.name}{factor}", err=True)
    if code is None:
        cell = way.cell
        saving = [] if cell.saving == DEFAULT_SAVING else [cell.saving]
        named = "/".join([cell.adapter, cell.method, cell.sensitivity, cell.mode, *saving])
        words = ["sciml-bench", "describe", model, "--code", named]
        words += [] if way.rtol is None else ["--rtol", f"{way.rtol:g}"]
        scope = "" if found.recommendation.advised.call == GRADIENT else ", with its gradient"
        click.echo(f"as a script{scope}: {shlex.join(words)}", err=as_json)
        return
    write_whole(code, text)
    click.echo(f"script: {code}", err=as_json)


def _listener(count: int, as_json: bool) -> Listener:
    from sciml_bench.analysis.tables import formatting
    from sciml_bench.execution.advising import Listener
    from sciml_bench.planning.purpose import SCREEN

    start_s = time.monotonic()

    def say(text: str) -> None:
        click.echo(f"{time.monotonic() - start_s:6.0f} s  {text}", err=as_json)

    class Lines(Listener):
        """A line for each screened way, with the best so far, and for each block of the race."""

        def __init__(self) -> None:
            self._best_s = math.inf

        def began(self, stage: str, ways: int, folder: Path) -> None:
            doing = f"trying up to {ways} ways" if stage == SCREEN else f"{ways} compete in fresh processes"
            say(f"{doing}; {folder}")

        def looked(self, cell: Any, found: Any, place: int, total: int) -> None:
            cost = found.cost
            what = found.reason.partition("\n")[0] if cost is None else f"{formatting.duration(cost.each_s)} each"
            best = ""
            if cost is not None and cost.total_s(count) < self._best_s:
                self._best_s = cost.total_s(count)
                best = f". Take it for now: {formatting.count(count)} take {formatting.duration(self._best_s)}"
            say(f"[{place}/{total}] {cell.solver}: {what}{best}")

        def provisional(self, first: Any) -> None:
            for sentence in first.sentences:
                say(sentence)

        def raced(self, block: int, left: Any) -> None:
            say(f"block {block + 1}" + (f": {', '.join(cell.solver for cell in left)} beaten" if left else ""))

    return Lines()
