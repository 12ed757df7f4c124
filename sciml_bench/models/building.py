"""Builds layers from their tables: every shape is worked out and checked, every layer named, every weight given its
place."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from sciml_bench.errors import ProblemError
from sciml_bench.models.layer import KINDS, Layer
from sciml_bench.record.model_task import Shape, Slot
from sciml_bench.spec.document import Document

MAX_WIDTH = 65_536
MAX_LAYERS = 500
_PREFIXES = {
    "conv2d": "conv", "dense": "dense", "embedding": "embedding", "positions": "positions", "group_norm": "norm",
    "layer_norm": "norm", "attention": "attention",
}  # fmt: skip

_ACTIVATIONS = ("relu", "gelu", "tanh")
_SHARED = {"max_pool": "pool", "mean_pool": "pool"}


@dataclass
class Builder:
    """Layers being built. ``place`` is the number of the ``[[layers]]`` table that errors point at, ``before`` the
    layer before the one being built, in the same list. ``vocabulary`` is the number of different whole numbers in
    samples, 0 for other samples.
    """

    document: Document
    vocabulary: int
    place: int = 0
    before: Layer | None = None
    named: Counter[str] = field(default_factory=Counter[str])
    count: int = 0

    def layers(self, tables: Any, shape: Shape, top: bool = False) -> tuple[Layer, ...]:
        """The layers of a list of tables, the first of which takes a sample of ``shape``."""
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise self.error("'layers' must be a list of tables.", "layers")
        built: list[Layer] = []
        for number, table in enumerate(tables):
            self.place = number if top else self.place
            self.before = built[-1] if built else None
            for layer in self._layer(table, shape):
                built.append(layer)
                shape = layer.output
        return tuple(built)

    def error(self, message: str, key: str = "", cure: str = "") -> ProblemError:
        """An error at a key of the ``[[layers]]`` table at hand."""
        return ProblemError(
            message, where=self.document.path, line=layer_line(self.document, self.place, key), cure=cure
        )

    def _layer(self, table: dict[str, Any], shape: Shape) -> tuple[Layer, ...]:
        self.count += 1
        if self.count > MAX_LAYERS:
            raise self.error(f"there are more than {MAX_LAYERS} layers.")
        kind = table.get("kind")
        if not isinstance(kind, str) or kind not in KINDS:
            close = get_close_matches(str(kind), KINDS, n=1)
            cure = f"Did you mean '{close[0]}'?" if close else f"One of {', '.join(KINDS)}."
            raise self.error(f"'{kind}' is not a kind of layer.", "kind", cure)
        for key in table:
            if key not in ("kind", *KINDS[kind]):
                raise self.error(f"a layer of kind {kind} has no '{key}'.", key, _keys_text(kind))
        if kind == "blocks":
            return self._blocks(table, shape)
        if kind in _ACTIVATIONS:
            return (Layer(kind, "", shape, shape),)
        return (getattr(self, f"_{_SHARED.get(kind, kind)}")(table, shape),)

    def _blocks(self, table: dict[str, Any], shape: Shape) -> tuple[Layer, ...]:
        built: tuple[Layer, ...] = ()
        for _ in range(self._whole(table, "count", 1, MAX_LAYERS)):
            built += self.layers(table.get("layers"), built[-1].output if built else shape)
        return built

    def _conv2d(self, table: dict[str, Any], shape: Shape) -> Layer:
        channels, height, width = self._image(shape, "conv2d")
        outputs, kernel = self._whole(table, "channels"), self._whole(table, "kernel", 1, 31)
        stride, padding = self._whole(table, "stride", 1, 16, 1), self._whole(table, "padding", 0, 15, 0)
        after = [(size + 2 * padding - kernel) // stride + 1 for size in (height, width)]
        if min(after) < 1:
            raise self.error(f"a window of {kernel} does not fit into {height} x {width} pixels.", "kernel")
        numbers = {"inputs": channels, "channels": outputs, "kernel": kernel, "stride": stride, "padding": padding}
        slots = {"weight": (outputs, channels, kernel, kernel), "bias": (outputs,)}
        return self._weighted("conv2d", shape, (outputs, *after), slots, numbers)

    def _dense(self, table: dict[str, Any], shape: Shape) -> Layer:
        if len(shape) > 2 or self._is_whole(shape):
            raise self.error(
                f"a dense layer takes no {_text(shape)}.", "kind", "Put flatten, mean or tokens before it."
            )
        width = self._whole(table, "width")
        inputs = shape[len(shape) - 1]
        flattened = self.before.input if self.before is not None and self.before.kind == "flatten" else ()
        slots = {"weight": (width, inputs), "bias": (width,)}
        numbers = {"inputs": inputs, "width": width}
        layer = self._weighted("dense", shape, (*shape[:-1], width), slots, numbers)
        return replace(layer, slots=(replace(layer.slots[0], flattened=flattened), layer.slots[1]))

    def _embedding(self, table: dict[str, Any], shape: Shape) -> Layer:
        if not self._is_whole(shape):
            raise self.error(f"an embedding takes whole numbers, not {_text(shape)}.", "kind")
        width = self._whole(table, "width")
        numbers = {"count": self.vocabulary, "width": width}
        return self._weighted("embedding", shape, (*shape, width), {"weight": (self.vocabulary, width)}, numbers)

    def _positions(self, _table: dict[str, Any], shape: Shape) -> Layer:
        count, width = self._tokenised(shape, "positions")
        return self._weighted("positions", shape, shape, {"weight": shape}, {"count": count, "width": width})

    def _group_norm(self, table: dict[str, Any], shape: Shape) -> Layer:
        channels, _, _ = self._image(shape, "group_norm")
        groups = self._whole(table, "groups")
        if channels % groups:
            raise self.error(f"{groups} groups do not divide {channels} channels.", "groups")
        slots = {"scale": (channels,), "bias": (channels,)}
        return self._weighted("group_norm", shape, shape, slots, {"groups": groups, "width": channels})

    def _layer_norm(self, _table: dict[str, Any], shape: Shape) -> Layer:
        _, width = self._tokenised(shape, "layer_norm")
        return self._weighted("layer_norm", shape, shape, {"scale": (width,), "bias": (width,)}, {"width": width})

    def _pool(self, table: dict[str, Any], shape: Shape) -> Layer:
        kind = table["kind"]
        channels, height, width = self._image(shape, kind)
        size = self._whole(table, "size", 2, 31)
        if height % size or width % size:
            raise self.error(f"windows of {size} do not tile {height} x {width} pixels.", "size")
        return Layer(kind, "", shape, (channels, height // size, width // size), {"size": size})

    def _mean(self, _table: dict[str, Any], shape: Shape) -> Layer:
        if len(shape) < 2 or self._is_whole(shape):
            raise self.error(f"there is nothing to take the mean of in {_text(shape)}.", "kind")
        return Layer("mean", "", shape, (shape[0],) if len(shape) == 3 else (shape[1],))

    def _flatten(self, _table: dict[str, Any], shape: Shape) -> Layer:
        self._image(shape, "flatten")
        return Layer("flatten", "", shape, (math.prod(shape),))

    def _tokens(self, _table: dict[str, Any], shape: Shape) -> Layer:
        channels, height, width = self._image(shape, "tokens")
        return Layer("tokens", "", shape, (height * width, channels))

    def _attention(self, table: dict[str, Any], shape: Shape) -> Layer:
        _, width = self._tokenised(shape, "attention")
        heads, causal = self._whole(table, "heads"), table.get("causal", False)
        if width % heads:
            raise self.error(f"{heads} heads do not divide a width of {width}.", "heads")
        if not isinstance(causal, bool):
            raise self.error("'causal' must be true or false.", "causal")
        slots = {"qkv_weight": (3 * width, width), "qkv_bias": (3 * width,), "weight": (width, width), "bias": (width,)}
        numbers = {"heads": heads, "causal": int(causal), "width": width}
        return self._weighted("attention", shape, shape, slots, numbers)

    def _residual(self, table: dict[str, Any], shape: Shape) -> Layer:
        body = self.layers(table.get("layers"), shape)
        shortcut = self.layers(table.get("shortcut", []), shape)
        after, beside = (layers[-1].output if layers else shape for layers in (body, shortcut))
        if not body or after != beside:
            cure = "Give the residual layer a 'shortcut' with that output, as a conv2d of kernel 1 makes it."
            raise self.error(f"{_text(after)} cannot be added to {_text(beside)}.", "layers", cure)
        return Layer("residual", "", shape, after, body=body, shortcut=shortcut)

    def _weighted(
        self, kind: str, before: Shape, after: Shape, shapes: dict[str, Shape], numbers: dict[str, int]
    ) -> Layer:
        prefix = _PREFIXES[kind]
        self.named[prefix] += 1
        name = f"{prefix}{self.named[prefix]}"
        heads = numbers.get("heads", 0)
        slots = tuple(Slot(name, kind, role, shape, heads=heads) for role, shape in shapes.items())
        return Layer(kind, name, before, after, numbers, slots)

    def _is_whole(self, shape: Shape) -> bool:
        return len(shape) == 1 and self.vocabulary > 0 and not any(self.named.values())

    def _image(self, shape: Shape, kind: str) -> tuple[int, int, int]:
        if len(shape) != 3:
            raise self.error(f"{kind} takes an image (channels, height, width), not {_text(shape)}.", "kind")
        return shape[0], shape[1], shape[2]

    def _tokenised(self, shape: Shape, kind: str) -> tuple[int, int]:
        if len(shape) != 2:
            cure = "Put an embedding before it, or tokens."
            raise self.error(f"{kind} takes tokens (positions, width), not {_text(shape)}.", "kind", cure)
        return shape[0], shape[1]

    def _whole(
        self, table: dict[str, Any], key: str, low: int = 1, high: int = MAX_WIDTH, default: int | None = None
    ) -> int:
        value = table.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.error(f"'{key}' of a layer must be a whole number from {low} to {high}.", key)
        return value


def layer_line(document: Document, place: int, key: str = "") -> int | None:
    """The line of a key in the ``[[layers]]`` table of this number, of the table itself where the key is not found."""
    found, header = -1, None
    for number, line in enumerate(document.text.splitlines(), start=1):
        if re.match(r"\s*\[\[\s*layers\s*\]\]", line):
            found += 1
            header = number if found == place else header
        elif found == place and re.match(r"\s*\[", line):
            break
        elif found == place and key and re.search(rf"\b{re.escape(key)}\s*=", line):
            return number
    return header


def _keys_text(kind: str) -> str:
    return f"It has {', '.join(KINDS[kind])}." if KINDS[kind] else "It has no keys."


def _text(shape: Shape) -> str:
    return f"a sample of shape ({', '.join(map(str, shape))})"
