"""Run in a process of its own: how the TensorFlow adapter trains, as one JSON object of named findings."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from adapters.trainings import findings

from sciml_bench.adapters.tensorflow.training import optimiser_of
from sciml_bench.record.task import Cell, Training

RUNAWAY = """
import tensorflow as tf
def rhs(t, y, p): return p[0]*y
def loss(ys): return -tf.reduce_sum(ys**2)
"""


def apply(training: Training, theta: np.ndarray, gradients: list[np.ndarray]) -> np.ndarray:
    """Steps of Keras's optimiser, in the settings that the trainings before have left."""
    variable = tf.Variable(tf.constant(theta))
    optimiser = optimiser_of(training)
    optimiser.build([variable])
    for gradient in gradients:
        optimiser.apply([tf.constant(gradient)], [variable])
    return variable.numpy()


if __name__ == "__main__":
    print(json.dumps(findings(Cell("any", "tensorflow", "dormand_prince", "backsolve", "xla"), apply, RUNAWAY)))
