"""``reference``: show, compute and check the certified truth of problems."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sciml_bench.cli import completion, exit_codes, model_reference
from sciml_bench.cli.columns import print_table
from sciml_bench.cli.model_reference import model_named
from sciml_bench.cli.options import json_option
from sciml_bench.cli.output import print_json
from sciml_bench.cli.parameter_types import SECONDS
from sciml_bench.errors import SciMLBenchError, StoreError, UsageError
from sciml_bench.references.progress import ONE_THREAD

if TYPE_CHECKING:
    from sciml_bench.references.store import StoredReference
    from sciml_bench.spec import Problem


_SHOWN = 12

limit_option = click.option(
    "--limit",
    "limit_s",
    type=SECONDS,
    metavar="S",
    help="Give a problem up when it takes longer, in seconds of processor time.",
)


@click.group(
    epilog="""\b
Examples:
  sciml-bench reference show robertson
  sciml-bench reference compute my_problem.toml
  sciml-bench reference check"""
)
def reference() -> None:
    """Show, compute or check reference solutions and gradients.

    Certified means one of two things, of the solution at the saved times. "enclosed": two runs of a collocation method
    (Radau IIA, multiple precision) agree to 20 digits, and lie in balls that a Taylor method proves to hold the
    solution; this is possible for systems of up to 10 states that are not very stiff. "two methods agree": a method of
    another family confirms the two runs, an implicit Taylor method to 15 digits on systems of up to 10 states, a
    multistep or explicit method in double precision to 7 on others. Neither covers the gradient: each of its components
    is certified separately, to 12 digits, by differences and the adjoint, or called uncertified. The weaker
    witness counts for the digits of a reference.
    """
    # Set before anything that loads a linear-algebra library is imported.
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)


@reference.command(epilog="\b\nExample:\n  sciml-bench reference show robertson\n")
@click.argument("problems", nargs=-1, metavar="[PROBLEM]...", shell_complete=completion.PROBLEMS)
@json_option
def show(problems: tuple[str, ...], as_json: bool) -> None:
    """Show the references of PROBLEMs, or a table of the whole catalog."""
    from sciml_bench.references.store import find
    from sciml_bench.spec import catalog

    if not problems:
        _show_all(as_json)
        return
    for name in problems:
        model = model_named(name)
        if model is not None:
            print_json(model_reference.facts(model)) if as_json else model_reference.show(model)
            continue
        problem = catalog.given(name)
        stored = find(problem)
        if stored is None:
            raise UsageError(f"no reference for '{problem.name}'; `sciml-bench reference compute {name}` makes one")
        if as_json:
            import json
            from dataclasses import asdict

            print_json(json.loads(json.dumps(asdict(stored))))
        else:
            _print(stored)


@reference.command(epilog="\b\nExample:\n  sciml-bench reference compute my_problem.toml\n")
@click.argument("problems", nargs=-1, metavar="[PROBLEM]...", shell_complete=completion.PROBLEMS)
@click.option("--all", "everything", is_flag=True, help="Every problem of the catalog that is not marked heavy.")
@click.option("--stale", is_flag=True, help="Only problems whose reference is missing, stale or changed.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write to this path instead of the problem file's folder.",
)
@click.option("--solution-only", is_flag=True, help="Certify no gradient, which is most of the work.")
@click.option(
    "--proof-seconds",
    "proof_s",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Cost limit of a proved enclosure, as estimated beforehand; at most a sixth of the limit.",
)
@limit_option
def compute(
    problems: tuple[str, ...],
    everything: bool,
    stale: bool,
    output: Path | None,
    solution_only: bool,
    proof_s: float,
    limit_s: float | None,
) -> int:
    """Compute and certify the references of PROBLEMs; nothing is written that is not certified."""
    from sciml_bench.spec import catalog

    if not problems and not everything and not stale:
        raise UsageError("name a problem, or add --all for the catalog or --stale for outdated references")
    if output is not None and len(problems) != 1:
        raise UsageError("--output takes exactly one problem")
    names = problems or tuple(name for name in catalog.names() if catalog.header(name).tier != "heavy")
    failed = 0
    for name in names:
        model = model_named(name)
        if model is not None:
            if not stale or model_reference.state(model) != "stored":
                failed += not model_reference.compute(model)
            continue
        problem = catalog.given(name)
        if stale and _state(problem) == "certified":
            continue
        failed += not _compute_one(problem, output, limit_s, not solution_only, proof_s)
    return exit_codes.CHECK_FAILED if failed else exit_codes.OK


@reference.command(epilog="\b\nExample:\n  sciml-bench reference check robertson\n")
@click.argument("problems", nargs=-1, metavar="[PROBLEM]...", shell_complete=completion.PROBLEMS)
@limit_option
def check(problems: tuple[str, ...], limit_s: float | None) -> int:
    """Compute PROBLEMs (default: every stored reference) at other settings and compare; exit code 1 on disagreement."""
    from sciml_bench.references.store import find
    from sciml_bench.spec import catalog

    failed = 0
    for name in problems or catalog.names():
        try:
            model = model_named(name)
            if model is not None:
                failed += not model_reference.check(model)
                continue
            problem = catalog.given(name)
            stored = find(problem)
        except SciMLBenchError as error:
            failed += 1
            click.echo(f"{name}: FAILED: {error}")
            continue
        if stored is None:
            missing = bool(problems) or catalog.header(name).tier != "heavy"
            failed += missing
            click.echo(f"{problem.name}: {'FAILED: ' if missing else ''}no reference is stored")
        else:
            failed += not _check_one(problem, stored, limit_s)
    return exit_codes.CHECK_FAILED if failed else exit_codes.OK


def _state(problem: Problem) -> str:
    from sciml_bench.references.store import find

    try:
        return "missing" if find(problem) is None else "certified"
    except StoreError as error:
        return "stale" if "stale" in str(error) else "changed"


def _compute_one(problem: Problem, output: Path | None, limit_s: float | None, gradient: bool, proof_s: float) -> bool:
    from sciml_bench.references.build import make
    from sciml_bench.references.cost import describe_s, try_estimate_s
    from sciml_bench.references.engine.case import Case
    from sciml_bench.references.store import keep, write

    began = time.process_time()
    try:
        with working(problem.name) as say:
            one_s = try_estimate_s(Case(next(problem.trajectories())))
            say("computing" + ("" if one_s is None else f", {describe_s(problem.batch.size * one_s)}"))
            stored, missing = make(problem, say, limit_s or float("inf"), gradient, proof_s)
    except SciMLBenchError as error:
        click.echo(f"{problem.name}: FAILED: {error}")
        return False
    place = write(stored, output) if output is not None else keep(stored, problem)
    click.echo(f"{problem.name}: {_digits_text(stored)}, {time.process_time() - began:.1f} s, {place}")
    if missing:
        click.echo(f"  {missing}")
    return True


def _check_one(problem: Problem, stored: StoredReference, limit_s: float | None) -> bool:
    from sciml_bench.references.check import check as check_reference

    began = time.perf_counter()
    try:
        with working(problem.name) as say:
            found = check_reference(problem, stored, say, limit_s or float("inf"))
    except SciMLBenchError as error:
        click.echo(f"{problem.name}: FAILED: {error}")
        return False
    gradient = "" if found.gradient_digits is None else f", gradient to {found.gradient_digits:.1f}"
    how = f"{found.stages} stages, {found.steps} steps, {time.perf_counter() - began:.1f} s"
    if not found.complaints:
        click.echo(f"{problem.name}: agrees to {found.solution_digits:.1f} digits{gradient} ({how})")
        return True
    click.echo(f"{problem.name}: FAILED ({how})")
    for complaint in found.complaints[:_SHOWN]:
        click.echo(f"  {complaint}")
    return False


@contextmanager
def working(name: str) -> Iterator[Callable[[str], object]]:
    """On a terminal one live line; otherwise nothing, so that logs hold results only."""
    if not sys.stderr.isatty():
        yield lambda _line: None
        return
    from rich.console import Console

    with Console(stderr=True, highlight=False).status(name) as status:
        yield lambda line: status.update(f"{name}: {line}")


def _digits_text(stored: StoredReference) -> str:
    proof = stored.certificate.get("proof")
    text = f"{stored.kind}{f' ({proof})' if proof else ''} to {stored.proved_digits:.1f} digits"
    good = [digits for digits in stored.gradient_digits if digits > 0]
    if good:
        text += f", gradient to {min(good):.1f}"
    missing = len(stored.gradient_digits) - len(good)
    components = f"{missing} of {len(stored.gradient_digits)} components of the gradient uncertified"
    return f"{text}, {components}" if missing else text


def _show_all(as_json: bool) -> None:
    from sciml_bench.references.store import find
    from sciml_bench.spec import catalog

    rows: list[dict[str, Any]] = []
    for name in catalog.names():
        model = model_named(name)
        if model is not None:
            rows.append({"problem": name, "tier": model.tier, "reference": model_reference.state(model)})
            continue
        problem = catalog.load(name)
        row: dict[str, Any] = {"problem": name, "tier": problem.tier, "reference": _state(problem)}
        if row["reference"] == "certified" and (stored := find(problem)) is not None:
            row["digits"] = round(stored.proved_digits, 1)
            row["gradient_digits"] = min((good for good in stored.gradient_digits if good > 0), default=None)
            row["seconds"] = round(sum(stored.seconds.values()), 1)
            row["proof"] = stored.certificate.get("proof")
        rows.append(row)
    if as_json:
        print_json(rows)
        return
    headings = ["problem", "tier", "reference", "proof", "digits", "gradient_digits", "seconds"]
    print_table(headings, [["" if row.get(key) is None else str(row[key]) for key in headings] for row in rows])


def _print(stored: StoredReference) -> None:
    from sciml_bench.references.build import NO_GRADIENT
    from sciml_bench.references.certificate import ENCLOSED

    click.echo(f"{stored.problem}: {_digits_text(stored)}")
    click.echo(
        f"spec {stored.spec_hash[:12]}, made by `{stored.command}` with python-flint {stored.versions['python-flint']}"
    )
    for run in stored.certificate.get("solution", []):
        arithmetic = f"{run['arithmetic_digits']}-digit arithmetic"
        click.echo(f"  {run['method']}, {run['stages']} stages, {run['steps']} steps, {arithmetic}")
    second = stored.certificate.get("second_method")
    if second:
        verb = "proves the solution" if stored.certificate["proof"] == ENCLOSED else "agrees on the solution"
        click.echo(f"  two runs agree to {min(stored.solution_digits)} digits")
        click.echo(f"  {second['method']} in {second['arithmetic']} {verb} to {second['digits']} digits")
    events = stored.certificate.get("events", [])
    if events:
        shown = ", ".join(f"{item['name']} at {float(item['t']):.10g}" for item in events[:_SHOWN])
        more = f", and {len(events) - _SHOWN} more" if len(events) > _SHOWN else ""
        where = " in the first trajectory" if "trajectories" in stored.certificate else ""
        click.echo(
            f"  {len(events)} events{where} to {stored.certificate['event_digits']} digits of time: {shown}{more}"
        )
    for name, digits in stored.certificate.get("invariant_digits", {}).items():
        click.echo(f"  invariant {name} holds to {digits} digits")
    if "exact_solution_digits" in stored.certificate:
        click.echo(f"  the exact solution agrees to {stored.certificate['exact_solution_digits']} digits")
    gradient = stored.certificate.get("gradient")
    if NO_GRADIENT in stored.certificate:
        click.echo(f"  no gradient: {stored.certificate[NO_GRADIENT]}")
    if gradient:
        click.echo(f"  gradient: {gradient['method']}; {gradient['directions']} directions ({gradient['kind']})")
        if gradient.get("zero_but_for_rounding"):
            click.echo(f"  zero except for rounding: {', '.join(gradient['zero_but_for_rounding'][:_SHOWN])}")
        if gradient.get("uncertified"):
            click.echo(f"  uncertified: {', '.join(gradient['uncertified'][:_SHOWN])}")
        for key, why in (("kinks", "at its own kink"), ("jumps", "moves the time of a jump")):
            for label in gradient.get(key, ())[:_SHOWN]:
                click.echo(f"  {label} {why}")
    click.echo("  processor time: " + ", ".join(f"{name} {value:g} s" for name, value in stored.seconds.items()))
    click.echo(f"\nstate at t = {stored.times[-1]}")
    _print_numbers(stored.states, stored.solution[-1], stored.solution_digits, stored.negligible)
    click.echo(f"\nloss = {stored.loss} ({stored.loss_digits} digits)")
    if stored.gradient:
        click.echo("gradient of the loss")
        _print_numbers(stored.theta, stored.gradient, stored.gradient_digits, stored.gradient_negligible)


def _print_numbers(labels: list[str], values: list[str], digits: list[float], negligible: list[float]) -> None:
    """Print each number with its digits, which two runs of the engine agree to; of zero with the bound of its size."""
    bounds = negligible or [0.0] * len(labels)
    for label, value, good, bound in list(zip(labels, values, digits, bounds, strict=True))[:_SHOWN]:
        if good == 0:
            click.echo(f"  {label}: not certified")
            continue
        zero = f"below {bound:.0e}" if bound else "exactly"
        click.echo(f"  {label} = {value} ({zero if value == '0' else f'{good} digits'})")
    if len(labels) > _SHOWN:
        click.echo(f"  and {len(labels) - _SHOWN} more (--json has all)")
