"""TensorFlow Probability by hand: a ``tf.function`` compiled by XLA around the solver and a gradient tape.

Robertson and the Brusselator are solved only: the library's only gradient integrates the equation backwards in time,
and backwards these are so unstable that it does not get there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
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


def robertson() -> Handwritten:
    """Three stiff states, BDF. The state is in units of its absolute tolerances, as the solver takes one for all."""
    scale = tf.constant([1.0, 1e-6, 1.0], tf.float64)
    start = tf.constant([1.0, 0.0, 0.0], tf.float64)
    p = tf.constant([0.04, 3e7, 1e4], tf.float64)
    times = tf.constant([1e-2, 0.1, 0.4, 1, 4, 10, 40, 100, 400, 1e3, 4e3, 1e4, 4e4, 1e5], tf.float64)

    def equation(p: tf.Tensor, z: tf.Tensor) -> tf.Tensor:
        k1, k2, k3 = tf.unstack(p)
        y1, y2, y3 = tf.unstack(z * scale)
        slow, fast, back = k1 * y1, k2 * y2 * y2, k3 * y2 * y3
        return tf.stack([back - slow, slow - back - fast, fast]) / scale

    def jacobian(p: tf.Tensor, z: tf.Tensor) -> tf.Tensor:
        k1, k2, k3 = tf.unstack(p)
        _, y2, y3 = tf.unstack(z * scale)
        zero, back, fast = tf.zeros_like(k1), k3 * y3, 2 * k2 * y2
        entries = tf.stack([-k1, back, k3 * y2, k1, -back - fast, -k3 * y2, zero, fast, zero])
        return tf.reshape(entries, (3, 3)) * (scale / scale[:, None])

    def integrate(p: tf.Tensor) -> tf.Tensor:
        solver = tfp.math.ode.BDF(rtol=RTOL, atol=ATOL)
        found = solver.solve(
            lambda t, z: equation(p, z), 0.0, start / scale, times, jacobian_fn=lambda t, z: jacobian(p, z)
        )
        return found.states * scale

    return _solved_only(tf.function(integrate, jit_compile=True), p)


def brusselator_1d() -> Handwritten:
    """Eighty stiff states on a ring, BDF, the Jacobian by automatic differentiation."""
    x = np.linspace(0.0, 1.0, 40)
    start = tf.constant(np.concatenate([1 + np.sin(2 * np.pi * x), np.full(40, 3.0)]))
    p = tf.constant([1.0, 3.0, 0.02], tf.float64)
    times = tf.linspace(tf.constant(0.5, tf.float64), 10.0, 20)

    def laplacian(u: tf.Tensor) -> tf.Tensor:
        return 1600.0 * (tf.roll(u, 1, 0) - 2 * u + tf.roll(u, -1, 0))

    def integrate(p: tf.Tensor) -> tf.Tensor:
        feed, rate, alpha = tf.unstack(p)

        def equation(t: tf.Tensor, z: tf.Tensor) -> tf.Tensor:
            u, v = tf.split(z, 2)
            reaction = u * u * v
            du = feed + reaction - (rate + 1) * u + alpha * laplacian(u)
            return tf.concat([du, rate * u - reaction + alpha * laplacian(v)], axis=0)

        return tfp.math.ode.BDF(rtol=RTOL, atol=ATOL).solve(equation, 0.0, start, times).states

    return _solved_only(tf.function(integrate, jit_compile=True), p)


def _solved_only(solve: Callable[[tf.Tensor], tf.Tensor], p: tf.Tensor) -> Handwritten:
    return Handwritten("bdf", "backsolve", "xla", RTOL, ATOL, lambda: solve(p), None, _computed)


def _computed(output: tf.Tensor | tuple[tf.Tensor, tf.Tensor]) -> None:
    """Read one number: all outputs of a function are computed together."""
    (output[0] if isinstance(output, tuple) else output[0, 0]).numpy()


CASES = {"lotka-volterra": lotka_volterra, "robertson": robertson, "brusselator-1d": brusselator_1d}
