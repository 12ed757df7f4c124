"""Neural ODEs in Diffrax by hand, after its guide "Neural ODE": an Equinox module inside one ``jax.jit``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

# Diffrax's FAQ on comparing it with others: run-time checks of arguments off.
os.environ.setdefault("EQX_ON_ERROR", "nan")

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp

from handwritten import Handwritten
from handwritten.neural import RTOL, SMALL, SPIRAL, small_data, spiral_data

jax.config.update("jax_enable_x64", True)


def spiral_node() -> Handwritten:
    """A network of the cubes of two states."""
    weights, data = spiral_data()
    model = eqx.nn.MLP(2, 2, 50, 1, activation=jnp.tanh, key=jax.random.key(0))
    return _compiled(
        _with(model, weights),
        lambda t, y, model: model(y**3),
        jnp.array(SPIRAL.y0),
        jnp.linspace(0.05, 1.5, 30),
        lambda ys: jnp.sum((ys - data) ** 2),
    )


def small_node() -> Handwritten:
    """Diffrax's own benchmark, one trajectory."""
    activations = {"activation": jax.nn.softplus, "final_activation": jnp.tanh}
    model = eqx.nn.MLP(4, 4, 32, 1, **activations, key=jax.random.key(0))
    return _compiled(
        _with(model, small_data()),
        lambda t, y, model: model(y),
        jnp.array(SMALL.y0),
        jnp.linspace(1.0, 100.0, 100),
        jnp.sum,
    )


def _with(model: eqx.nn.MLP, weights: list[Any]) -> eqx.nn.MLP:
    def leaves(model: eqx.nn.MLP) -> list[Any]:
        return [leaf for layer in model.layers for leaf in (layer.weight, layer.bias)]

    return eqx.tree_at(leaves, model, [jnp.asarray(weight) for weight in weights])


def _compiled(
    model: eqx.nn.MLP,
    vector_field: Callable[..., jax.Array],
    y0: jax.Array,
    times: jax.Array,
    loss: Callable[[jax.Array], jax.Array],
) -> Handwritten:
    arrays, structure = eqx.partition(model, eqx.is_array)

    def integrate(arrays: eqx.nn.MLP) -> jax.Array:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(vector_field),
            diffrax.Tsit5(),
            t0=0.0,
            t1=times[-1],
            dt0=None,
            y0=y0,
            args=eqx.combine(arrays, structure),
            saveat=diffrax.SaveAt(ts=times),
            stepsize_controller=diffrax.PIDController(rtol=RTOL, atol=RTOL),
            max_steps=2**16,
        )
        assert solution.ys is not None
        return solution.ys

    def value_and_gradient(arrays: eqx.nn.MLP) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        value, gradient = jax.value_and_grad(lambda arrays: loss(integrate(arrays)))(arrays)
        return value, tuple(jax.tree.leaves(gradient))

    solve, gradient = jax.jit(integrate), jax.jit(value_and_gradient)
    return Handwritten(
        "tsit5", "checkpointed", "compiled", RTOL, RTOL,
        lambda: solve(arrays), lambda: gradient(arrays), jax.block_until_ready,
    )  # fmt: skip


CASES = {"spiral-node": spiral_node, "small-node": small_node}
