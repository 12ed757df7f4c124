"""Keras's optimisers by the pinned formulas (see ``Training``).

Two of Keras's optimisers place epsilon differently, and are corrected here: Keras adds it to the root of an
uncorrected v in Adam ("epsilon hat" of Kingma and Ba, just before section 2.1), and under the root in RMSprop. It gets
its numbers as tensors when it computes in double precision: Keras would turn a Python number into a single precision
one first, in which 1 - 0.999 is off by 1.3e-5.
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from sciml_bench.record.task import Training


class _CorrectedEpsilon:
    """Adam's epsilon times sqrt(1 - beta2^t), which turns Keras's formula into Kingma and Ba's algorithm 1."""

    beta_2: Any
    iterations: Any
    epsilon: Any

    def __init__(self, rate: float, *, epsilon: Any, **numbers: Any):
        super().__init__(rate, epsilon=epsilon, **numbers)  # type: ignore[call-arg]
        self._epsilon = epsilon

    def apply(self, grads: Any, trainable_variables: Any = None) -> Any:
        """Keras's step. The term under the uncorrected v is computed once, not for every variable."""
        t = tf.cast(self.iterations + 1, keras.config.floatx())
        self.epsilon = self._epsilon * tf.sqrt(1 - self.beta_2**t)
        return super().apply(grads, trainable_variables)  # type: ignore[misc]


class Adam(_CorrectedEpsilon, keras.optimizers.Adam):
    """With epsilon as the paper's algorithm has it."""


class AdamW(_CorrectedEpsilon, keras.optimizers.AdamW):
    """With epsilon as Adam's algorithm has it."""


class RMSprop(keras.optimizers.RMSprop):
    """With epsilon outside the root, and no momentum."""

    def update_step(self, gradient: tf.Tensor, variable: Any, learning_rate: Any) -> None:
        v = self._velocities[self._get_variable_index(variable)]
        self.assign(v, self.rho * v + (1 - self.rho) * tf.square(gradient))
        rate = tf.cast(learning_rate, variable.dtype)
        self.assign_sub(variable, rate * gradient / (tf.sqrt(v) + self.epsilon))


def optimiser_of(training: Training) -> keras.optimizers.Optimizer:
    """The optimiser of a training, with numbers of the type that ``keras.config.floatx`` names."""
    rate = training.learning_rate

    # Declared as numbers by Keras, which takes tensors all the same. In single precision a number is better: it becomes
    # a constant of the graph, a tensor would be an input of it.
    def number(name: str) -> Any:
        precise = keras.config.floatx() == "float64"
        return tf.constant(training.number(name), tf.float64) if precise else training.number(name)

    match training.optimiser:
        case "adam":
            return Adam(rate, beta_1=number("beta1"), beta_2=number("beta2"), epsilon=number("epsilon"))
        case "adamw":
            betas = {"beta_1": number("beta1"), "beta_2": number("beta2")}
            return AdamW(rate, weight_decay=number("weight_decay"), **betas, epsilon=number("epsilon"))
        case "rmsprop":
            return RMSprop(rate, rho=number("decay"), epsilon=number("epsilon"))
        case "sgd":
            return keras.optimizers.SGD(rate)
    raise ValueError(f"unknown optimiser '{training.optimiser}'")
