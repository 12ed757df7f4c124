"""TensorFlow Probability by hand: BDF for stiff equations, DormandPrince for the others and wherever it gets through.

Its only gradient is the adjoint equation, which runs backwards in time; Robertson, HIRES and the Brusselator are so
unstable backwards that it does not get there. Forward sensitivity equations, written out, do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from best import Expert, Experts, Vector
from best.numbers import (
    BRUSSELATOR_START,
    BRUSSELATOR_TIMES,
    HIDDEN,
    HIRES_SIZES,
    HIRES_START,
    HIRES_TIMES,
    LOTKA_VOLTERRA_START,
    LOTKA_VOLTERRA_TIMES,
    RING,
    ROBERTSON_SIZES,
    ROBERTSON_START,
    ROBERTSON_TIMES,
    SPIRAL_START,
    SPIRAL_TIMES,
    spiral_data,
)
from best.tensorflow_running import Share, Solver, bdf, compiled, dormand_prince, forward, in_shares, share


def populations(t: tf.Tensor, z: tf.Tensor, parameters: tf.Tensor) -> tf.Tensor:
    """Prey and predators."""
    a, b, c, d = tf.unstack(parameters)
    x, y = tf.unstack(z)
    xy = x * y
    return tf.stack([a * x - b * xy, d * xy - c * y])


def populations_forward(t: tf.Tensor, z: tf.Tensor, theta: tf.Tensor) -> tf.Tensor:
    """With their derivatives."""
    a, b, c, d = tf.unstack(theta)
    x, y, *by = tf.unstack(z)
    xy = x * y
    forcing = ((x, 0.0), (-xy, 0.0), (0.0, -y), (0.0, xy))
    out = [a * x - b * xy, d * xy - c * y]
    for s, r, (f, g) in zip(by[0::2], by[1::2], forcing, strict=True):
        out += [(a - b * y) * s - b * x * r + f, d * y * s + (d * x - c) * r + g]
    return tf.stack(out)


def populations_as_matrices(t: tf.Tensor, z: tf.Tensor, theta: tf.Tensor) -> tf.Tensor:
    """The same, the derivatives as one product."""
    a, b, c, d = tf.unstack(theta)
    x, y = tf.unstack(z[:2])
    xy, zero = x * y, tf.zeros_like(x)
    jacobian = tf.reshape(tf.stack([a - b * y, d * y, -b * x, d * x - c]), (2, 2))
    forcing = tf.reshape(tf.stack([x, zero, -xy, zero, zero, -y, zero, xy]), (4, 2))
    slopes = tf.linalg.matmul(tf.reshape(z[2:], (4, 2)), jacobian) + forcing
    return tf.concat([tf.stack([a * x - b * xy, d * xy - c * y]), tf.reshape(slopes, (-1,))], axis=0)


def species(t: tf.Tensor, z: tf.Tensor, parameters: tf.Tensor) -> tf.Tensor:
    """Robertson's three."""
    k1, k2, k3 = tf.unstack(parameters)
    y1, y2, y3 = tf.unstack(z)
    slow, fast, back = k1 * y1, k2 * y2 * y2, k3 * y2 * y3
    return tf.stack([back - slow, slow - back - fast, fast])


def species_jacobian(t: tf.Tensor, z: tf.Tensor, parameters: tf.Tensor) -> tf.Tensor:
    """Written out."""
    k1, k2, k3 = tf.unstack(parameters)
    _, y2, y3 = tf.unstack(z)
    back, fast = k3 * y3, 2.0 * k2 * y2
    rows = [-k1, back, k3 * y2, k1, -back - fast, -k3 * y2, tf.zeros_like(k1), fast, tf.zeros_like(k1)]
    return tf.reshape(tf.stack(rows), (3, 3))


def species_forward(t: tf.Tensor, z: tf.Tensor, theta: tf.Tensor) -> tf.Tensor:
    """With their derivatives, those to one rate after those to another."""
    k1, k2, k3 = tf.unstack(theta)
    y1, y2, y3, *by = tf.unstack(z)
    back, square = y2 * y3, y2 * y2
    slow, fast, reverse = k1 * y1, k2 * square, k3 * back
    out = [reverse - slow, slow - reverse - fast, fast]
    for j, direct in enumerate((y1, square, back)):
        s1, s2, s3 = by[3 * j : 3 * j + 3]
        rates = [k1 * s1, 2.0 * k2 * y2 * s2, k3 * (s2 * y3 + y2 * s3)]
        rates[j] += direct
        out += [rates[2] - rates[0], rates[0] - rates[2] - rates[1], rates[1]]
    return tf.stack(out)


def species_blocks(t: tf.Tensor, z: tf.Tensor, theta: tf.Tensor) -> tf.Tensor:
    """The Jacobian in each of four blocks: sensitivities are linear, so that Newton's iteration does without more."""
    return _blocks(species_jacobian(t, z[:3], theta), 4, 3)


def reactants(t: tf.Tensor, z: tf.Tensor, parameters: tf.Tensor) -> tf.Tensor:
    """The eight of HIRES."""
    y1, y2, y3, y4, y5, y6, y7, y8 = tf.unstack(z)
    k1, k2, k3, k4, k5, k6, kplus, kminus, kstar, oks = tf.unstack(parameters)
    binding, release = kplus * y6 * y8, (k2 + kminus + kstar) * y7
    return tf.stack([
        -k1 * y1 + k2 * y2 + k6 * y3 + oks,
        k1 * y1 - (k2 + k3) * y2,
        -(k6 + k1) * y3 + k2 * y4 + k5 * y5,
        k3 * y2 + k1 * y3 - (k4 + k2) * y4,
        -(k1 + k5) * y5 + k2 * (y6 + y7),
        -binding + k4 * y4 + k1 * y5 - k2 * y6 + kminus * y7,
        binding - release,
        release - binding,
    ])  # fmt: skip


def reactants_jacobian(t: tf.Tensor, z: tf.Tensor, parameters: tf.Tensor) -> tf.Tensor:
    """Written out."""
    k1, k2, k3, k4, k5, k6, kplus, kminus, kstar, _ = tf.unstack(parameters)
    _, _, _, _, _, y6, _, y8 = tf.unstack(z)
    o, by6, by8, off = tf.zeros_like(k1), kplus * y8, kplus * y6, k2 + kminus + kstar
    rows = [
        -k1, k2, k6, o, o, o, o, o,
        k1, -k2 - k3, o, o, o, o, o, o,
        o, o, -k6 - k1, k2, k5, o, o, o,
        o, k3, k1, -k4 - k2, o, o, o, o,
        o, o, o, o, -k1 - k5, k2, k2, o,
        o, o, o, k4, k1, -k2 - by6, kminus, -by8,
        o, o, o, o, o, by6, -off, by8,
        o, o, o, o, o, -by6, off, -by8,
    ]  # fmt: skip
    return tf.reshape(tf.stack(rows), (8, 8))


def reactants_forward(t: tf.Tensor, z: tf.Tensor, theta: tf.Tensor) -> tf.Tensor:
    """With all their derivatives, as a product of matrices."""
    states, by = z[:8], tf.reshape(z[8:], (-1, 8))
    y1, y2, y3, y4, y5, y6, y7, y8 = tf.unstack(states)
    jacobian, o = reactants_jacobian(t, states, theta), tf.zeros_like(y1)
    binding = y6 * y8
    forcing = [
        -y1, y1, -y3, y3, -y5, y5, o, o,
        y2, -y2, y4, -y4, y6 + y7, -y6, -y7, y7,
        o, -y2, o, y2, o, o, o, o,
        o, o, o, -y4, o, y4, o, o,
        o, o, y5, o, -y5, o, o, o,
        y3, o, -y3, o, o, o, o, o,
        o, o, o, o, o, -binding, binding, -binding,
        o, o, o, o, o, y7, -y7, y7,
        o, o, o, o, o, o, -y7, y7,
        tf.ones_like(y1), o, o, o, o, o, o, o,
    ]  # fmt: skip
    slopes = tf.linalg.matmul(by, jacobian, transpose_b=True) + tf.reshape(tf.stack(forcing), (-1, 8))
    return tf.concat([reactants(t, states, theta), tf.reshape(slopes, (-1,))], axis=0)


def reactants_share(first: int, last: int) -> tuple[Any, Any]:
    """With the derivatives by some of the parameters, and the Jacobian of that."""

    def augmented(t: tf.Tensor, z: tf.Tensor, theta: tf.Tensor) -> tf.Tensor:
        before, after = tf.zeros(8 * first, z.dtype), tf.zeros(8 * (10 - last), z.dtype)
        whole = reactants_forward(t, tf.concat([z[:8], before, z[8:], after], axis=0), theta)
        return tf.concat([whole[:8], whole[8 + 8 * first : 8 + 8 * last]], axis=0)

    def blocks(t: tf.Tensor, z: tf.Tensor, theta: tf.Tensor) -> tf.Tensor:
        return _blocks(reactants_jacobian(t, z[:8], theta), 1 + last - first, 8)

    return augmented, blocks


def reactants_blocks(t: tf.Tensor, z: tf.Tensor, theta: tf.Tensor) -> tf.Tensor:
    """The Jacobian in each of eleven blocks."""
    return _blocks(reactants_jacobian(t, z[:8], theta), 11, 8)


def _blocks(block: tf.Tensor, count: int, n: int) -> tf.Tensor:
    return tf.reshape(tf.einsum("ab,ij->aibj", tf.eye(count, dtype=block.dtype), block), (count * n, count * n))


def brusselator(t: tf.Tensor, z: tf.Tensor, parameters: tf.Tensor) -> tf.Tensor:
    """Eighty states on a ring."""
    feed, rate, alpha = tf.unstack(parameters)
    fields = tf.reshape(z, (2, RING))
    u, v = tf.unstack(fields)
    spread = alpha * 1600.0 * (tf.roll(fields, 1, 1) - 2.0 * fields + tf.roll(fields, -1, 1))
    reaction = u * u * v
    return tf.reshape(spread + tf.stack([feed + reaction - (rate + 1.0) * u, rate * u - reaction]), (-1,))


def brusselator_forward(t: tf.Tensor, z: tf.Tensor, theta: tf.Tensor) -> tf.Tensor:
    """With its derivatives."""
    feed, rate, alpha = tf.unstack(theta)
    fields = tf.reshape(z, (4, 2, RING))
    around = 1600.0 * (tf.roll(fields, 1, 2) - 2.0 * fields + tf.roll(fields, -1, 2))
    u, v = tf.unstack(fields[0])
    by_u, by_v = fields[1:, 0], fields[1:, 1]
    reaction, moved = u * u * v, 2.0 * u * v * by_u + u * u * by_v
    zero = tf.zeros_like(u)
    of_u = tf.stack([tf.ones_like(u), -u, around[0, 0]]) + moved - (rate + 1.0) * by_u
    of_v = tf.stack([zero, u, around[0, 1]]) + rate * by_u - moved
    states = tf.stack([feed + reaction - (rate + 1.0) * u, rate * u - reaction])[None]
    return tf.reshape(alpha * around + tf.concat([states, tf.stack([of_u, of_v], axis=1)], axis=0), (-1,))


def layers(theta: tf.Tensor) -> Any:
    """The weights of both layers."""
    first, bias, second, shift = tf.split(theta, [2 * HIDDEN, HIDDEN, 2 * HIDDEN, 2])
    return tf.reshape(first, (HIDDEN, 2)), bias, tf.reshape(second, (2, HIDDEN)), shift


def network(t: tf.Tensor, y: tf.Tensor, parameters: Any) -> tf.Tensor:
    """A network of the cubes of two states."""
    first, bias, second, shift = parameters
    return tf.linalg.matvec(second, tf.tanh(tf.linalg.matvec(first, y * y * y) + bias)) + shift


def _squares(ys: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(ys**2)


def lotka_volterra() -> Expert:
    """The adjoint equation."""
    return compiled(
        "DormandPrince, XLA", dormand_prince(1.0), populations, LOTKA_VOLTERRA_START, LOTKA_VOLTERRA_TIMES, _squares
    )


def lotka_volterra_forward(style: str, equations: Any) -> Callable[[], Expert]:
    """Ten equations."""

    def make() -> Expert:
        return forward(
            f"DormandPrince, XLA, forward, {style}", dormand_prince(1.0), equations,
            np.concatenate([LOTKA_VOLTERRA_START, np.zeros(8)]), LOTKA_VOLTERRA_TIMES, _slopes(2, 4, np.ones(2)),
        )  # fmt: skip

    return make


def robertson(atol: float, scale: Vector | None) -> Callable[[], Expert]:
    """In units of the species' sizes, of which only y2's is not one, or with one tolerance that is right for y2."""

    def make() -> Expert:
        return compiled(
            f"BDF, XLA, atol {atol:g} rtol{' in units of each' if scale is not None else ''}", bdf(atol), species,
            ROBERTSON_START, ROBERTSON_TIMES, None, jacobian=species_jacobian, scale=scale,
        )  # fmt: skip

    return make


def hires(name: str, solver: Solver, jacobian: Any = None) -> Callable[[], Expert]:
    """One absolute tolerance for all. Solved only: the adjoint equation takes minutes a gradient."""

    def make() -> Expert:
        return compiled(name, solver, reactants, HIRES_START, HIRES_TIMES, None, jacobian=jacobian)

    return make


def robertson_forward(atol: float) -> Callable[[], Expert]:
    """Twelve equations, each sensitivity in units of the species' sizes over the rate."""

    def unit(theta: tf.Tensor) -> tf.Tensor:
        sizes = tf.constant(np.array([1.0, 1e-5, 1.0]))
        return tf.concat([sizes, tf.reshape(sizes / theta[:, None], (-1,))], axis=0)

    def make() -> Expert:
        return forward(
            f"BDF, XLA, forward, atol {atol:g} rtol", bdf(atol), species_forward,
            np.concatenate([ROBERTSON_START, np.zeros(9)]), ROBERTSON_TIMES, _slopes(3, 3, ROBERTSON_SIZES),
            jacobian=species_blocks, unit=unit,
        )  # fmt: skip

    return make


def hires_forward(atol: float) -> Callable[[], Expert]:
    """88 equations."""

    def unit(theta: tf.Tensor) -> tf.Tensor:
        sizes = tf.constant(HIRES_SIZES)
        return tf.concat([sizes, tf.reshape(sizes / theta[:, None], (-1,))], axis=0)

    def make() -> Expert:
        return forward(
            f"BDF, XLA, forward, atol {atol:g} rtol", bdf(atol), reactants_forward,
            np.concatenate([HIRES_START, np.zeros(80)]), HIRES_TIMES, _slopes(8, 10, HIRES_SIZES),
            jacobian=reactants_blocks, unit=unit,
        )  # fmt: skip

    return make


def hires_shares(size: int, atol: float) -> Callable[[], Expert]:
    """So many parameters a solve."""

    def made(first: int) -> Share:
        last = min(first + size, 10)
        augmented, blocks = reactants_share(first, last)

        def unit(theta: tf.Tensor) -> tf.Tensor:
            sizes = tf.constant(HIRES_SIZES)
            return tf.concat([sizes, tf.reshape(sizes / theta[first:last, None], (-1,))], axis=0)

        return share(
            bdf(atol), augmented, np.concatenate([HIRES_START, np.zeros(8 * (last - first))]), HIRES_TIMES,
            _slopes(8, last - first, HIRES_SIZES), jacobian=blocks, unit=unit,
        )  # fmt: skip

    def make() -> Expert:
        name = f"BDF, XLA, forward by {size} parameters at once, atol {atol:g} rtol"
        return in_shares(name, [made(first) for first in range(0, 10, size)])

    return make


def brusselator_1d() -> Expert:
    """Forty points are not stiff."""
    return compiled("DormandPrince, XLA", dormand_prince(1.0), brusselator, BRUSSELATOR_START, BRUSSELATOR_TIMES, None)


def brusselator_1d_forward() -> Expert:
    """320 equations."""
    return forward(
        "DormandPrince, XLA, forward", dormand_prince(1.0), brusselator_forward,
        np.concatenate([BRUSSELATOR_START, np.zeros(6 * RING)]), BRUSSELATOR_TIMES,
        _slopes(2 * RING, 3, np.ones(2 * RING)),
    )  # fmt: skip


def spiral_node() -> Expert:
    """The adjoint equation."""
    data = tf.constant(spiral_data())
    return compiled(
        "DormandPrince, XLA", dormand_prince(1.0), network, SPIRAL_START, SPIRAL_TIMES, lambda ys: _squares(ys - data),
        arguments=layers,
    )  # fmt: skip


def _slopes(n: int, k: int, sizes: Vector) -> Callable[[tf.Tensor], tf.Tensor]:
    def slopes(zs: tf.Tensor) -> tf.Tensor:
        weighted = 2.0 * zs[:, :n] / tf.constant(sizes**2)
        return tf.einsum("ti,tki->k", weighted, tf.reshape(zs[:, n:], (-1, k, n)))

    return slopes


EXPERTS: Experts = {
    "lotka-volterra": (
        lotka_volterra,
        lotka_volterra_forward("numbers", populations_forward),
        lotka_volterra_forward("matrices", populations_as_matrices),
    ),
    "robertson": (
        robertson(1.0, np.array([1.0, 1e-6, 1.0])),
        robertson(1e-6, None),
        robertson(1e-5, None),
        robertson_forward(1.0),
        robertson_forward(1e-2),
    ),
    "hires": (
        hires("BDF, XLA, atol 1e-4 rtol", bdf(1e-4), reactants_jacobian),
        hires("BDF, XLA, atol 1e-3 rtol", bdf(1e-3), reactants_jacobian),
        hires("DormandPrince, XLA", dormand_prince(1e-4)),
        hires_forward(1.0),
        hires_forward(1e-2),
        hires_shares(1, 1.0),
        hires_shares(2, 1.0),
        hires_shares(5, 1.0),
    ),
    "brusselator-1d": (brusselator_1d, brusselator_1d_forward),
    "spiral-node": (spiral_node,),
}
