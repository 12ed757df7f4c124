"""``describe`` for models of the conventional track: layers with their shapes, data with their split, training."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from sciml_bench.models.layer import Layer
    from sciml_bench.models.model import Model


def source(model: Model, adapter: str) -> tuple[str, str]:
    """The emitted source for an adapter, and the module whose program runs it.

    Raises:
        UsageError: there is no such adapter, or it runs no models.
    """
    from sciml_bench.adapters import registry
    from sciml_bench.errors import UsageError
    from sciml_bench.models.emit import architecture_source
    from sciml_bench.record.task import CONVENTIONAL

    declared = registry.adapter(adapter)
    if declared.track != CONVENTIONAL:
        able = [name for name, item in registry.adapters().items() if item.track == CONVENTIONAL]
        raise UsageError(
            f"'{adapter}' solves equations, and {model.name} is a model; its adapters are {', '.join(able)}"
        )
    return architecture_source(model, declared.target), declared.program.partition(":")[0]


def facts(model: Model) -> dict[str, Any]:
    """The facts of a model, as plain JSON values."""
    return {
        "name": model.name,
        "title": model.title,
        "suite": model.suite,
        "tier": model.tier,
        "tags": list(model.tags),
        "description": model.description,
        "source": dataclasses.asdict(model.source),
        "data": dataclasses.asdict(model.data),
        "layers": [_layer(layer) for layer in model.layers],
        "n_weights": model.n_weights,
        "loss": model.loss,
        "batches": list(model.batches),
        "training": None if model.training is None else dataclasses.asdict(model.training),
        "spec_hash": model.spec_hash,
    }


def print_model(model: Model) -> None:
    """Print the same in words."""
    click.echo(f"{model.name}: {model.title}")
    click.echo(f"suite {model.suite}, tier {model.tier}, tags {', '.join(model.tags) or 'none'}")
    if model.description:
        click.echo(f"\n{model.description}")
    click.echo(f"\nlayers, {model.n_weights} weights")
    for line in _lines(model.layers, 1):
        click.echo(line)
    data = model.data
    click.echo(f"\ndata: {data.name}, {data.version}")
    click.echo(f"  {data.size - data.held_out} samples for training, {data.held_out} held out, seed {data.seed}")
    if data.sha256:
        click.echo(f"  SHA-256 {data.sha256}, licence {data.licence}")
    click.echo(f"loss: {model.loss}; batches {', '.join(map(str, model.batches))}")
    if model.training is not None:
        click.echo(f"training: {_training(model)}")
    click.echo(f"\nsource: {model.source.citation}")
    for text in (model.source.url, model.source.note):
        if text:
            click.echo(f"  {text}")


def _training(model: Model) -> str:
    training = model.training
    assert training is not None
    goals = {"held-out accuracy ≥": training.accuracy, "held-out loss ≤": training.target}
    wanted = ", ".join(f"{name} {value:g}" for name, value in goals.items() if value is not None)
    words = f"{training.steps} steps of {training.optimiser} on batches of {training.batch}, learning rate"
    return f"{words} {training.learning_rate:g}" + (f"; target: {wanted}" if wanted else "")


def _layer(layer: Layer) -> dict[str, Any]:
    told: dict[str, Any] = {"kind": layer.kind, "input": list(layer.input), "output": list(layer.output)}
    told |= {"name": layer.name} if layer.name else {}
    told |= {"numbers": dict(layer.numbers)} if layer.numbers else {}
    told |= {"layers": [_layer(inner) for inner in layer.body]} if layer.body else {}
    return told | ({"shortcut": [_layer(inner) for inner in layer.shortcut]} if layer.shortcut else {})


def _lines(layers: tuple[Layer, ...], depth: int) -> Iterator[str]:
    for layer in layers:
        shape = " x ".join(map(str, layer.output))
        weights = sum(slot.size for slot in layer.slots)
        counted = f", {weights} weights" if weights else ""
        yield f"{'  ' * depth}{layer.name or layer.kind}: {layer.kind} to {shape}{counted}"
        yield from _lines(layer.body, depth + 1)
        if layer.shortcut:
            yield f"{'  ' * (depth + 1)}added to"
            yield from _lines(layer.shortcut, depth + 2)
