"""Training with Optax: the solve, its gradient and the step of the optimiser inside one ``jax.jit``.

Theta is one flat array, as everywhere in this adapter: the optimisers treat every component alike, so that the numbers
are those of a tree of modules, and a step has fewer arrays to pass in and out. Theta and the optimiser's state are
donated: their memory becomes that of the new ones.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax

from sciml_bench.adapters.base import FloatArray, Gradient, Trainer
from sciml_bench.adapters.jax.optimisers import optimiser_of
from sciml_bench.task import Training

Differentiate = Callable[[jax.Array], jax.Array]
"""From theta, rtol and atol in one array to the gradient, the loss and the solver's report in one."""


class DiffraxTrainer(Trainer):
    """``inputs`` are those of a gradient at the first theta; ``read`` makes sense of the output of ``gradient``."""

    def __init__(
        self,
        training: Training,
        inputs: jax.Array,
        gradient: Differentiate,
        read: Callable[[jax.Array], Gradient],
    ):
        optimiser = optimiser_of(training)
        tolerances = np.asarray(inputs[-2:])
        size = len(inputs) - len(tolerances)

        def train(theta: jax.Array, state: optax.OptState) -> tuple[jax.Array, optax.OptState, jax.Array]:
            found = gradient(jnp.concatenate([theta, tolerances]))
            updates, state = optimiser.update(found[:size], state, theta)
            return jnp.asarray(optax.apply_updates(theta, updates)), state, found

        self._train = jax.jit(train, donate_argnums=(0, 1))
        self._theta = inputs[:-2]
        self._state = optimiser.init(self._theta)
        self._read = read

    def step(self) -> jax.Array:
        self._theta, self._state, found = self._train(self._theta, self._state)
        return found

    def synchronise(self, output: jax.Array) -> None:
        jax.block_until_ready((self._theta, self._state, output))

    def read_loss(self, output: jax.Array) -> float:
        return self._read(output).loss

    def theta(self) -> FloatArray:
        return np.array(self._theta, np.float64)
