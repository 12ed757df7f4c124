"""``versions``: the same cells under several releases of a package, in one run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from packaging.utils import canonicalize_name

from sciml_bench.cli import exit_codes
from sciml_bench.cli.machine import wait_options
from sciml_bench.cli.options import json_option, measuring_options, selection_options
from sciml_bench.cli.output import print_json
from sciml_bench.cli.run import resume_option
from sciml_bench.errors import UsageError

if TYPE_CHECKING:
    from sciml_bench.analysis.releases.releases import Change
    from sciml_bench.cli.releases import Releases

_PACKAGE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.]+(?:,[A-Za-z0-9.]+)*)")
_RANGE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([0-9][0-9.]*?)\.\.([0-9][0-9.]*)")


@click.command(
    epilog="""\b
Examples:
  sciml-bench versions diffrax==0.7.1,0.7.2 robertson --profile quick
  sciml-bench versions jax==0.9.2,0.10.2 lotka-volterra --adapter diffrax --method tsit5
  sciml-bench versions diffrax==0.6.0..0.7.2 robertson --method kvaerno5

\b
Exit codes:
    0  measured; nothing is slower or broken in the later release
    1  something is slower or broken
    2  a release cannot be installed, or a name does not exist
"""
)
@click.argument("releases", metavar="PACKAGE==OLDER,NEWER[,...]|PACKAGE==GOOD..BAD")
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

    Of GOOD..BAD first these two are compared. If a cell is slower or broken in the second, the releases between them
    are searched for the one that made it so, each in one run with both.
    """
    from sciml_bench.analysis.releases.bisection import BAD
    from sciml_bench.cli.releases import Releases
    from sciml_bench.planning.selection import Selection

    bounds = _RANGE.fullmatch(releases.replace(" ", ""))
    package, found = (canonicalize_name(bounds[1]), (bounds[2], bounds[3])) if bounds else _parsed(releases)
    adapters = _adapters(package, selection["adapters"])
    chosen, files = Selection(**selection).naming(words)
    if not (files or chosen.problems or chosen.suites):
        raise UsageError("name a problem or a suite, as in `sciml-bench versions diffrax==0.7.1,0.7.2 robertson`")
    measured = Releases(package, adapters, files, out, options, resume=resume, offline=offline, wait=wait)
    result = measured.changes(chosen, found)
    if result is None:
        return measured.exit_code
    if bounds:
        return _searched(measured, result, (found[0], found[-1]), as_json=as_json)
    if as_json:
        print_json([_document(change) for change in result])
    else:
        for line in _lines(result, measured.why_not_comparable):
            click.echo(line)
    return exit_codes.CHECK_FAILED if any(change.found in BAD for change in result) else exit_codes.OK


def _searched(measured: Releases, ends: Sequence[Change], found: tuple[str, str], *, as_json: bool) -> int:
    """Search for the release with the worst change between two, and print it."""
    from sciml_bench.analysis.releases.bisection import bisected, worst
    from sciml_bench.host.environments import releases

    wanted = worst(ends)
    say = partial(click.echo, err=True)
    for line in _lines(ends, measured.why_not_comparable):
        say(line)
    if wanted is None:
        if as_json:
            print_json({"found": None})
        else:
            click.echo(f"nothing is slower or broken in {found[1]}")
        return exit_codes.OK
    say(f"searching for the release: {wanted.way.solver}, {wanted.quantity}")
    result = bisected(releases(measured.package, *found), partial(measured.is_bad, wanted, found, say))
    if as_json:
        document = {"good": result.good, "bad": result.bad, "between": list(result.between)}
        print_json({"found": document, "change": _document(wanted)})
        return exit_codes.CHECK_FAILED
    between = f"; between them, undecided: {', '.join(result.between)}" if result.between else ""
    click.echo(f"{wanted.found} since {measured.package} {result.bad}, the last good one is {result.good}{between}")
    return exit_codes.CHECK_FAILED


def _parsed(releases: str) -> tuple[str, tuple[str, ...]]:
    example = "write for example diffrax==0.7.1,0.7.2"
    match = _PACKAGE.fullmatch(releases.replace(" ", ""))
    if match is None:
        raise UsageError(f"'{releases}' does not name releases; {example}")
    found = tuple(dict.fromkeys(match[2].split(",")))
    if len(found) == 1:
        raise UsageError(f"'{releases}' names one release, and two or more are compared; {example}")
    return canonicalize_name(match[1]), found


def _adapters(package: str, selected: Sequence[str]) -> tuple[str, ...]:
    """The adapters to measure: the selected ones, or all that need the package."""
    from sciml_bench.adapters import registry

    if selected:
        return tuple(registry.adapter(name).name for name in selected)
    found = registry.needing(package)
    if not found:
        raise UsageError(f"no adapter names the package {package} itself; say with --adapter which ones use it")
    return found


def _lines(changes: Sequence[Change], why_not: str) -> list[str]:
    """A block of each way, a line for each quantity; then the answer."""
    from sciml_bench.analysis.tables import formatting

    lines: list[str] = []
    way = None
    for change in changes:
        if change.way != way:
            way = change.way
            lines += ["", f"{way.problem}: {way.solver}"]
        line = f"  {change.quantity:<14} {change.newer} against {change.older}: {change.found}"
        if change.ratio is not None:
            ratio, low, high = (
                formatting.ratio(item) for item in (change.ratio.estimate, change.ratio.low, change.ratio.high)
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
    from sciml_bench.analysis.tables.formatting import finite

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
