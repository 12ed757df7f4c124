"""Lotka-Volterra, the Brusselator on forty points and the spiral's network in Diffrax by hand: Tsit5, and Dopri8.

Diffrax's guide: Tsit5 is "a good general-purpose solver", and "if you need accurate solutions at tight tolerances then
try Dopri8". Three and four parameters get forward mode. The network's 252 weights get reverse mode with a checkpoint a
step, so that nothing is computed twice, and a bound on steps that is not far above what they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from diffrax import AbstractSolver, Dopri8, RecursiveCheckpointAdjoint, Tsit5

from best import Expert, Experts
from best.diffrax_running import FORWARD, compiled, easy_controller
from best.numbers import (
    BRUSSELATOR_START,
    BRUSSELATOR_TIMES,
    HIDDEN,
    LOTKA_VOLTERRA_START,
    LOTKA_VOLTERRA_TIMES,
    SPIRAL_START,
    SPIRAL_TIMES,
    spiral_data,
)

MAX_STEPS = 2**16


def populations(t: Any, z: jax.Array, p: jax.Array) -> jax.Array:
    """Prey and predators."""
    x, y = z
    xy = x * y
    return jnp.stack([p[0] * x - p[1] * xy, p[3] * xy - p[2] * y])


def brusselator(t: Any, z: jax.Array, p: jax.Array) -> jax.Array:
    """Eighty states on a ring."""
    feed, rate, alpha = p
    fields = z.reshape(2, -1)
    u, v = fields
    spread = alpha * 1600.0 * (jnp.roll(fields, 1, 1) - 2.0 * fields + jnp.roll(fields, -1, 1))
    reaction = u * u * v
    return (spread + jnp.stack([feed + reaction - (rate + 1.0) * u, rate * u - reaction])).ravel()


def network(t: Any, y: jax.Array, layers: Any) -> jax.Array:
    """A network of the cubes of two states."""
    first, bias, second, shift = layers
    return second @ jnp.tanh(first @ (y * y * y) + bias) + shift


def layers(theta: jax.Array) -> Any:
    """The weights of both layers."""
    first, bias, second, shift = jnp.split(theta, [2 * HIDDEN, 3 * HIDDEN, 5 * HIDDEN])
    return first.reshape(HIDDEN, 2), bias, second.reshape(2, HIDDEN), shift


def _squares(ys: jax.Array) -> jax.Array:
    return jnp.sum(ys**2)


def lotka_volterra(solver: type[AbstractSolver]) -> Callable[[], Expert]:
    """With forward mode."""

    def make() -> Expert:
        return compiled(
            f"{solver.__name__}, forward", solver(), easy_controller, populations, LOTKA_VOLTERRA_START,
            LOTKA_VOLTERRA_TIMES, _squares, FORWARD, MAX_STEPS,
        )  # fmt: skip

    return make


def brusselator_1d(solver: type[AbstractSolver]) -> Callable[[], Expert]:
    """With forward mode."""

    def make() -> Expert:
        return compiled(
            f"{solver.__name__}, forward", solver(), easy_controller, brusselator, BRUSSELATOR_START,
            BRUSSELATOR_TIMES, _squares, FORWARD, MAX_STEPS,
        )  # fmt: skip

    return make


def spiral_node(solver: type[AbstractSolver], max_steps: int) -> Callable[[], Expert]:
    """With a checkpoint a step."""

    def make() -> Expert:
        data = jnp.asarray(spiral_data())
        return compiled(
            f"{solver.__name__}, {max_steps} checkpoints and steps", solver(), easy_controller, network, SPIRAL_START,
            SPIRAL_TIMES, lambda ys: jnp.sum((ys - data) ** 2), RecursiveCheckpointAdjoint(checkpoints=max_steps),
            max_steps, arguments=layers,
        )  # fmt: skip

    return make


EXPERTS: Experts = {
    "lotka-volterra": (lotka_volterra(Tsit5), lotka_volterra(Dopri8)),
    "brusselator-1d": (brusselator_1d(Tsit5), brusselator_1d(Dopri8)),
    "spiral-node": (spiral_node(Tsit5, 512), spiral_node(Tsit5, 4096), spiral_node(Dopri8, 512)),
}
