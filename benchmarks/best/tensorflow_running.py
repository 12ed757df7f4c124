"""TensorFlow Probability's solvers as its experts call them: all of it inside one ``tf.function`` compiled by XLA."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

from best import Expert, Unsolved, Vector

tf.get_logger().setLevel(logging.ERROR)
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)

Solver = Callable[[tf.Tensor], Any]
"""Of the relative tolerance."""


def bdf(atol: float, **options: Any) -> Solver:
    """BDF; ``atol`` is over rtol."""
    return lambda rtol: tfp.math.ode.BDF(rtol=rtol, atol=atol * rtol, **options)


def dormand_prince(atol: float) -> Solver:
    """Dormand-Prince; ``atol`` is over rtol."""
    return lambda rtol: tfp.math.ode.DormandPrince(rtol=rtol, atol=atol * rtol)


def compiled(
    name: str,
    solver: Solver,
    equation: Callable[[tf.Tensor, tf.Tensor, Any], tf.Tensor],
    start: Vector,
    times: Vector,
    loss: Callable[[tf.Tensor], tf.Tensor] | None,
    *,
    jacobian: Callable[[tf.Tensor, tf.Tensor, Any], tf.Tensor] | None = None,
    arguments: Callable[[tf.Tensor], Any] = lambda theta: theta,
    scale: Vector | None = None,
) -> Expert:
    """One configuration, gradients by the library's adjoint equation; without a ``loss`` for solves only.

    With a ``scale`` the solver has the state in units of it, as it takes one absolute tolerance for all components.
    """
    y0, unit = tf.constant(start), None if scale is None else tf.constant(scale)

    def integrate(parameters: Any, rtol: tf.Tensor, differentiated: bool) -> tf.Tensor:
        def right_hand_side(t: tf.Tensor, z: tf.Tensor, parameters: Any) -> tf.Tensor:
            return equation(t, z, parameters) if unit is None else equation(t, z * unit, parameters) / unit

        def by_state(t: tf.Tensor, z: tf.Tensor) -> tf.Tensor:
            assert jacobian is not None
            if unit is None:
                return jacobian(t, z, parameters)
            return jacobian(t, z * unit, parameters) * (unit / unit[:, None])

        # Only the adjoint needs to be told of what is differentiated by, and handing it over costs time.
        results = solver(rtol).solve(
            right_hand_side if differentiated else lambda t, z: right_hand_side(t, z, parameters),
            0.0, y0 if unit is None else y0 / unit, times,
            constants={"parameters": parameters} if differentiated else None,
            jacobian_fn=None if jacobian is None else by_state,
        )  # fmt: skip
        return results.states if unit is None else results.states * unit

    @tf.function(jit_compile=True, autograph=False)
    def solve(theta: tf.Tensor, rtol: tf.Tensor) -> tf.Tensor:
        return integrate(arguments(theta), rtol, False)

    @tf.function(jit_compile=True, autograph=False)
    def gradient(theta: tf.Tensor, rtol: tf.Tensor) -> tf.Tensor:
        assert loss is not None
        with tf.GradientTape() as tape:
            tape.watch(theta)
            value = loss(integrate(arguments(theta), rtol, True))
        return tape.gradient(value, theta)

    return Expert(
        name,
        prepare,
        lambda inputs: solve(*inputs),
        None if loss is None else lambda inputs: gradient(*inputs),
        wait,
        finite,
        finite,
    )


def prepare(theta: Vector, rtol: float) -> tuple[tf.Tensor, tf.Tensor]:
    """The inputs of both."""
    return tf.constant(theta, tf.float64), tf.constant(rtol, tf.float64)


def wait(output: tf.Tensor) -> None:
    """Read it, as nothing else waits."""
    output.numpy()


def finite(output: tf.Tensor) -> Vector:
    """In NumPy."""
    values = np.asarray(output)
    if not np.all(np.isfinite(values)):
        raise Unsolved("TensorFlow Probability's result is not finite")
    return values


def forward(
    name: str,
    solver: Solver,
    augmented: Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor],
    start: Vector,
    times: Vector,
    slopes: Callable[[tf.Tensor], tf.Tensor],
    *,
    jacobian: Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor] | None = None,
    unit: Callable[[tf.Tensor], tf.Tensor] | None = None,
) -> Expert:
    """Gradients by the forward sensitivity equations, written out: the library's documentation has no such thing, but
    its solvers take them like any others.

    ``unit`` gives of theta what the numbers of the augmented state are measured in.
    """
    return in_shares(name, [share(solver, augmented, start, times, slopes, jacobian=jacobian, unit=unit)])


Share = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
"""The part of a gradient by some of the parameters, of theta and rtol."""


def share(
    solver: Solver,
    augmented: Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor],
    start: Vector,
    times: Vector,
    slopes: Callable[[tf.Tensor], tf.Tensor],
    *,
    jacobian: Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor] | None = None,
    unit: Callable[[tf.Tensor], tf.Tensor] | None = None,
) -> Share:
    """One solve of an augmented system; see :func:`forward`."""
    y0 = tf.constant(start)

    def gradient(theta: tf.Tensor, rtol: tf.Tensor) -> tf.Tensor:
        scale = tf.ones_like(y0) if unit is None else unit(theta)
        states = (
            solver(rtol)
            .solve(
                lambda t, z: augmented(t, z * scale, theta) / scale, 0.0, y0 / scale, times,
                jacobian_fn=jacobian and (lambda t, z: jacobian(t, z * scale, theta) * (scale / scale[:, None])),
            )
            .states
        )  # fmt: skip
        return slopes(states * scale)

    return gradient


def in_shares(name: str, shares: Sequence[Share]) -> Expert:
    """Parameters in shares, each in a solve of its own: the library factorises a dense matrix of the whole system, so
    that several small ones cost less than a large one."""

    @tf.function(jit_compile=True, autograph=False)
    def gradient(theta: tf.Tensor, rtol: tf.Tensor) -> tf.Tensor:
        return tf.concat([part(theta, rtol) for part in shares], axis=0)

    def run(inputs: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        return gradient(*inputs)

    return Expert(name, prepare, None, run, wait, finite, finite)
