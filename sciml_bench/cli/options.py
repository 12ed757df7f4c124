"""Options shared by commands, each written once so that they mean the same everywhere."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from sciml_bench.cli import completion
from sciml_bench.cli.parameter_types import NAMES, SECONDS, SIZE
from sciml_bench.planning import profiles

machine_option = click.option(
    "--machine",
    type=click.IntRange(min=1),
    metavar="N",
    help="Of a run on several kinds of machines: the one to show; without it the one with most records.",
)


Command = Callable[..., Any]


def selection_options(*, suite: bool = True, problem: bool = True) -> Callable[[Command], Command]:
    """The options that select cells, gathered into one keyword argument ``selection`` (a dict of axis → names)."""
    axes: list[tuple[str, str, str]] = [
        ("--adapter", "adapters", "Only these adapters (frameworks)."),
        ("--method", "methods", "Only these methods, whatever the profile includes."),
        ("--sensitivity", "sensitivities", "Only these kinds of gradient, whatever the profile includes."),
        ("--mode", "modes", "Only these modes, whatever the profile includes."),
        ("--saving", "savings", "Only these ways of saving: default, or landing, with steps that end at saved times."),
        ("--precision", "precisions", "These precisions: float64, float32, bfloat16, or tf32 on a GPU."),
        ("--device", "devices", "These devices: cpu, gpu, or both to compare them.  [default: cpu]"),
        ("--cell", "cells", "Only the cell with this label, whatever the profile includes."),
    ]
    if problem:
        axes.insert(0, ("--problem", "problems", "Only these problems, whatever the profile includes."))
    if suite:
        axes.insert(0, ("--suite", "suites", "Only problems of these suites."))

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def gathered(**values: Any) -> Any:
            selection: dict[str, Any] = {key: _flat(values.pop(key)) for _, key, _ in axes}
            selection["keyword"] = values.pop("keyword")
            return command(selection=selection, **values)

        wrapped: Command = gathered
        for flag, key, text in reversed(axes):
            source = completion.SOURCES.get(key)
            complete = None if source is None else completion.completing(source, joined=True)
            wrapped = click.option(
                flag,
                key,
                type=NAMES,
                multiple=True,
                metavar="NAME[,NAME]",
                help=text,
                shell_complete=complete,
            )(wrapped)
        keyword = click.option(
            "-k", "keyword", default="", metavar="EXPR", help="Only cells whose label matches, as in `pytest -k`."
        )
        return keyword(wrapped)

    return decorate


def _flat(values: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in values for name in names))


def measuring_options(command: Command) -> Command:
    """The options that say how much is measured and within what limits."""
    decorators = (
        click.option(
            "--profile",
            type=click.Choice(profiles.NAMES),
            default=profiles.DEFAULT,
            show_default=True,
            help="The amount of measuring.",
        ),
        out_option,
        click.option(
            "--timeout",
            "timeout_s",
            type=SECONDS,
            metavar="S",
            help="Limit of each phase, in seconds [default: the profile's, 30 to 600].",
        ),
        click.option("--memory-limit", type=SIZE, metavar="SIZE", help="Limit of each worker, such as 4G."),
        click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads per worker."),
        click.option(
            "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the order and inputs."
        ),
    )
    for decorator in reversed(decorators):
        command = decorator(command)
    return command


out_option = click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("results"),
    show_default=True,
    metavar="DIR",
    help="Folder of the runs.",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON; messages go to standard error.")
