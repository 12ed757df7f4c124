"""Training with Keras's optimisers: the solve, its gradient and the optimiser's step inside one ``tf.function``.

Two of Keras's formulas differ from the pinned ones (see ``Training``) in where epsilon stands, and are brought to them
here: Keras adds it to the root of an uncorrected v in Adam ("epsilon hat" of Kingma and Ba, just before section 2.1),
and under the root in RMSprop. Its numbers are given as double precision tensors: Keras would turn a Python number into
a single precision one first, in which 1 - 0.999 is off by 1.3e-5.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

# Keras runs on whatever its user's settings name; its variables must be TensorFlow's here.
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import tensorflow as tf

from sciml_bench.adapters.base import FloatArray, Gradient, Trainer
from sciml_bench.adapters.tensorflow import failure
from sciml_bench.task import Training

Differentiate = Callable[[tf.Tensor], tf.Tensor]
"""From theta, rtol and atol in one tensor to the gradient, the loss and the solver's report in one."""


class TensorFlowTrainer(Trainer):
    """``inputs`` are those of a gradient at the first theta; ``read`` makes sense of the output of ``gradient``."""

    def __init__(
        self,
        training: Training,
        inputs: tf.Tensor,
        gradient: Differentiate,
        read: Callable[[tf.Tensor], Gradient],
        xla: bool,
    ):
        # Keras keeps the learning rate in a variable of this type: in single precision 0.1 is off by 1.5e-8.
        keras.config.set_floatx("float64")
        theta, tolerances = tf.Variable(inputs[:-2]), inputs[-2:]
        optimiser = optimiser_of(training)
        optimiser.build([theta])

        def train() -> tf.Tensor:
            found = gradient(tf.concat([theta, tolerances], axis=0))
            optimiser.apply([found[: theta.shape[0]]], [theta])
            return found

        self._train = tf.function(train, autograph=False, jit_compile=xla)
        self._theta = theta
        self._read = read
        self._xla = xla

    def step(self) -> tf.Tensor:
        with failure.typed(self._xla):
            return self._train()

    def synchronise(self, output: tf.Tensor) -> None:
        output.numpy()
        self._theta.numpy()

    def read_loss(self, output: tf.Tensor) -> float:
        return self._read(output).loss

    def theta(self) -> FloatArray:
        return self._theta.numpy()


class _CorrectedEpsilon:
    """Adam's epsilon times sqrt(1 - beta2^t), which makes Keras's formula that of Kingma and Ba's algorithm 1."""

    beta_2: tf.Tensor
    iterations: Any
    _epsilon: float

    @property
    def epsilon(self) -> tf.Tensor:
        """What is added to the root of the uncorrected v in this step."""
        t = tf.cast(self.iterations + 1, tf.float64)
        return self._epsilon * tf.sqrt(1 - self.beta_2**t)

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
    """Keras's optimiser, of the pinned formula (see ``Training``)."""
    rate = training.learning_rate

    # Declared as numbers by Keras, which takes tensors all the same.
    def number(name: str) -> Any:
        return tf.constant(training.number(name), tf.float64)

    match training.optimiser:
        case "adam":
            return Adam(rate, beta_1=number("beta1"), beta_2=number("beta2"), epsilon=number("epsilon"))
        case "adamw":
            return AdamW(
                rate,
                weight_decay=number("weight_decay"),
                beta_1=number("beta1"),
                beta_2=number("beta2"),
                epsilon=number("epsilon"),
            )
        case "rmsprop":
            return RMSprop(rate, rho=number("decay"), epsilon=number("epsilon"))
        case "sgd":
            return keras.optimizers.SGD(rate)
    raise ValueError(f"there is no optimiser '{training.optimiser}'")
