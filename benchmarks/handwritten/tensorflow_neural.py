"""Neural ODEs in TensorFlow Probability by hand: weights are constants of the solver, which alone it differentiates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

from handwritten import Handwritten
from handwritten.neural import RTOL, SMALL, SPIRAL, small_data, spiral_data

Layers = tuple[tf.Tensor, ...]


def _one_thread() -> None:
    # TensorFlow takes it before its first tensor only.
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def spiral_node() -> Handwritten:
    """A network of the cubes of two states, Dormand-Prince 5(4), the adjoint equation."""
    _one_thread()
    weights, data = spiral_data()
    target = tf.constant(data)

    def equation(t: tf.Tensor, y: tf.Tensor, layers: Layers) -> tf.Tensor:
        weight1, bias1, weight2, bias2 = layers
        hidden = tf.tanh(tf.linalg.matvec(weight1, y**3) + bias1)
        return tf.linalg.matvec(weight2, hidden) + bias2

    times = np.linspace(0.05, 1.5, 30)
    return _compiled(equation, weights, SPIRAL.y0, times, lambda ys: tf.reduce_sum((ys - target) ** 2))


def small_node() -> Handwritten:
    """Diffrax's own benchmark, Dormand-Prince 5(4), the adjoint equation."""
    _one_thread()

    def equation(t: tf.Tensor, y: tf.Tensor, layers: Layers) -> tf.Tensor:
        weight1, bias1, weight2, bias2 = layers
        hidden = tf.nn.softplus(tf.linalg.matvec(weight1, y) + bias1)
        return tf.tanh(tf.linalg.matvec(weight2, hidden) + bias2)

    return _compiled(equation, small_data(), SMALL.y0, np.linspace(1.0, 100.0, 100), tf.reduce_sum)


def _compiled(
    equation: Callable[[tf.Tensor, tf.Tensor, Layers], tf.Tensor],
    weights: list[np.ndarray],
    y0: tuple[float, ...],
    times: np.ndarray,
    loss: Callable[[tf.Tensor], tf.Tensor],
) -> Handwritten:
    start, layers = tf.constant(y0, tf.float64), tuple(tf.constant(weight) for weight in weights)

    def integrate(layers: Layers) -> tf.Tensor:
        solver = tfp.math.ode.DormandPrince(rtol=RTOL, atol=RTOL)
        return solver.solve(equation, 0.0, start, times, constants={"layers": layers}).states

    solve = tf.function(integrate, jit_compile=True)

    @tf.function(jit_compile=True)
    def gradient(layers: Layers) -> tuple[tf.Tensor, Layers]:
        with tf.GradientTape() as tape:
            tape.watch(layers)
            value = loss(integrate(layers))
        return value, tuple(tape.gradient(value, layers))

    return Handwritten(
        "dormand_prince", "backsolve", "xla", RTOL, RTOL, lambda: solve(layers), lambda: gradient(layers), _computed
    )


def _computed(output: tf.Tensor | tuple[tf.Tensor, Layers]) -> None:
    """Read one output: all of a function are computed together."""
    (output[0] if isinstance(output, tuple) else output).numpy()


CASES = {"spiral-node": spiral_node, "small-node": small_node}
