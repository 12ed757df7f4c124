"""Training with Optax: the solve, its gradient and the step of the optimiser inside one ``jax.jit``.

Theta is one flat array, as everywhere in this adapter: the optimisers treat every component equally, so that the
numbers equal those for a tree of modules, and a step has fewer arrays to pass in and out. Theta and the optimiser's
state are donated: the new ones reuse their memory. Not while a step may have to be taken again: the gradient keeps
every step of the solver, within its bound. If a solve needs more, the step of the training is taken again, within its
time, and all later ones are taken with the larger bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
import optax

from sciml_bench.adapters.jax.optimisers import optimiser_of
from sciml_bench.adapters.program import FloatArray, Gradient, Trainer
from sciml_bench.record.task import Training

Differentiate = Callable[[jax.Array], jax.Array]
"""From theta, rtol and atol in one array to the gradient, the loss and the solver's report in one."""


class DiffraxTrainer(Trainer):
    """``inputs`` are the inputs of a gradient at the first theta.

    ``gradients`` are the same gradient with growing bounds on the steps of the solver; ``ran_out`` says whether the
    bound ended an output's solve, and ``read`` decodes an output.
    """

    def __init__(
        self,
        training: Training,
        inputs: jax.Array,
        gradients: Sequence[Differentiate],
        ran_out: Callable[[jax.Array], bool],
        read: Callable[[jax.Array], Gradient],
    ):
        self._optimiser = optimiser_of(training)
        self._tolerances = np.asarray(inputs[-2:])
        self._gradients, self._ran_out, self._read = list(gradients), ran_out, read
        self._theta = inputs[:-2]
        self._state = self._optimiser.init(self._theta)
        self._before = (self._theta, self._state)
        self._found: jax.Array | None = None
        self._train = self._compiled()

    def _compiled(self) -> Callable[..., tuple[jax.Array, optax.OptState, jax.Array]]:
        """A step of the training with the smallest bound that is left."""
        gradient, tolerances, optimiser = self._gradients.pop(0), self._tolerances, self._optimiser
        size = len(self._theta)

        def train(theta: jax.Array, state: optax.OptState) -> tuple[jax.Array, optax.OptState, jax.Array]:
            found = gradient(jnp.concatenate([theta, tolerances]))
            updates, state = optimiser.update(found[:size], state, theta)
            return jnp.asarray(optax.apply_updates(theta, updates)), state, found

        return jax.jit(train, donate_argnums=() if self._gradients else (0, 1))

    def step(self) -> jax.Array:
        self._before = (self._theta, self._state)
        self._theta, self._state, self._found = self._train(self._theta, self._state)
        return self._found

    def synchronise(self, output: jax.Array) -> None:
        jax.block_until_ready((self._theta, self._state, output))
        while self._gradients and self._found is not None and self._ran_out(self._found):
            self._train = self._compiled()
            self._theta, self._state, self._found = self._train(*self._before)
            jax.block_until_ready((self._theta, self._state, self._found))

    def read_loss(self, output: jax.Array) -> float:
        assert self._found is not None
        return self._read(self._found).loss

    def theta(self) -> FloatArray:
        return np.array(self._theta, np.float64)
