"""``scale``: one problem at several sizes in one run, and how its cost grows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sciml_bench.cli import completion
from sciml_bench.cli.machine import one_at_a_time, wait_options
from sciml_bench.cli.main import typed_command
from sciml_bench.cli.options import json_option, measuring_options, selection_options
from sciml_bench.cli.run import epilog, resume_option
from sciml_bench.errors import UsageError
from sciml_bench.planning.purpose import AXES


def numbers(values: str | None, over: str) -> tuple[float, ...]:
    """The numbers of ``--values``. ``UsageError`` if a word is not a number."""
    found: list[float] = []
    for word in values.split(",") if values is not None else ():
        try:
            found.append(float(word))
        except ValueError:
            kind, example = ("tolerance", "1e-4,1e-6") if over == "tolerance" else ("whole number above zero", "1,4,16")
            raise UsageError(f"--values: '{word.strip()}' is not a {kind}; write for example {example}") from None
    return tuple(found)


@click.command(
    epilog=epilog(
        "sciml-bench scale small-node --over batch --values 1,4,16,64",
        "sciml-bench scale spiral-node --over parameters --adapter diffrax --sensitivity forward,checkpointed",
        "sciml-bench scale heat --over points --values 31,63,127 --adapter scipy,diffrax",
        "sciml-bench scale small-node --over span --sensitivity discrete,checkpointed,backsolve",
        "sciml-bench scale my_problem.toml --over tolerance --values 1e-3,1e-5,1e-7",
    )
)
@click.argument("problem", metavar="PROBLEM", shell_complete=completion.PROBLEMS)
@click.option("--over", type=click.Choice(tuple(AXES)), required=True, help="The quantity that changes.")
@click.option(
    "--values", metavar="N[,N]", help="Sizes or tolerances to run, at least three [default: chosen for --over]."
)
@click.option("--network", default="", metavar="NAME", help="The network whose width is changed, if there are several.")
@selection_options(suite=False, problem=False)
@measuring_options
@resume_option
@wait_options
@json_option
def scale(
    problem: str, over: str, values: str | None, network: str, selection: dict[str, Any], out: Path,
    resume: bool | None, wait: str | None, as_json: bool, **options: Any,
) -> int:  # fmt: skip
    """Measure how cost grows with the size of a batch, network or grid, with theta, the time span or the tolerance.

    PROBLEM is a name of the catalog or a file. Every size is a separate problem, made from the file with one number
    changed and kept in the run's folder; all are measured in one run. A table for each quantity follows with the
    exponent k of cost ~ size^k and its interval, and the sizes at which cells change places.

    A problem without a batch gets one whose initial states are drawn around its own. Over points, a grid keeps its
    stretch of space. Over span, the time span grows by whole factors, and the number of steps with it: the growth of a
    gradient's memory shows what each kind keeps of a step. Over parameters, theta grows by the width of the network
    while the equations stay the same. Over these two, without a method or a sensitivity named, every kind of gradient
    of each adapter's first recommended method is measured. Variants are not trained.
    """
    from sciml_bench.cli.plan import print_nothing
    from sciml_bench.cli.progress import carry_out
    from sciml_bench.cli.run import end
    from sciml_bench.execution.scaling import scaling_plan
    from sciml_bench.execution.session import open_session
    from sciml_bench.planning.selection import Selection

    chosen = Selection(**{**selection, "problems": ()})
    with scaling_plan(
        problem, over, numbers(values, over), network=network, selection=chosen, out=out, **options
    ) as made:
        if not made.plan.planned:
            return print_nothing(made.plan)
        with one_at_a_time(wait, made.plan.profile):
            session = open_session(made.plan, out, made.name, resume=resume, command=typed_command(), write=made.write)
            carry_out(session, as_json)
    return end(session, as_json)
