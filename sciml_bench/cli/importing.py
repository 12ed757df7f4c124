"""``import``: a model of another form as a problem file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sciml_bench.cli import options as exits
from sciml_bench.errors import ProblemError

IMPORTED = "imported"


def as_problem_file(model: str, out: Path) -> str:
    """A model as a problem file: a Python function is written to ``imported`` in the folder of runs."""
    from sciml_bench.importing.importer import is_python, is_sbml, of_source
    from sciml_bench.record.lines import write_whole

    if is_sbml(model):
        cure = f"Write it as a problem file first: sciml-bench import {model} --t-span 0,100 -o model.toml"
        raise ProblemError("SBML says not how long to solve.", where=Path(model), cure=cure)
    if not is_python(model):
        return model
    text = of_source(model)
    target = out / IMPORTED / f"{model.rpartition(':')[2].lower()}.toml"
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, text)
    click.echo(f"wrote {target}", err=True)
    return str(target)


class Numbers(click.ParamType[tuple[float, ...]]):
    """Numbers with commas between them."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return tuple(float(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"'{value}' is not a list of numbers such as 1,0,0.5", param, ctx)


@click.command(
    name="import",
    epilog="""\b
Examples:
  sciml-bench import model.py:rhs -o model.toml
  sciml-bench import model.py:rhs --y0 1,0 --t-span 0,10 --p 0.5,2
  sciml-bench import model.xml --t-span 0,100 -o model.toml
  sciml-bench advise model.py:rhs

\b
Exit codes:
    0  written
    2  wrong usage, or a model that cannot be written as a problem file
""",
)
@click.argument("source", metavar="FILE.py:NAME|FILE.xml")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE.")
@click.option("--y0", type=Numbers(), help="Initial state [default: the file's y0].")
@click.option("--p", type=Numbers(), help="Parameters [default: the file's p].")
@click.option("--t-span", type=Numbers(), help="Start and end [default: the file's t_span].")
def import_model(
    source: str,
    output: Path | None,
    y0: tuple[float, ...] | None,
    p: tuple[float, ...] | None,
    t_span: tuple[float, ...] | None,
) -> int:
    """Write a Python function or an SBML model as a problem file.

    A function is f(t, y), f(t, y, p), f(t, y, a, b) or f(y, t, ...), written with NumPy, math, jax.numpy or torch.
    The file is run, and the function called with formulas; the problem file is checked against the function at random
    points. Its variables y0, p and t_span say from where and how far to solve.

    An SBML model is of level 2 or 3, without events, delays and algebraic rules (needs python-libsbml). Gradients are
    taken by its constant parameters.
    """
    from sciml_bench.importing.importer import is_python, is_sbml, of_sbml, of_source

    if t_span is not None and len(t_span) != 2:
        raise click.UsageError("--t-span takes two numbers, the start and the end")
    if is_sbml(source):
        if t_span is None:
            raise click.UsageError("SBML says not how long to solve: add --t-span 0,100")
        if y0 is not None or p is not None:
            raise click.UsageError("--y0 and --p are for functions: an SBML file has its own numbers")
        text, notes = of_sbml(Path(source), (t_span[0], t_span[1]))
        for note in notes:
            click.echo(f"note: {note}", err=True)
    elif is_python(source):
        text = of_source(source, y0=y0, p=p, t_span=t_span)
    else:
        raise click.UsageError(f"'{source}' cannot be read: write FILE.py:NAME or FILE.xml")
    if output is None:
        click.echo(text, nl=False)
        return exits.OK
    output.write_text(text, encoding="utf-8")
    click.echo(f"wrote {output}; next: sciml-bench advise {output}")
    return exits.OK
