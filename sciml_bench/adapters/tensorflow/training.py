"""Training with Keras's optimisers: the solve, its gradient and the optimiser's step inside one ``tf.function``."""

from __future__ import annotations

import os
from collections.abc import Callable

# Keras runs on whatever its user's settings name; its variables must be TensorFlow's here.
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import tensorflow as tf

from sciml_bench.adapters.keras.optimisers import optimiser_of
from sciml_bench.adapters.program import FloatArray, Gradient, Trainer
from sciml_bench.adapters.tensorflow.device import GPU, synchronise
from sciml_bench.adapters.tensorflow.failures import typed
from sciml_bench.record.task import Training

Differentiate = Callable[[tf.Tensor], tf.Tensor]
"""From theta, rtol and atol in one tensor to the gradient, the loss and the solver's report in one."""


class TensorFlowTrainer(Trainer):
    """``inputs`` are the inputs of a gradient at the first theta; ``read`` decodes the output of ``gradient``."""

    def __init__(
        self,
        training: Training,
        inputs: tf.Tensor,
        gradient: Differentiate,
        read: Callable[[tf.Tensor], Gradient],
        xla: bool,
        device: str,
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
        self._xla, self._device = xla, device

    def step(self) -> tf.Tensor:
        with typed(self._xla):
            return self._train()

    def synchronise(self, output: tf.Tensor) -> None:
        if self._device == GPU:
            synchronise(self._device)
        else:
            output.numpy()
            self._theta.numpy()

    def read_loss(self, output: tf.Tensor) -> float:
        return self._read(output).loss

    def theta(self) -> FloatArray:
        return self._theta.numpy()
