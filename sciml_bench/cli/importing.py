"""``import``: a model of another form as a problem file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from sciml_bench.cli import exit_codes
from sciml_bench.cli.parameter_types import NUMBERS
from sciml_bench.errors import UsageError

IMPORTED = "imported"


t_span_option = click.option(
    "--t-span", type=NUMBERS, metavar="START,END", help="The time span of an SBML model, or of a function."
)


def as_problem_file(model: str, out: Path, t_span: tuple[float, ...] | None = None) -> str:
    """A model of another form as a problem file, which is written to ``imported`` in the folder of runs.

    Raises:
        UsageError: the time span is missing, or the model has its own.
        ProblemError: the model cannot be written as a problem file.
    """
    from sciml_bench.importing.forms import is_python

    name = model.rpartition(":")[2].lower() if is_python(model) else Path(model).stem
    converted = _converted(model, name, t_span)
    if converted is None:
        return model
    target = out / IMPORTED / f"{name}.toml"
    target.parent.mkdir(parents=True, exist_ok=True)
    _write(target, *converted)
    click.echo(f"wrote {target}", err=True)
    return str(target)


def _converted(
    model: str, stem: str, t_span: tuple[float, ...] | None, **numbers: tuple[float, ...] | None
) -> tuple[str, Mapping[str, str]] | None:
    """The problem file of a model of another form, and files next to it, whose names begin with ``stem``; ``None`` for
    others. Notes are printed. ``numbers`` replace the y0 and p of a function.
    """
    from sciml_bench.importing.forms import is_petab, is_python, is_sbml

    if t_span is not None and len(t_span) != 2:
        raise click.UsageError("--t-span takes two numbers, the start and the end")
    if not is_python(model) and any(value is not None for value in numbers.values()):
        raise click.UsageError("--y0 and --p are for functions: other models have their own numbers")
    if t_span is not None and not (is_python(model) or is_sbml(model)):
        raise click.UsageError("--t-span is for SBML models and functions: other models have a time span")
    if not (is_python(model) or is_petab(model) or is_sbml(model)):
        return None
    # Its frameworks take a second to import.
    from sciml_bench.importing.importer import of_petab, of_sbml, of_source

    files: Mapping[str, str] = {}
    notes: Sequence[str] = ()
    if is_python(model):
        text = of_source(model, t_span=t_span, **numbers)
    elif is_petab(model):
        text, files, notes = of_petab(Path(model), stem)
    elif not Path(model).is_file():
        raise UsageError(f"{model}: there is no such file")
    elif t_span is None:
        raise click.UsageError(f"{model} has no time span: add --t-span 0,100")
    else:
        text, notes = of_sbml(Path(model), (t_span[0], t_span[1]))
    for note in notes:
        click.echo(f"note: {note}", err=True)
    return text, files


def _write(target: Path, text: str, files: Mapping[str, str]) -> None:
    """Write a problem file after the files that it names."""
    from sciml_bench.record.jsonl import write_whole

    for name, content in files.items():
        write_whole(target.with_name(name), content)
    write_whole(target, text)


@click.command(
    name="import",
    epilog="""\b
Examples:
  sciml-bench import model.py:rhs -o model.toml
  sciml-bench import model.py:rhs --y0 1,0 --t-span 0,10 --p 0.5,2
  sciml-bench import model.xml --t-span 0,100 -o model.toml
  sciml-bench import problem.yaml -o problem.toml
  sciml-bench advise model.py:rhs

\b
Exit codes:
    0  written
    2  wrong usage, or a model that cannot be written as a problem file
""",
)
@click.argument("source", metavar="FILE.py:NAME|FILE.xml|FILE.yaml")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE.")
@click.option("--y0", type=NUMBERS, help="Initial state [default: the file's y0].")
@click.option("--p", type=NUMBERS, help="Parameters [default: the file's p].")
@t_span_option
def import_model(
    source: str,
    output: Path | None,
    y0: tuple[float, ...] | None,
    p: tuple[float, ...] | None,
    t_span: tuple[float, ...] | None,
) -> int:
    """Write a Python function, SBML or PEtab as a problem file.

    A function is f(t, y), f(t, y, p), f(t, y, a, b) or f(y, t, ...), written with NumPy, math, jax.numpy or torch.
    The file is run, and the function called with formulas; the problem file is checked against the function at random
    points. Its variables y0, p and t_span say from where and how far to solve.

    An SBML model is of level 2 or 3, without delays, algebraic rules or fast reactions (needs python-libsbml).
    Gradients are taken by its constant parameters.

    A PEtab problem is of version 1 or 2 (needs petab). An equilibrium before the measurements becomes a long first
    period; measurements of the steady state are refused. Each condition becomes a trajectory, and the loss the
    negative log-likelihood of its measurements, with its priors. Measurements and conditions are written to files
    next to the problem file. Gradients are taken by the estimated parameters, at their nominal values.
    """
    from sciml_bench.importing.forms import is_petab

    if is_petab(source) and output is None:
        raise click.UsageError("a PEtab problem becomes several files: add -o problem.toml")
    converted = _converted(source, "" if output is None else output.stem, t_span, y0=y0, p=p)
    if converted is None:
        raise click.UsageError(f"'{source}' cannot be read: write FILE.py:NAME, FILE.xml or FILE.yaml")
    if output is None:
        click.echo(converted[0], nl=False)
        return exit_codes.OK
    _write(output, *converted)
    click.echo(f"wrote {output}; next: sciml-bench advise {output}")
    return exit_codes.OK
