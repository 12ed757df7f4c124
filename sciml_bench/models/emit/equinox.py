"""A model as an Equinox module, which takes one sample; batches are ``jax.vmap``'s."""

from __future__ import annotations

from sciml_bench.models.emit.lines import header, indented, statements
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


def _member(layer: Layer, key: str) -> str:
    n = layer.numbers
    match layer.kind:
        case "conv2d":
            options = [f"{name}={n[name]}" for name, usual in (("stride", 1), ("padding", 0)) if n[name] != usual]
            numbers = [str(n["inputs"]), str(n["channels"]), str(n["kernel"]), *options, f"key={key}"]
            return f"eqx.nn.Conv2d({', '.join(numbers)})"
        case "dense":
            return f"eqx.nn.Linear({n['inputs']}, {n['width']}, key={key})"
        case "embedding":
            return f"eqx.nn.Embedding({n['count']}, {n['width']}, key={key})"
        case "positions":
            return f"jnp.zeros(({n['count']}, {n['width']}))"
        case "group_norm":
            return f"eqx.nn.GroupNorm({n['groups']}, {n['width']}, eps={EPSILON})"
        case "layer_norm":
            return f"eqx.nn.LayerNorm({n['width']}, eps={EPSILON})"
        case "attention":
            return f"Attention({n['width']}, heads={n['heads']}, causal={bool(n['causal'])}, key={key})"
    raise ValueError(layer.kind)


def _expression(layer: Layer, x: str) -> str:
    size = layer.numbers.get("size", 0)
    match layer.kind:
        case "embedding":
            return f"jax.vmap(self.{layer.name})({x})"
        case "positions":
            return f"{x} + self.{layer.name}"
        case "layer_norm":
            return f"jax.vmap(self.{layer.name})({x})"
        case "dense":
            return f"jax.vmap(self.{layer.name})({x})" if len(layer.input) == 2 else f"self.{layer.name}({x})"
        case "relu":
            return f"jax.nn.relu({x})"
        case "gelu":
            return f"jax.nn.gelu({x}, approximate=False)"
        case "tanh":
            return f"jax.nn.tanh({x})"
        case "max_pool":
            return f"eqx.nn.MaxPool2d({size}, {size})({x})"
        case "mean_pool":
            return f"eqx.nn.AvgPool2d({size}, {size})({x})"
        case "mean":
            return f"{x}.mean(axis=(1, 2))" if len(layer.input) == 3 else f"{x}.mean(axis=0)"
        case "flatten":
            return f"{x}.reshape(-1)"
        case "tokens":
            return f"{x}.reshape(len({x}), -1).T"
    return f"self.{layer.name}({x})"
