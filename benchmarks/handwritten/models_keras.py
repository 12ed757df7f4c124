"""LeNet and a small GPT in Keras, with the training step of Keras's guide "Writing a training loop from scratch in
TensorFlow": ``model_tax.py`` measures our trainings against it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf
from keras import layers


def lenet() -> keras.Model:
    """Sequential, as in Keras's examples."""
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(120, activation="relu"),
            layers.Dense(84, activation="relu"),
            layers.Dense(10),
        ]
    )


class Positions(layers.Layer):
    """A learned vector for each position."""

    def build(self, shape: Any) -> None:
        self.embedding = self.add_weight(shape=shape[1:])

    def call(self, x: Any) -> Any:
        return x + self.embedding


def gpt(vocabulary: int = 88, context: int = 32, width: int = 48, heads: int = 3) -> keras.Model:
    """Functional, after Keras's example "Text generation with a miniature GPT"."""
    inputs = keras.Input((context,), dtype="int32")
    x = Positions()(layers.Embedding(vocabulary, width)(inputs))
    for _ in range(2):
        y = layers.LayerNormalization(epsilon=1e-5)(x)
        x = x + layers.MultiHeadAttention(heads, width // heads)(y, y, use_causal_mask=True)
        y = layers.LayerNormalization(epsilon=1e-5)(x)
        y = layers.Dense(4 * width, activation="gelu")(y)
        x = x + layers.Dense(width)(y)
    return keras.Model(inputs, layers.Dense(vocabulary)(layers.LayerNormalization(epsilon=1e-5)(x)))


def training(problem: str, weights: Sequence[np.ndarray], inputs: np.ndarray, labels: np.ndarray) -> Callable[[], Any]:
    """A function that takes one step on the batch and gives its loss. ``weights`` are the arrays in Keras's order."""
    text = problem == "gpt-text"
    model = gpt() if text else lenet()
    model.set_weights(list(weights))
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimiser = (
        keras.optimizers.AdamW(0.004, weight_decay=0.01, epsilon=1e-8)
        if text
        else keras.optimizers.Adam(0.005, epsilon=1e-8)
    )

    @tf.function
    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
        gradients = [tf.convert_to_tensor(part) for part in tape.gradient(loss, model.trainable_weights)]
        optimiser.apply_gradients(zip(gradients, model.trainable_weights, strict=True))
        return loss

    x = tf.constant(inputs if text else inputs.transpose(0, 2, 3, 1), "int32" if text else "float32")
    y = tf.constant(labels, "int32")
    return lambda: train_step(x, y)
