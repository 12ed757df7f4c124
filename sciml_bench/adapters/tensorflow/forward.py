"""Forward sensitivity equations: the state and its sensitivities as one system for TensorFlow Probability's solvers.

The library's own gradient is the adjoint equation, which it solves backwards in time and does not get through for
stiff problems. A sensitivity here is w_j = dz/dtheta_j times the size of theta_j, of the scaled state z that the
solvers are given anyway, so that their one absolute tolerance applies to it too: the choice that CVODES makes. It
obeys w_j' = (df/dz) w_j + (df/dtheta_j) times that size, the derivative of f along one direction, which TensorFlow
takes for all directions at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import tensorflow as tf

Function = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
"""Of the state and theta, at one time."""


class Equation(NamedTuple):
    """z' and, if known, its Jacobian (n, n), as functions of t, the state z and theta."""

    rhs: Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor]
    jacobian: Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor] | None


class Augmented(NamedTuple):
    """The derivative and Jacobian of the flat state and its sensitivities, as functions of t and this vector."""

    rhs: Function
    jacobian: Function


def rows(values: tf.Tensor) -> int:
    """The length of the first axis, which is known when a function is traced."""
    length = values.shape[0]
    assert length is not None
    return length


def along(function: Function, z: tf.Tensor, theta: tf.Tensor, w: tf.Tensor, directions: tf.Tensor) -> tf.Tensor:
    """The derivatives of ``function(z, theta)`` along each pair of a change of z, (c, *shape of z), and a change of
    theta, (c, n_theta)."""

    def derivative(pair: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        # An initial state may be theta itself; the same tensor cannot be differentiated by twice.
        at = [tf.identity(z), tf.identity(theta)]
        with tf.autodiff.ForwardAccumulator(at, list(pair)) as accumulator:
            value = function(*at)
        return accumulator.jvp(value, unconnected_gradients=tf.UnconnectedGradients.ZERO)

    return tf.vectorized_map(derivative, (w, directions))


def start(z0: Callable[[tf.Tensor], tf.Tensor], theta: tf.Tensor, directions: tf.Tensor) -> tf.Tensor:
    """The flat state with its sensitivities at t0, of the initial state as a function of theta."""
    first = z0(theta)
    nowhere = tf.zeros((rows(directions), *first.shape), first.dtype)
    slopes = along(lambda _, values: z0(values), first, theta, nowhere, directions)
    return tf.concat([tf.reshape(first, (-1,)), tf.reshape(slopes, (-1,))], axis=0)


def augmented(
    equation: Equation, theta: tf.Tensor, directions: tf.Tensor, shape: tuple[int, ...], coupled: bool
) -> Augmented:
    """The system of the state of this shape with its sensitivities along these directions, (c, n_theta).

    The Newton matrix has the Jacobian in every diagonal block and, ``coupled``, the derivatives of the sensitivities'
    equations by the state below the first. Without those the iteration settles the state first and the sensitivities,
    linear in themselves, after it: another way to the same values. So it is for equations that bring no Jacobian, whose
    derivatives along every component of the state are taken: the library's own way fails for these systems.
    """
    count, n = rows(directions), math.prod(shape)

    def parts(values: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        together = tf.reshape(values, (1 + count, *shape))
        return together[0], together[1:]

    def rhs(t: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
        z, w = parts(values)
        slopes = along(partial(equation.rhs, t), z, theta, w, directions)
        return tf.reshape(tf.concat([equation.rhs(t, z, theta)[None], slopes], axis=0), (-1,))

    known = equation.jacobian

    def taken(t: tf.Tensor, z: tf.Tensor) -> tf.Tensor:
        units = tf.reshape(tf.eye(n, dtype=z.dtype), (n, *shape))
        nowhere = tf.zeros((n, rows(theta)), theta.dtype)
        columns = along(partial(equation.rhs, t), z, theta, units, nowhere)
        return tf.transpose(tf.reshape(columns, (n, n)))

    def jacobian(t: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
        z, w = parts(values)
        block = taken(t, z) if known is None else known(t, z, theta)
        size = n * (1 + count)
        diagonal = tf.eye(1 + count, dtype=block.dtype)[:, None, :, None] * block[None, :, None, :]
        matrix = tf.reshape(diagonal, (size, size))
        if known is None or not coupled:
            return matrix
        # The derivative of J w + f_theta by the state: second derivatives are symmetric.
        below = along(partial(known, t), z, theta, w, directions)
        return matrix + tf.pad(tf.reshape(below, (n * count, n)), [[n, 0], [0, n * count]])

    return Augmented(rhs, jacobian)
