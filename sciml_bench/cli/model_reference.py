"""``reference`` for models of the conventional track: outputs, losses and slopes in extended precision."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from sciml_bench.errors import StoreError

if TYPE_CHECKING:
    from sciml_bench.models.model import Model


# Two computations of the same numbers, in any order of their sums, agree far better than this.
_AGREEMENT = 1e-13
# Slopes of a few samples may have larger relative errors than the slope of all together.
_SLACK = 30.0


def model_named(name: str) -> Model | None:
    """The model of a name of the catalog or of a file; ``None`` for a differential equation."""
    from sciml_bench.models.load import is_model_file, load_model
    from sciml_bench.spec import catalog

    path = catalog.given_path(name)
    return load_model(path) if is_model_file(path) else None


def state(model: Model) -> str:
    """``stored``, ``missing``, or ``stale`` for one of another version of the model."""
    from sciml_bench.models.truth import stored

    try:
        return "missing" if stored(model) is None else "stored"
    except StoreError:
        return "stale"


def compute(model: Model) -> bool:
    """Compute and keep the reference of a model; whether that succeeded."""
    from sciml_bench.models import truth

    start = time.monotonic()
    path = truth.write(model, found := truth.compute(model))
    click.echo(
        f"{model.name}: slopes to {found.slope_digits} digits, in {time.monotonic() - start:.0f} s, written to {path}"
    )
    return True


def check(model: Model) -> bool:
    """Compute the losses of a stored reference again, and its slopes by complex steps; whether they agree."""
    from sciml_bench.models import truth
    from sciml_bench.models.complex_steps import disagreement

    found = truth.stored(model)
    if found is None:
        click.echo(f"{model.name}: FAILED: no reference is stored")
        return False
    began = time.process_time()
    apart = max(abs(a - b) / abs(b) for a, b in zip(truth.compute_losses(model), found.losses, strict=True))
    slopes = disagreement(model, found)
    good = apart <= _AGREEMENT and slopes <= _SLACK * 10.0**-found.slope_digits
    took = f"{time.process_time() - began:.1f} s"
    click.echo(
        f"{model.name}: {'ok' if good else 'FAILED'}: losses agree to {apart:.1e}, slopes to {slopes:.1e}"
        f" ({10.0**-found.slope_digits:.1e} is claimed; {took})"
    )
    return good


def facts(model: Model) -> dict[str, Any]:
    """The content of a reference, as plain JSON values.

    Raises:
        StoreError: there is none, or it is stale.
    """
    from dataclasses import asdict

    from sciml_bench.models.truth import stored

    found = stored(model)
    if found is None:
        raise StoreError(f"no reference for '{model.name}'; `sciml-bench reference compute {model.name}` makes one")
    return {"problem": model.name, "spec_hash": model.spec_hash, **asdict(found)}


def show(model: Model) -> None:
    """Print what a reference says."""
    told = facts(model)
    n_samples = len(told["losses"])
    click.echo(f"{model.name}: slopes to {told['slope_digits']} digits, spec {model.spec_hash[:12]}")
    click.echo(f"loss of the first {n_samples} samples = {sum(told['losses']) / n_samples:.15g}")
    for number, slopes in enumerate(told["slopes"], start=1):
        click.echo(f"  slope along direction {number} = {sum(slopes) / n_samples:.12g}")
    click.echo(f"outputs of {len(told['outputs'])} samples (--json has all)")
