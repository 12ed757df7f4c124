"""Shared parts of the emitters of models: a chain of layers as statements, one for each layer."""

from __future__ import annotations

from collections.abc import Callable

from sciml_bench.models.layer import Layer
from sciml_bench.models.model import Model

# Names of what flows through nested residual layers, from the outside to the inside.
_NAMES = "xyzuvw"

Expression = Callable[[Layer, str], str]
"""The code of one layer applied to a variable."""


def header(model: Model, framework: str) -> str:
    """The first line of a module."""
    return f'"""{model.name} for {framework}, emitted from its neutral spec {model.spec_hash[:12]}."""'


def statements(layers: tuple[Layer, ...], expression: Expression, depth: int = 0) -> list[str]:
    """Assignments that apply the layers to the variable of this depth, in order."""
    x = _NAMES[depth % len(_NAMES)]
    lines: list[str] = []
    for layer in layers:
        if layer.kind == "residual":
            y = _NAMES[(depth + 1) % len(_NAMES)]
            lines += _branch(layer.body, expression, depth + 1, x)
            if layer.shortcut:
                lines += statements(layer.shortcut, expression, depth)
            lines.append(f"{x} = {x} + {y}")
        else:
            lines.append(f"{x} = {expression(layer, x)}")
    return lines


def _branch(layers: tuple[Layer, ...], expression: Expression, depth: int, source: str) -> list[str]:
    """Write the lines from the variable ``source``, which they do not change."""
    y = _NAMES[depth % len(_NAMES)]
    first, *rest = layers
    if first.kind == "residual":
        return [f"{y} = {source}", *statements(layers, expression, depth)]
    return [f"{y} = {expression(first, source)}", *statements(tuple(rest), expression, depth)]


def convolution(layer: Layer) -> list[str]:
    """Channels, kernel, and unusual options, as arguments of a layer of PyTorch's or Equinox's."""
    n = layer.numbers
    options = [f"{key}={n[key]}" for key, usual in (("stride", 1), ("padding", 0)) if n[key] != usual]
    return [*(str(n[key]) for key in ("inputs", "channels", "kernel")), *options]


def indented(lines: list[str], depth: int = 1) -> list[str]:
    """The lines, moved to the right."""
    return ["    " * depth + line if line else line for line in lines]
