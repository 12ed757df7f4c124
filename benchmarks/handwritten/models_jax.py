"""LeNet and a small GPT in Equinox with Optax, after Equinox's guides: ``model_tax.py`` measures our trainings
against it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree


class LeNet(eqx.Module):
    layers: list[Any]

    def __init__(self, key: Any) -> None:
        keys = jax.random.split(key, 5)
        self.layers = [
            eqx.nn.Conv2d(1, 16, 3, padding=1, key=keys[0]), jax.nn.relu, eqx.nn.MaxPool2d(2, 2),
            eqx.nn.Conv2d(16, 32, 3, padding=1, key=keys[1]), jax.nn.relu, eqx.nn.MaxPool2d(2, 2),
            jnp.ravel,
            eqx.nn.Linear(128, 120, key=keys[2]), jax.nn.relu,
            eqx.nn.Linear(120, 84, key=keys[3]), jax.nn.relu,
            eqx.nn.Linear(84, 10, key=keys[4]),
        ]  # fmt: skip

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


class Block(eqx.Module):
    norm1: eqx.nn.LayerNorm
    qkv: eqx.nn.Linear
    out: eqx.nn.Linear
    norm2: eqx.nn.LayerNorm
    up: eqx.nn.Linear
    down: eqx.nn.Linear
    heads: int = eqx.field(static=True)

    def __init__(self, width: int, heads: int, key: Any) -> None:
        keys = jax.random.split(key, 4)
        self.norm1, self.norm2 = eqx.nn.LayerNorm(width), eqx.nn.LayerNorm(width)
        self.qkv = eqx.nn.Linear(width, 3 * width, key=keys[0])
        self.out = eqx.nn.Linear(width, width, key=keys[1])
        self.up = eqx.nn.Linear(width, 4 * width, key=keys[2])
        self.down = eqx.nn.Linear(4 * width, width, key=keys[3])
        self.heads = heads

    def __call__(self, x: Any) -> Any:
        t, width = x.shape
        qkv = jax.vmap(self.qkv)(jax.vmap(self.norm1)(x))
        q, k, v = (part.reshape(t, self.heads, -1) for part in jnp.split(qkv, 3, axis=1))
        attended = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + jax.vmap(self.out)(attended.reshape(t, width))
        hidden = jax.nn.gelu(jax.vmap(self.up)(jax.vmap(self.norm2)(x)), approximate=False)
        return x + jax.vmap(self.down)(hidden)


class GPT(eqx.Module):
    tokens: eqx.nn.Embedding
    positions: jax.Array
    blocks: list[Block]
    norm: eqx.nn.LayerNorm
    head: eqx.nn.Linear

    def __init__(self, key: Any, vocabulary: int = 88, context: int = 32, width: int = 48, heads: int = 3) -> None:
        keys = jax.random.split(key, 4)
        self.tokens = eqx.nn.Embedding(vocabulary, width, key=keys[0])
        self.positions = jnp.zeros((context, width))
        self.blocks = [Block(width, heads, key) for key in keys[1:3]]
        self.norm = eqx.nn.LayerNorm(width)
        self.head = eqx.nn.Linear(width, vocabulary, key=keys[3])

    def __call__(self, x: Any) -> Any:
        x = jax.vmap(self.tokens)(x) + self.positions
        for block in self.blocks:
            x = block(x)
        return jax.vmap(self.head)(jax.vmap(self.norm)(x))


@eqx.filter_value_and_grad
def loss_of(model: Any, x: Any, y: Any) -> Any:
    """The mean cross entropy of a batch, with its gradient."""
    return optax.softmax_cross_entropy_with_integer_labels(jax.vmap(model)(x), y).mean()


def training(problem: str, weights: Sequence[np.ndarray], inputs: np.ndarray, labels: np.ndarray) -> Callable[[], Any]:
    """A function that takes one step on the batch and gives its loss. ``weights`` is the flat theta, once."""
    text = problem == "gpt-text"
    model: Any = (GPT if text else LeNet)(jax.random.key(0))
    arrays, rest = eqx.partition(model, eqx.is_array)
    model = eqx.combine(ravel_pytree(arrays)[1](jnp.asarray(weights[0], jnp.float32)), rest)
    optimiser = optax.adamw(0.004, weight_decay=0.01) if text else optax.adam(0.005)

    @eqx.filter_jit(donate="all-except-first")
    def make_step(batch: Any, model: Any, state: Any) -> Any:
        loss, gradient = loss_of(model, *batch)
        updates, state = optimiser.update(gradient, state, eqx.filter(model, eqx.is_array))
        return loss, eqx.apply_updates(model, updates), state

    state = optimiser.init(eqx.filter(model, eqx.is_array))
    batch = (jnp.asarray(inputs, jnp.int32 if text else jnp.float32), jnp.asarray(labels, jnp.int32))

    def step() -> Any:
        nonlocal model, state
        loss, model, state = make_step(batch, model, state)
        return loss

    return step
