"""``certify``: objective and gradient of a model, with their certified digits."""

from __future__ import annotations

from pathlib import Path

import click

from sciml_bench.cli import completion, exit_codes
from sciml_bench.cli.importing import as_problem_file, t_span_option
from sciml_bench.cli.model_reference import model_named
from sciml_bench.cli.reference import limit_option, working
from sciml_bench.errors import UsageError


@click.command(
    epilog="""\b
Examples:
  sciml-bench certify robertson
  sciml-bench certify my_problem.toml -o gradient.json
  sciml-bench certify model.py:rhs --limit 300

\b
Exit codes:
    0  every component is certified
    1  a component is not, or the solution is not
    2  wrong usage, or a model that cannot be read
""",
)
@click.argument("model", shell_complete=completion.PROBLEMS)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write to FILE.")
@click.option("--out", type=click.Path(path_type=Path), default="results", help="Folder of imported models.")
@t_span_option
@limit_option
def certify(model: str, output: Path | None, out: Path, t_span: tuple[float, ...] | None, limit_s: float | None) -> int:
    """Write the objective of a model and its gradient with their certified digits, as a small JSON file.

    A reference that is stored is taken, and a missing one computed. MODEL is a problem of the catalog, a problem file,
    FILE.py:NAME, an SBML model or a PEtab problem. Derivatives are by log10(k) or log(k) for parameters with such a
    scale. In a test of your own, sciml_bench.testing.assert_gradient(mine, FILE) compares with it.
    """
    from sciml_bench.references.build import make
    from sciml_bench.references.statement import on_scales, statement_of
    from sciml_bench.references.store import find
    from sciml_bench.spec import catalog

    path = as_problem_file(model, out, t_span)
    if model_named(path) is not None:
        raise UsageError(f"'{model}' is a model of the conventional track; `sciml-bench reference show {model}`")
    problem = catalog.given(path)
    stored = find(problem)
    if stored is None or not stored.gradient:
        with working(problem.name) as say:
            stored, missing = make(problem, say, limit_s or float("inf"))
        if missing:
            click.echo(f"{problem.name}: {missing}", err=True)
    found = on_scales(statement_of(stored), problem)
    if output is None:
        click.echo(found.to_json(), nl=False)
    else:
        output.write_text(found.to_json(), encoding="utf-8")
        click.echo(f"wrote {output}")
    if found.uncertified:
        click.echo(f"{problem.name}: not certified: {', '.join(found.uncertified)}", err=True)
    return exit_codes.CHECK_FAILED if found.uncertified or not found.gradient else exit_codes.OK
