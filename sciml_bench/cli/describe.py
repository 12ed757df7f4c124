"""``describe``: a problem in words, or the source text that an adapter is given."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sciml_bench.cli import completion
from sciml_bench.cli.describe_facts import facts
from sciml_bench.cli.importing import as_problem_file, t_span_option
from sciml_bench.cli.model_reference import model_named
from sciml_bench.cli.options import json_option
from sciml_bench.record.text import counted
from sciml_bench.references.progress import ONE_THREAD

if TYPE_CHECKING:
    from sciml_bench.models.model import Model
    from sciml_bench.spec import Problem


# Longer lists of numbers are cut in the text; ``--json`` has them all.
_SHOWN = 12


@click.command(
    epilog="""\b
Examples:
  sciml-bench describe robertson
  sciml-bench describe robertson --code diffrax
  sciml-bench describe robertson --code scipy/odeint/forward/compiled --rtol 1e-8
  sciml-bench describe my_problem.toml --json
"""
)
@click.argument("problem", shell_complete=completion.PROBLEMS)
@click.option(
    "--code",
    metavar="ADAPTER[/MODE]|CELL",
    help="Print equations and loss as this adapter receives them, or the script of a cell, as "
    "diffrax/tsit5/forward/compiled.",
)
@click.option("--rtol", type=float, default=1e-6, show_default=True, help="The tolerance of the script.")
@t_span_option
@json_option
def describe(problem: str, code: str | None, rtol: float, t_span: tuple[float, ...] | None, as_json: bool) -> None:
    """Describe a problem, or print its equations as source code.

    PROBLEM is a name of the catalog, a problem file, an SBML model, a PEtab problem, or a Python function as
    FILE.py:NAME. Shows its equations, parameters, size and references.
    """
    # Set before anything that loads a linear-algebra library is imported: threads only slow matrices as small as these.
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)
    problem = as_problem_file(problem, Path("results"), t_span)
    if code is not None and code.count("/") > 1:
        click.echo(_script(problem, code, rtol), nl=False)
        return
    model = model_named(problem)
    if model is not None:
        _describe_model(model, code, as_json)
        return
    from sciml_bench.spec import catalog

    loaded = catalog.given(problem)
    if code is not None:
        text, program = _source(loaded, code)
        click.echo(text, nl=False)
        click.echo(f"# These are the equations and the loss; {program} adds solver, tolerances and gradient.", err=True)
    elif as_json:
        from sciml_bench.cli.output import print_json

        print_json(facts(loaded))
    else:
        _print(loaded)


def _describe_model(model: Model, code: str | None, as_json: bool) -> None:
    from sciml_bench.cli import describe_model

    if code is not None:
        text, program = describe_model.source(model, code)
        click.echo(text, nl=False)
        click.echo(f"# This is the model; {program} runs it.", err=True)
    elif as_json:
        from sciml_bench.cli.output import print_json

        print_json(describe_model.facts(model))
    else:
        describe_model.print_model(model)


def _script(problem: str, words: str, rtol: float) -> str:
    """The script of a cell, by adapter, method, sensitivity, mode, and how it saves if that is unusual."""
    from sciml_bench.errors import UsageError
    from sciml_bench.planning.script import script_of_cell

    parts = words.split("/")
    if len(parts) not in (4, 5):
        raise UsageError(
            f"'{words}' is not a cell: write adapter/method/sensitivity/mode, as diffrax/tsit5/forward/compiled"
        )
    if not 0 < rtol < 1:
        raise UsageError(f"--rtol must lie between 0 and 1, got {rtol:g}")
    return script_of_cell(problem, parts, rtol)


def _source(problem: Problem, adapter: str) -> tuple[str, str]:
    """The emitted source, and the module whose program runs it."""
    from sciml_bench.adapters import registry
    from sciml_bench.emit import source
    from sciml_bench.errors import UsageError
    from sciml_bench.record.task import CONVENTIONAL

    name, _, mode = adapter.partition("/")
    declared = registry.adapter(name)
    if declared.track == CONVENTIONAL:
        raise UsageError(f"'{name}' runs models, and {problem.name} is an equation; name an adapter of a solver")
    if mode and mode not in declared.modes:
        raise UsageError(f"{name} has no mode '{mode}'; it has {', '.join(declared.modes)}")
    target = declared.mode_targets.get(mode, declared.target)
    return source(problem, target), declared.program.partition(":")[0]


def _recommended(told: dict[str, Any]) -> str:
    """The recommended kind of method, with a note if the file's own label differs."""
    if told["recommended"] is None:
        return "undecided whether explicit or implicit methods suit it: both kinds are planned"
    labelled = "implicit" if "stiff" in (told["suite"], *told["tags"]) else "explicit"
    against = "" if labelled == told["recommended"] else f", although the file is {_LABEL[labelled]}"
    return f"{told['recommended']} methods are recommended{against}"


_LABEL = {"implicit": "labelled stiff", "explicit": "not labelled stiff"}


def _print_equations(told: dict[str, Any]) -> None:
    click.echo("\nequations")
    for name, text in told["definitions"].items():
        click.echo(f"  {name} = {text}")
    for name, text in told["equations"].items():
        click.echo(f"  d{name}/dt = {text}")
    for name, text in told["algebraic"].items():
        click.echo(f"  {name} so that 0 = {text}")
    for event in told["events"]:
        when = f"{event['when']} passes zero" if event["when"] else f"t = {', '.join(event['at'])}"
        way = f" ({event['direction']})" if event["direction"] in ("rising", "falling") else ""
        changes = [f"{name} becomes {text}" for name, text in event["reset"].items()]
        changes += ["the solve ends, and states keep their values"] if event["ends"] else []
        click.echo(f"  event {event['name']}: when {when}{way}, {', '.join(changes)}")
    for name, text in told["implicit"].items():
        click.echo(f"  implicit-explicit methods take implicitly in d{name}/dt: {text}")


def _print(problem: Problem) -> None:
    told = facts(problem)
    click.echo(f"{told['name']}: {told['title']}")
    click.echo(f"suite {told['suite']}, tier {told['tier']}, tags {', '.join(told['tags']) or 'none'}")
    if told["description"]:
        click.echo(f"\n{told['description']}")
    _print_equations(told)
    times = told["time"]
    n_saved = len(times["save_times"])
    click.echo(f"\ntime: {times['t0']} to {times['t1']}, saved at {n_saved} time{'s' * (n_saved != 1)}")
    click.echo("\nseen in double precision")
    for line in told["seen"]:
        click.echo(f"  {line}")
    click.echo(f"  {_recommended(told)}")
    for text in times["moving"]:
        click.echo(f"  {text}")
    if times["breakpoints"]:
        click.echo(f"breakpoints: {_breakpoints(times, told['events'])}")
    for item in told["data"] if not (problem.conditions or problem.loss.reads) else ():
        click.echo(f"\ndata of each trajectory, {item['name']}: {_shape(item['shape'])}")
    for item in told["control"]:
        click.echo(_control_line(item))
    for name, text in told["encoding"].items():
        click.echo(f"  computed before the solve: {name} = {text}")
    _print_numbers(f"{told['n_states']} states at t0", told["initial"])
    if problem.batch.size > 1 and problem.given:
        what = "one for each row of the data" if told["data"] else "one for each path"
        what = f"one for each condition: {', '.join(problem.conditions)}" if problem.conditions else what
        click.echo(f"\na batch of {problem.batch.size} trajectories, {what}")
    elif problem.batch.size > 1:
        click.echo(f"\na batch of {problem.batch.size} trajectories, drawn around it: {_drawn(problem)}")
    named = dict(list(told["parameters"].items())[: problem.n_named])
    _print_numbers(counted(problem.n_named, "parameter"), named)
    for network in told["networks"]:
        click.echo(f"\n{_network_line(network)}")
    click.echo(f"\ngradients are taken of {_loss_line(problem)}, with respect to {_wrt(problem)}")
    if problem.training is not None:
        click.echo(f"trained by {problem.training.steps} steps of {problem.training.optimiser}: {_numbers(told)}")
    for name, text in told["invariants"].items():
        click.echo(f"declared constant: {name} = {text}")
    if told["published_at"]:
        click.echo(f"published digits at t = {', '.join(told['published_at'])}")
    if told["source"]["citation"]:
        click.echo(f"\nsource: {told['source']['citation']}")
    for key in ("url", "note"):
        if told["source"][key]:
            click.echo(f"  {told['source'][key]}")


def _control_line(told: dict[str, Any]) -> str:
    if "brownian" not in told:
        return f"  a path through it drives the equation: {told['name']}, {told['interpolation']}, of {told['data']}"
    motion = told["brownian"]
    return (
        f"\na Brownian motion drives the equation: {told['name']}, {motion['channels']} channels of {motion['steps']} "
        f"steps from seed {motion['seed']}, joined by straight lines"
    )


def _breakpoints(times: dict[str, Any], events: list[dict[str, Any]]) -> str:
    """The breakpoints, and their source; of many the ends."""
    origins = {item["time"]: f"found in {item['in']}" for item in times["found"]}
    origins |= dict.fromkeys(times["declared"], "declared")
    origins |= {time: f"of event {event['name']}" for event in events for time in event["at"]}
    groups: dict[str, list[str]] = {}
    for time in times["breakpoints"]:
        groups.setdefault(origins.get(time, "of a path"), []).append(time)
    return ", ".join(f"{_some(members)} ({origin})" for origin, members in groups.items())


def _some(items: list[str]) -> str:
    """All items if they are few, otherwise their number and the ends."""
    few = 10
    return ", ".join(items) if len(items) <= few else f"{len(items)} times, {items[0]} to {items[-1]}"


def _shape(shape: list[int]) -> str:
    """A shape in words."""
    match shape:
        case []:
            return "a number"
        case [n]:
            return f"{n} numbers"
        case _:
            return f"{shape[0]} times of {shape[1]} channels"


def _network_line(network: dict[str, Any]) -> str:
    widths = [f"{layer['width']} {layer['activation']}" for layer in network["layers"]]
    where = ", applied at every point" if network["pointwise"] else ""
    if network["recurrent"]:
        where = f", recurrent over the times of a series, {network['recurrent']}"
    return (
        f"network {network['name']}: {network['inputs']} inputs, layers {', '.join(widths)}{where};"
        f" {network['n_weights']} weights, sha256 {network['sha256'][:12]}"
    )


def _drawn(problem: Problem) -> str:
    states = ", ".join(problem.batch.drawn) or "every state"
    return f"{states}, normal with deviation {problem.batch.spread:g} scales, seed {problem.batch.seed}"


def _loss_line(problem: Problem) -> str:
    """The loss in words."""
    loss = problem.loss
    kind = {
        "sum_of_squares": "the sum of squares", "sum_of_magnitudes": "the sum of magnitudes", "sum": "the sum",
        "cross_entropy": "the cross-entropy", "negative_log_likelihood": "the negative log-likelihood",
    }  # fmt: skip
    what = loss.texts.get("of", "the states")
    less = "its" if "of" in loss.texts and not loss.weights else "their"
    if loss.label:
        what = f"{what} and the label {loss.label}"
    elif loss.given:
        what = f"{what} less the data {loss.given}"
    elif loss.reads:
        what = f"{what} at their measurements"
    elif loss.data:
        what = f"{what} less {less} data"
    elif any(loss.target):
        what = f"{what} less {less} target"
    scaled = " over their scales" if any(scale != 1.0 for scale in loss.scale) else ""
    scaled = ", over their sigmas" if loss.weights else scaled
    when = "at the end" if loss.at == "end" else "at the saved times"
    penalty = f", plus {loss.texts['penalty']}" if "penalty" in loss.texts else ""
    times = f"{loss.weight:g} times " if loss.is_latent and loss.weight != 1.0 else ""
    return f"{times}{kind[loss.texts.get('kind', loss.kind)]} of {what}{scaled}, {when}{penalty}"


def _wrt(problem: Problem) -> str:
    if problem.wrt == "initial_state":
        return "the initial state"
    kinds = (["parameters"] if problem.n_named else []) + (["weights"] if problem.networks else [])
    return f"the {' and '.join(kinds)}"


def _numbers(told: dict[str, Any]) -> str:
    """The numbers of a training that it has."""
    numbers = {name: value for name, value in told["training"].items() if name not in ("optimiser", "steps")}
    return ", ".join(f"{name} {value:g}" for name, value in numbers.items() if value is not None)


def _print_numbers(heading: str, numbers: dict[str, str]) -> None:
    if not numbers:
        return
    click.echo(f"\n{heading}")
    for label, value in list(numbers.items())[:_SHOWN]:
        click.echo(f"  {label} = {value}")
    if len(numbers) > _SHOWN:
        click.echo(f"  and {len(numbers) - _SHOWN} more (--json has all)")
