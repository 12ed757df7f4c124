"""``versions``: the same cells under several releases of a package, in one run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from packaging.utils import canonicalize_name

from sciml_bench.cli import options as exits
from sciml_bench.cli.machine import one_at_a_time, wait_options
from sciml_bench.cli.options import json_option, measuring_options, selection_options
from sciml_bench.cli.run import resume_option
from sciml_bench.errors import UsageError
from sciml_bench.record.task import AT

if TYPE_CHECKING:
    from sciml_bench.analysis.releases import Change

_PACKAGE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.]+(?:,[A-Za-z0-9.]+)+)")


@click.command(
    epilog="""\b
Examples:
  sciml-bench versions diffrax==0.7.1,0.7.2 robertson --profile quick
  sciml-bench versions jax==0.9.2,0.10.2 lotka-volterra --adapter diffrax --method tsit5

\b
Exit codes:
    0  measured; nothing is slower or broken in the later release
    1  something is slower or broken
    2  a release cannot be installed, or a name does not exist
"""
)
@click.argument("releases", metavar="PACKAGE==OLDER,NEWER[,...]")
@click.argument("words", nargs=-1, metavar="[PROBLEM|SUITE|FILE.toml]...")
@selection_options()
@measuring_options
@resume_option
@click.option("--offline", is_flag=True, help="Use only packages that uv has downloaded before.")
@wait_options
@json_option
def versions(
    releases: str,
    words: tuple[str, ...],
    selection: dict[str, Any],
    offline: bool,
    as_json: bool,
    out: Path,
    resume: bool | None,
    wait: str | None,
    **options: Any,
) -> int:
    """Measure releases of a package on the same cells, and say which is slower.

    Each release gets an environment (see `sciml-bench env`), which is kept for the next time. Their cells run in the
    same blocks, so that each release meets the same moments of the machine. Each is compared with the one before it.
    """
    from sciml_bench.analysis.releases import changes
    from sciml_bench.api import load
    from sciml_bench.cli.main import typed_command
    from sciml_bench.cli.plan import print_nothing
    from sciml_bench.cli.progress import carry_out
    from sciml_bench.plan.selection import Selection
    from sciml_bench.run.planning import planned
    from sciml_bench.run.session import open_session

    package, found = _parsed(releases)
    adapters = _adapters(package, selection["adapters"])
    chosen, files = Selection(**selection).naming(words)
    if not (files or chosen.problems or chosen.suites):
        raise UsageError("name a problem or a suite, as in `sciml-bench versions diffrax==0.7.1,0.7.2 robertson`")
    names = tuple(_made(package, version, adapters, offline=offline) for version in found)
    chosen = replace(chosen, adapters=tuple(f"{adapter}{AT}{name}" for adapter in adapters for name in names))
    plan = planned(chosen, files, out=out, **options)
    if not plan.planned:
        return print_nothing(plan)
    with one_at_a_time(wait, plan.profile):
        session = open_session(plan, out, f"versions_{plan.profile.name}", resume=resume, command=typed_command())
        carry_out(session, as_json=True)
    if session.interrupted:
        click.echo(f"interrupted; resume with: {typed_command(without=('--new',))}", err=True)
        return exits.INTERRUPTED
    analysis = load(session.run.folder).analysis
    result = changes(analysis, names)
    if as_json:
        exits.print_json([_document(change) for change in result])
    else:
        for line in _lines(result, analysis.why_not_comparable):
            click.echo(line)
    return exits.CHECK_FAILED if any(change.found in ("slower", "broken") for change in result) else exits.OK


def _parsed(releases: str) -> tuple[str, tuple[str, ...]]:
    match = _PACKAGE.fullmatch(releases.replace(" ", ""))
    if match is None:
        raise UsageError(f"'{releases}' does not name releases; write for example diffrax==0.7.1,0.7.2")
    return canonicalize_name(match[1]), tuple(dict.fromkeys(match[2].split(",")))


def _adapters(package: str, selected: Sequence[str]) -> tuple[str, ...]:
    """The adapters to measure: the selected ones, or all that need the package."""
    from sciml_bench.adapters import registry

    if selected:
        return tuple(registry.adapter(name).name for name in selected)
    found = registry.needing(package)
    if not found:
        raise UsageError(f"no adapter names the package {package} itself; say with --adapter which ones use it")
    return found


def _made(package: str, version: str, adapters: Sequence[str], *, offline: bool) -> str:
    """The name of the environment of a release, which is made if it is not there."""
    from sciml_bench.adapters import registry
    from sciml_bench.host import environments

    name, requirement = f"{package}-{version}", f"{package}=={version}"
    extras = registry.extras(adapters)
    if name in environments.names():
        known = environments.read(name)
        if known.requirements == (requirement,) and set(extras) <= set(known.extras) and known.broken is None:
            return name
    environments.make(name, [requirement], extras, offline=offline, say=lambda line: click.echo(line, err=True))
    return name


def _lines(changes: Sequence[Change], why_not: str) -> list[str]:
    """A block of each way, a line for each quantity; then the answer."""
    from sciml_bench.analysis import quantities

    lines: list[str] = []
    way = None
    for change in changes:
        if change.way != way:
            way = change.way
            lines += ["", f"{way.problem}: {way.solver}"]
        line = f"  {change.quantity:<14} {change.newer} against {change.older}: {change.found}"
        if change.ratio is not None:
            ratio, low, high = (
                quantities.ratio(item) for item in (change.ratio.estimate, change.ratio.low, change.ratio.high)
            )
            line += f", {ratio} [{low}, {high}] times as long"
        lines.append(f"{line} ({change.outcome})" if change.outcome else line)
    return [*lines, "", *([f"no verdicts: {why_not}"] if why_not else []), *_answer(changes)]


def _answer(changes: Sequence[Change]) -> list[str]:
    """For each pair of releases, how many comparisons ended how."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for change in changes:
        counts.setdefault((change.older, change.newer), Counter())[str(change.found)] += 1
    if not counts:
        return ["nothing could be compared: no way ran in two of the releases"]
    return [
        f"{newer} against {older}: " + ", ".join(f"{count} {word}" for word, count in found.most_common())
        for (older, newer), found in counts.items()
    ]


def _document(change: Change) -> dict[str, Any]:
    from sciml_bench.analysis.quantities import finite

    ratio = change.ratio
    return finite(
        {
            "cell": change.way.label,
            "quantity": change.quantity,
            "older": change.older,
            "newer": change.newer,
            "found": str(change.found),
            "outcome": change.outcome,
            "ratio": None if ratio is None else ratio.estimate,
            "low": None if ratio is None else ratio.low,
            "high": None if ratio is None else ratio.high,
        }
    )
