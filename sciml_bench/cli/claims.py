"""``claims``: published performance claims, their sources and conditions, and the results here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sciml_bench.cli import completion, exit_codes
from sciml_bench.cli.columns import print_table
from sciml_bench.cli.machine import one_at_a_time, wait_options
from sciml_bench.cli.main import typed_command
from sciml_bench.cli.options import json_option, measuring_options, out_option
from sciml_bench.cli.output import print_json, print_left_out
from sciml_bench.cli.run import resume_option

if TYPE_CHECKING:
    from sciml_bench.execution.claims import Chosen, LeftOut
    from sciml_bench.published_claims.claim import Claim
    from sciml_bench.published_claims.collection import Tested
    from sciml_bench.published_claims.judging import Judged
    from sciml_bench.record.run_folder import Run


_WIDTH = 110

_all_option = click.option("--all", "with_all", is_flag=True, help="Also claims without a run, with the reason.")


def _example(*lines: str) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines) + "\n"


@click.group(
    epilog=_example(
        "sciml-bench claims list",
        "sciml-bench claims show C05",
        "sciml-bench claims run C05",
        "sciml-bench claims report",
    )
)
def claims() -> None:
    """List, test and judge published performance claims."""


@claims.command("list", epilog=_example("sciml-bench claims list --json"))
@json_option
def list_claims(as_json: bool) -> None:
    """List the claims."""
    from sciml_bench.adapters.registry import adapters
    from sciml_bench.published_claims.collection import claims as all_claims
    from sciml_bench.published_claims.selection import needed
    from sciml_bench.render.claims import claimed_text, quantity_text

    known = adapters()
    rows = [
        {
            "id": claim.id,
            "claimed": claimed_text(claim),
            "quantity": quantity_text(claim),
            "needs": ", ".join(
                [claim.needs.device, *needed(claim, known), *([] if claim.testable else ["more (see show)"])]
            ),
            "title": claim.title,
            "testable": claim.testable,
        }
        for claim in all_claims().values()
    ]
    if as_json:
        print_json(rows)
    else:
        headings = ["id", "claimed", "quantity", "needs", "title"]
        texts = [[str(row[heading]) for heading in headings] for row in rows]
        print_table(headings, texts, optional=["needs", "quantity"])


@claims.command(epilog=_example("sciml-bench claims show C05", "sciml-bench claims show my_claim.toml"))
@click.argument("name", metavar="ID|FILE.toml", shell_complete=completion.CLAIMS)
@click.option("--all", "everything", is_flag=True, help="Also conditions, settings, and traps in the source.")
@out_option
@json_option
def show(name: str, everything: bool, out: Path, as_json: bool) -> None:
    """Show one claim: the statement, the ruling, the source, and the differences between its conditions and ours.

    The ruling comes from the newest run of the claim in the folder of results, or in its folder 'claims'; it is
    judged together with all other claims there.
    """
    from sciml_bench.execution.claim_rulings import newest_ruling
    from sciml_bench.published_claims.collection import find
    from sciml_bench.render.claims import claim_document, claim_lines

    claim = find(name)
    if as_json:
        print_json(claim_document(claim))
        return
    for line in claim_lines(claim, newest_ruling(claim, out, print_left_out), everything):
        click.echo(line)


@claims.command(
    epilog=_example(
        "sciml-bench claims run C05",
        "sciml-bench claims run --cpu --minutes 30 --profile smoke",
        "sciml-bench claims run my_claim.toml --profile standard",
    )
)
@click.argument("names", nargs=-1, metavar="[ID|FILE.toml]...", shell_complete=completion.CLAIMS)
@click.option("--cpu", "cpu_only", is_flag=True, help="Leave out what needs a GPU.")
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Time budget in minutes [default: 10 for --profile smoke without an ID].",
)
@measuring_options
@resume_option
@wait_options
@json_option
def run(
    names: tuple[str, ...], cpu_only: bool, minutes: float | None, resume: bool | None, wait: str | None, as_json: bool,
    **options: Any,
) -> int:  # fmt: skip
    """Measure claims, each nearest to the source and when fair, and judge them; without an ID all of them.

    Claims that share cells have a run folder in common, all others one each. Nearest to the source, both sides run at
    its tolerances; when fair, on a ladder of those of the profile that are two decades apart, and are compared at
    equal achieved accuracy. Both settings are measured in the same blocks; counts, which no process changes, in a
    single one, and claimed ratios of 1.25 or more with half of the profile's processes, but at least five, and with
    at least ten calls if the profile has more. First calls are read at the loosest tolerance alone. If one side of
    a setting cannot run here, the other is not measured either.

    Claims that cannot be tested here are listed with the reason. If minutes are limited, the shortest claims come
    first, and the others are listed. The same command continues after an interruption.
    """
    from sciml_bench.adapters.registry import adapters
    from sciml_bench.cli.progress import carry_out
    from sciml_bench.execution.claim_rulings import claims_of
    from sciml_bench.execution.claims import Budget, Group, choose, measure
    from sciml_bench.execution.session import Session
    from sciml_bench.published_claims.judging import untested
    from sciml_bench.published_claims.selection import USUAL_MINUTES

    found = _found(names)
    budget = Budget(minutes or (None if names else USUAL_MINUTES.get(options["profile"])))
    chosen = choose(found, adapters(), options, cpu_only=cpu_only, budget=budget)
    _print_chosen(chosen, as_json)
    if not chosen.groups:
        if names and not as_json:
            _print_stored([item.claim for item in chosen.left_out], options["out"])
        return exit_codes.NOTHING_SELECTED

    def carried_out(group: Group, session: Session) -> bool:
        titles = (f"{claim.id}: {claim.title}" for claim in group.claims)
        click.echo("\n" + "\n".join(titles), err=as_json)
        return carry_out(session, as_json)

    with one_at_a_time(wait):
        series = measure(chosen, options, resume=resume, command=typed_command(), budget=budget, carry_out=carried_out)
    left_out = (*chosen.left_out, *series.left_out) if names else ()
    by_name = {item.claim.id: untested(item.claim, item.reason) for item in left_out}
    by_name |= {
        item.claim.id: item for item in _judged([(tested, run) for run in series.runs for tested in claims_of(run)])
    }
    _print_judged([by_name[claim.id] for claim in found if claim.id in by_name], as_json)
    _print_left_out(series.left_out, as_json)
    if series.interrupted:
        click.echo(f"interrupted; resume with: {typed_command(without=('--new',))}", err=True)
        return exit_codes.INTERRUPTED
    return exit_codes.OK


@claims.command(epilog=_example("sciml-bench claims report", "sciml-bench claims report results/*_claim-* --json"))
@click.argument("names", nargs=-1, metavar="[RUN]...", shell_complete=completion.RUNS)
@_all_option
@out_option
@json_option
def report(names: tuple[str, ...], with_all: bool, out: Path, as_json: bool) -> int:
    """Judge claims by their runs: folders or names, or the newest run of each claim.

    The claimed ratio, ours nearest to the source and ours when fair share a line, with 95 % intervals. All claims of
    the command are one family of comparisons.

    \b
    confirmed             the claimed side wins, and the whole interval lies within a factor
                          of the claimed figure or range: 1.5, unless the file states another
    larger than claimed   the whole interval lies above that
    smaller than claimed  the whole interval lies below that, or there is no difference
    reversed              the other side wins
    undecided             the interval does not decide, it depends on the accuracy, or a condition
                          that differs from the source's could explain it
    out of date           its run measured another problem or other sides than its file names now
    not testable here     with the reason

    "More than" has no upper end. "Up to" is the largest of several ratios: one of ours can reach or pass it, and says
    nothing when it stays below. A median over problems cannot be seen in one problem. When fair, both sides are
    compared at each whole digit that both reach, and a ruling holds only if it is the same at all of them. A claim
    about the first call of a cell is compared with later calls of the same process. A ruling with † has processes
    behind it that other work on the machine disturbed.
    """
    from sciml_bench.execution.claim_rulings import tested, with_untested

    found = _judged(tested(names, out))
    _print_judged(with_untested(found) if with_all else found, as_json)
    return exit_codes.OK


_FORMS = ("markdown", "latex", "csv", "html")


@claims.command(epilog=_example("sciml-bench claims export --to csv", "sciml-bench claims export --to html > a.html"))
@click.argument("names", nargs=-1, metavar="[RUN]...", shell_complete=completion.RUNS)
@click.option("--to", "form", type=click.Choice(_FORMS), required=True, help="The format.")
@_all_option
@out_option
def export(names: tuple[str, ...], form: str, with_all: bool, out: Path) -> int:
    """Write the table of `claims report` with the sources, for a paper, or as a separate page with a figure."""
    from sciml_bench.execution.claim_rulings import tested, with_untested
    from sciml_bench.render.claims import claims_csv, claims_latex, claims_markdown

    judged = _judged(tested(names, out))
    shown = with_untested(judged) if with_all else judged
    if form == "html":
        from sciml_bench.render.html.claims_page import claims_page

        click.echo(claims_page(shown), nl=False)
        return exit_codes.OK
    write = {"markdown": claims_markdown, "latex": claims_latex, "csv": claims_csv}[form]
    click.echo(write(shown), nl=False)
    return exit_codes.OK


def _found(names: tuple[str, ...]) -> list[Claim]:
    from sciml_bench.published_claims.collection import claims as all_claims
    from sciml_bench.published_claims.collection import find

    if not names:
        return list(all_claims().values())
    return list({claim.id: claim for claim in map(find, names)}.values())


def _print_stored(claims: Sequence[Claim], out: Path) -> None:
    """Print the rulings of earlier runs for claims that cannot run now."""
    from sciml_bench.execution.claim_rulings import newest_ruling

    for claim in claims:
        if (found := newest_ruling(claim, out, print_left_out)) is not None:
            click.echo()
            _print_judged([found], as_json=False)


def _judged(tested: Sequence[tuple[Tested, Run]]) -> tuple[Judged, ...]:
    from sciml_bench.execution.claim_rulings import judge_runs

    return judge_runs(tested, print_left_out)


def _print_judged(found: Sequence[Judged], as_json: bool) -> None:
    from sciml_bench.analysis.tables.formatting import wrapped
    from sciml_bench.render.claims import HEADINGS, claim_remarks, claim_row, ruling_document

    if as_json:
        print_json([ruling_document(item) for item in found])
        return
    click.echo()
    print_table(HEADINGS, [claim_row(item) for item in found], optional=["conditions"])
    for item in found:
        click.echo(f"\n{item.claim.id}: {item.claim.title}")
        lines = [f"said: {item.claim.figure.says}", *claim_remarks(item)]
        lines += [f"run folder: {item.folder} ({item.profile})"] if item.folder is not None else []
        for line in lines:
            click.echo("\n".join(wrapped(line, _WIDTH, "  ")))
    click.echo(
        "\nEvery ruling follows from the rule in `sciml-bench claims report --help`; "
        "`sciml-bench claims show ID` has source and conditions. Corrections are welcome."
    )


def _print_chosen(chosen: Chosen, as_json: bool) -> None:
    """Print what will run and at what estimated cost, which claims share a run, and the omitted ones with reasons."""
    total_s = sum(group.cost_s for group in chosen.groups)
    names = ", ".join(claim.id for group in chosen.groups for claim in group.claims) or "none"
    click.echo(f"claims to run: {names} (about {total_s / 60:.1f} min)", err=as_json)
    for group in chosen.groups:
        if len(group.claims) > 1:
            shared = ", ".join(claim.id for claim in group.claims)
            click.echo(f"in one run, as they share cells: {shared}", err=as_json)
    _print_left_out(chosen.left_out, as_json)


def _print_left_out(left_out: Sequence[LeftOut], as_json: bool) -> None:
    """Print the omitted claims; claims with the same reason share a line."""
    reasons: dict[str, list[str]] = {}
    for item in left_out:
        reasons.setdefault(item.reason, []).append(item.claim.id)
    for reason, ids in reasons.items():
        click.echo(f"not run: {', '.join(ids)}: {reason}", err=as_json)
