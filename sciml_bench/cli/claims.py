"""``claims``: published claims about speed, where they were made, and under which conditions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from sciml_bench.cli.options import json_option
from sciml_bench.cli.output import print_json, print_table

if TYPE_CHECKING:
    from sciml_bench.claims.claim import Claim, Setting

_WIDTH = 110


def _example(*lines: str) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines) + "\n"


@click.group(epilog=_example("sciml-bench claims list", "sciml-bench claims show C05"))
def claims() -> None:
    """Published claims about speed: what was said, where, and under which conditions."""


@claims.command("list", epilog=_example("sciml-bench claims list --json"))
@json_option
def list_claims(as_json: bool) -> None:
    """List the claims."""
    from sciml_bench.claims.collection import claims as all_claims

    rows = [
        {
            "id": claim.id,
            "claimed": claimed_text(claim),
            "quantity": claim.figure.quantity.replace("_", " "),
            "needs": ", ".join([claim.needs.device, *claim.adapters]),
            "title": claim.title,
            "testable": claim.testable,
        }
        for claim in all_claims().values()
    ]
    if as_json:
        print_json(rows)
    else:
        headings = ["id", "claimed", "quantity", "needs", "title"]
        print_table(headings, [[str(row[heading]) for heading in headings] for row in rows])


@claims.command(epilog=_example("sciml-bench claims show C05", "sciml-bench claims show my_claim.toml"))
@click.argument("name", metavar="ID|FILE.toml")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show one claim: what was said, where, of what, and what is known to be wrong with it."""
    from sciml_bench.claims.collection import find

    claim = find(name)
    if as_json:
        print_json(_document(claim))
        return
    for line in _lines(claim):
        click.echo(line)


def claimed_text(claim: Claim) -> str:
    """The claimed ratio in a word."""
    figure = claim.figure
    if figure.within is not None:
        return f"alike within {figure.within:g}×"
    upper = "" if figure.most is None else f" to {figure.most:g}"
    return f"{figure.ratio:g}{upper}×"


def _lines(claim: Claim) -> Iterator[str]:
    from sciml_bench.report.wrapping import wrapped

    def told(heading: str, text: str) -> Iterator[str]:
        yield from wrapped(f"{heading}: {text}", _WIDTH)

    yield f"{claim.id}: {claim.title}"
    yield ""
    yield from told("said", f"{claim.figure.says} ({claimed_text(claim)})")
    yield from told("where", claim.origin.citation)
    yield f"  {claim.origin.url}"
    yield f"  {claim.origin.version}, read {claim.origin.read.isoformat()}"
    yield from told("of what", " ".join(claim.workload.split()))
    yield from told("timed", " ".join(claim.timed.split()))
    for drift in claim.drifts:
        yield from told(
            "citation drift", f"{drift.where} quotes {drift.quotes}; the source it cites says {drift.source_says}"
        )
    for trap in claim.traps:
        yield from told("mind", trap)
    yield ""
    for heading, setting in (("as published", claim.published), ("when fair", claim.fair)):
        if setting is not None:
            yield from _setting_lines(heading, setting)
    needs = claim.needs
    yield from told("needs", f"{needs.device}, about {needs.minutes:g} min, {needs.memory_gib:g} GiB")
    if needs.lacking:
        yield from told("not testable", needs.lacking)


def _setting_lines(heading: str, setting: Setting) -> Iterator[str]:
    from sciml_bench.report.wrapping import wrapped

    changes = ", ".join(f"{key} = {value}" for key, value in setting.workload.changes.items())
    yield f"{heading}: problem {setting.workload.problem}{f' with {changes}' if changes else ''}"
    for name, side in zip(("fast", "slow"), setting.sides, strict=True):
        at = "" if side.rtol is None else f", rtol {side.rtol:g}, atol {side.atol or side.rtol:g}"
        yield f"  {name}: {side.words}{at}{f' ({side.note})' if side.note else ''}"
    for note in setting.notes:
        yield from (f"  {line}" for line in wrapped(note, _WIDTH - 2))


def _document(claim: Claim) -> dict[str, Any]:
    import dataclasses

    data = dataclasses.asdict(claim)
    origin = {**data["origin"], "read": claim.origin.read.isoformat()}
    return {**data, "origin": origin, "path": str(claim.path), "testable": claim.testable}
