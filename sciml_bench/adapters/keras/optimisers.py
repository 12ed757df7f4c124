"""Keras's optimisers by the pinned formulas (see ``Training``), from which two of its own differ in where epsilon
stands: Keras adds it to the root of an uncorrected v in Adam, and under the root in RMSprop."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from sciml_bench.task import Training


class _CorrectedEpsilon:
    """Adam's epsilon times sqrt(1 - beta2^t), which makes Keras's formula that of Kingma and Ba's algorithm 1."""

    beta_2: float
    iterations: Any
    _epsilon: float

    @property
    def epsilon(self) -> tf.Tensor:
        """What is added to the root of the uncorrected v in this step."""
        dtype = keras.config.floatx()
        t = tf.cast(self.iterations + 1, dtype)
        return self._epsilon * tf.sqrt(1 - tf.cast(self.beta_2, dtype) ** t)

    @epsilon.setter
    def epsilon(self, value: float) -> None:
        self._epsilon = value


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
    """The optimiser of a training."""
    rate, number = training.learning_rate, training.number
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
    raise ValueError(f"there is no optimiser '{training.optimiser}'")
