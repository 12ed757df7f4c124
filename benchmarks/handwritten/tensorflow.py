"""TensorFlow Probability by hand: a ``tf.function`` compiled by XLA around the solver and a gradient tape.

There is neither Robertson nor the Brusselator: the library's only gradient integrates the equation backwards in time,
and backwards these are so unstable that it does not get there.
"""

from __future__ import annotations

import tensorflow as tf
import tensorflow_probability as tfp

from handwritten import Handwritten

RTOL, ATOL = 1e-6, 1e-8


def lotka_volterra() -> Handwritten:
    """Two states, four parameters, Dormand-Prince 5(4), the adjoint equation."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    start = tf.ones(2, tf.float64)
    p = tf.constant([1.5, 1.0, 3.0, 1.0], tf.float64)
    times = tf.linspace(tf.constant(0.5, tf.float64), 10.0, 20)

    def equation(t: tf.Tensor, z: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
        a, b, c, d = tf.unstack(p)
        x, y = tf.unstack(z)
        xy = x * y
        return tf.stack([a * x - b * xy, d * xy - c * y])

    def integrate(p: tf.Tensor) -> tf.Tensor:
        solver = tfp.math.ode.DormandPrince(rtol=RTOL, atol=ATOL)
        return solver.solve(equation, 0.0, start, times, constants={"p": p}).states

    solve = tf.function(integrate, jit_compile=True)

    @tf.function(jit_compile=True)
    def gradient(p: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(p)
            loss = tf.reduce_sum(integrate(p) ** 2)
        return loss, tape.gradient(loss, p)

    return Handwritten(
        "dormand_prince", "backsolve", "xla", RTOL, ATOL, lambda: solve(p), lambda: gradient(p), _computed
    )


def _computed(output: tf.Tensor | tuple[tf.Tensor, tf.Tensor]) -> None:
    """Read one number: all outputs of a function are computed together."""
    (output[0] if isinstance(output, tuple) else output[0, 0]).numpy()


CASES = {"lotka-volterra": lotka_volterra}
