"""A model as an Equinox module, which takes one sample; batches are ``jax.vmap``'s."""

from __future__ import annotations

from sciml_bench.models.emit.lines import convolution, header, indented, statements
from sciml_bench.models.layer import EPSILON, Layer, walk
from sciml_bench.models.model import Model

# jax.nn.dot_product_attention, which does the same on a CPU, takes its softmax in single precision, also of doubles.
_ATTENTION = """

class Attention(eqx.Module):
    qkv: eqx.nn.Linear
    project: eqx.nn.Linear
    heads: int = eqx.field(static=True)
    causal: bool = eqx.field(static=True)

    def __init__(self, width, heads, causal, key):
        first, second = jax.random.split(key)
        self.qkv = eqx.nn.Linear(width, 3 * width, key=first)
        self.project = eqx.nn.Linear(width, width, key=second)
        self.heads, self.causal = heads, causal

    def __call__(self, x):
        positions, width = x.shape
        q, k, v = jnp.unstack(jax.vmap(self.qkv)(x).reshape(positions, 3, self.heads, width // self.heads), axis=1)
        scores = jnp.einsum("qhd,khd->hqk", q, k) / math.sqrt(width // self.heads)
        if self.causal:
            scores = jnp.where(jnp.tri(positions, dtype=bool), scores, -jnp.inf)
        x = jnp.einsum("hqk,khd->qhd", jax.nn.softmax(scores), v)
        return jax.vmap(self.project)(x.reshape(positions, width))

"""

_LOSSES = {
    "cross_entropy": """
def loss(model, inputs, labels):
    logits = jax.vmap(model)(inputs)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()
""",
    "mean_square": """
def loss(model, inputs, labels):
    return jnp.square(jax.vmap(model)(inputs)).mean()
""",
}


def equinox_source(model: Model) -> str:
    """A module with ``Model(key)`` and ``loss``; the leaves of ``Model`` have the order of theta."""
    layers = list(walk(model.layers))
    weighted = [layer for layer in layers if layer.slots]
    keyed = [layer for layer in weighted if layer.kind not in ("positions", "group_norm", "layer_norm")]
    keys = {layer.name: f"keys[{number}]" for number, layer in enumerate(keyed)}
    members = [f"self.{layer.name} = {_member(layer, keys.get(layer.name, ''))}" for layer in weighted]
    attention = _ATTENTION if any(layer.kind == "attention" for layer in layers) else ""
    body = statements(model.layers, _expression)
    numpy = "jnp." in "\n".join([attention, _LOSSES[model.loss], *members, *body])
    lines = [
        header(model, "Equinox"),
        "",
        *(["import math", ""] if attention else []),
        "import equinox as eqx",
        "import jax",
        *(["import jax.numpy as jnp"] if numpy else []),
        *(["import optax"] if model.loss == "cross_entropy" else []),
        attention or "\n",
        "class Model(eqx.Module):",
        *indented([f"{layer.name}: {_type(layer)}" for layer in weighted]),
        "",
        *indented(
            ["def __init__(self, key):", *indented([f"keys = jax.random.split(key, {len(keyed)})", *members]), ""]
        ),
        *indented(["def __call__(self, x):", *indented([*body, "return x"])]),
        "",
        _LOSSES[model.loss].rstrip(),
    ]
    return "\n".join(lines) + "\n"


_TYPES = {
    "conv2d": "eqx.nn.Conv2d", "dense": "eqx.nn.Linear", "embedding": "eqx.nn.Embedding", "positions": "jax.Array",
    "group_norm": "eqx.nn.GroupNorm", "layer_norm": "eqx.nn.LayerNorm", "attention": "Attention",
}  # fmt: skip


def _type(layer: Layer) -> str:
    return _TYPES[layer.kind]


_MEMBERS = {
    "dense": "eqx.nn.Linear({inputs}, {width}, key={key})",
    "embedding": "eqx.nn.Embedding({count}, {width}, key={key})",
    "positions": "jnp.zeros(({count}, {width}))",
    "group_norm": f"eqx.nn.GroupNorm({{groups}}, {{width}}, eps={EPSILON})",
    "layer_norm": f"eqx.nn.LayerNorm({{width}}, eps={EPSILON})",
}


def _member(layer: Layer, key: str) -> str:
    n = layer.numbers
    if layer.kind == "conv2d":
        return f"eqx.nn.Conv2d({', '.join([*convolution(layer), f'key={key}'])})"
    if layer.kind == "attention":
        return f"Attention({n['width']}, heads={n['heads']}, causal={bool(n['causal'])}, key={key})"
    return _MEMBERS[layer.kind].format(key=key, **n)


_EXPRESSIONS = {
    "embedding": "jax.vmap(self.{name})({x})", "positions": "{x} + self.{name}",
    "layer_norm": "jax.vmap(self.{name})({x})", "relu": "jax.nn.relu({x})",
    "gelu": "jax.nn.gelu({x}, approximate=False)", "tanh": "jax.nn.tanh({x})",
    "max_pool": "eqx.nn.MaxPool2d({size}, {size})({x})", "mean_pool": "eqx.nn.AvgPool2d({size}, {size})({x})",
    "flatten": "{x}.reshape(-1)", "tokens": "{x}.reshape(len({x}), -1).T",
}  # fmt: skip


def _expression(layer: Layer, x: str) -> str:
    if layer.kind == "dense" and len(layer.input) == 2:
        return f"jax.vmap(self.{layer.name})({x})"
    if layer.kind == "mean":
        return f"{x}.mean(axis=(1, 2))" if len(layer.input) == 3 else f"{x}.mean(axis=0)"
    return _EXPRESSIONS.get(layer.kind, "self.{name}({x})").format(x=x, name=layer.name, **layer.numbers)
