"""Options shared by commands, each written once so that they mean the same everywhere."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from sciml_bench.cli import completion
from sciml_bench.planning import profiles

machine_option = click.option(
    "--machine",
    type=click.IntRange(min=1),
    metavar="N",
    help="Of a run on several kinds of machines: the one to show; without it the one with most records.",
)


Command = Callable[..., Any]

_SIZE = re.compile(r"(?i)(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[KMGT])(?:i?B)?")
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


class Seconds(click.ParamType):
    """A positive, finite number of seconds."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the number; fails on NaN, infinity and numbers that are not above zero."""
        try:
            number = float(value)
        except ValueError:
            self.fail(f"'{value}' is not a number of seconds", param, ctx)
        if not math.isfinite(number) or number <= 0:
            self.fail(f"'{value}' is not a positive, finite number of seconds", param, ctx)
        return number


class Size(click.ParamType):
    """An amount of memory in bytes, written ``800M`` or ``4G`` (binary units)."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the size."""
        if isinstance(value, int):
            return value
        match = _SIZE.fullmatch(value.strip())
        n_bytes = int(float(match["number"]) * _UNITS[match["unit"].upper()]) if match else 0
        if n_bytes <= 0:
            self.fail(f"'{value}' is not a size; write for example 800M or 4G", param, ctx)
        return n_bytes


_TIME = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>s|min|h)?")
_SECONDS = {None: 1.0, "s": 1.0, "min": 60.0, "h": 3600.0}


class TimeSpan(click.ParamType):
    """A span of time, as 90s, 10min or 1h; a number alone is seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the seconds."""
        if isinstance(value, float):
            return value
        match = _TIME.fullmatch(value.strip())
        seconds = float(match["number"]) * _SECONDS[match["unit"]] if match else 0.0
        if not seconds > 0:
            self.fail(f"'{value}' is not a time; write for example 90s, 10min or 1h", param, ctx)
        return seconds


class Names(click.ParamType):
    """Names joined by commas."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Split at the commas."""
        if isinstance(value, tuple):
            return value
        names = tuple(name.strip() for name in value.split(","))
        if not all(names):
            self.fail(f"'{value}' has an empty name", param, ctx)
        return names


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
            source = getattr(completion, key, None)
            complete = None if source is None else completion.completing(source, joined=True)
            wrapped = click.option(
                flag, key, type=Names(), multiple=True, metavar="NAME[,NAME]", help=text, shell_complete=complete
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
        click.option("--timeout", "timeout_s", type=Seconds(), metavar="S", help="Limit of each phase, in seconds."),
        click.option("--memory-limit", type=Size(), metavar="SIZE", help="Limit of each worker, such as 4G."),
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
