"""Diffrax by hand: one ``jax.jit`` around ``diffeqsolve``, the loss and ``jax.value_and_grad``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

# Diffrax's FAQ on comparing it with others: run-time checks of arguments off.
os.environ.setdefault("EQX_ON_ERROR", "nan")

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import optimistix

from handwritten import Handwritten

jax.config.update("jax_enable_x64", True)

RTOL, ATOL = 1e-6, 1e-8
VectorField = Callable[[Any, jax.Array, jax.Array], jax.Array]


def newton_kvaerno5() -> diffrax.Kvaerno5:
    """Kvaerno5 with full Newton iterations; its default root finder gives up too early in Diffrax 0.7.2."""
    return diffrax.Kvaerno5(root_finder=diffrax.with_stepsize_controller_tols(optimistix.Newton)())


def lotka_volterra() -> Handwritten:
    """Two states, four parameters, Tsitouras 5(4)."""

    def vector_field(t: Any, z: jax.Array, p: jax.Array) -> jax.Array:
        a, b, c, d = p
        x, y = z
        xy = x * y
        return jnp.stack([a * x - b * xy, d * xy - c * y])

    return compiled(
        "tsit5",
        diffrax.Tsit5(),
        diffrax.PIDController(rtol=RTOL, atol=ATOL),
        vector_field,
        jnp.array([1.0, 1.0]),
        jnp.array([1.5, 1.0, 3.0, 1.0]),
        jnp.linspace(0.5, 10.0, 20),
        lambda ys: jnp.sum(ys**2),
    )


def robertson() -> Handwritten:
    """Three stiff states, three parameters."""

    def vector_field(t: Any, y: jax.Array, p: jax.Array) -> jax.Array:
        k1, k2, k3 = p
        y1, y2, y3 = y
        first, second, third = k1 * y1, k2 * y2**2, k3 * y2 * y3
        return jnp.stack([third - first, first - second - third, second])

    return compiled(
        "kvaerno5-newton",
        newton_kvaerno5(),
        diffrax.PIDController(rtol=RTOL, atol=ATOL * jnp.array([1.0, 1e-6, 1.0]), pcoeff=0.3, icoeff=0.4),
        vector_field,
        jnp.array([1.0, 0.0, 0.0]),
        jnp.array([0.04, 3e7, 1e4]),
        jnp.array([1e-2, 0.1, 0.4, 1.0, 4.0, 10.0, 40.0, 100.0, 400.0, 1e3, 4e3, 1e4, 4e4, 1e5]),
        lambda ys: jnp.sum((ys / jnp.array([1.0, 1e-5, 1.0])) ** 2),
    )


def brusselator_1d() -> Handwritten:
    """Eighty stiff states on a ring, three parameters."""

    def laplacian(u: jax.Array) -> jax.Array:
        return 1600.0 * (jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1))

    def vector_field(t: Any, z: jax.Array, p: jax.Array) -> jax.Array:
        feed, rate, alpha = p
        u, v = jnp.split(z, 2)
        reaction = u * u * v
        return jnp.concatenate(
            [feed + reaction - (rate + 1) * u + alpha * laplacian(u), rate * u - reaction + alpha * laplacian(v)]
        )

    x = np.linspace(0.0, 1.0, 40)
    return compiled(
        "kvaerno5-newton",
        newton_kvaerno5(),
        diffrax.PIDController(rtol=RTOL, atol=ATOL, pcoeff=0.3, icoeff=0.4),
        vector_field,
        jnp.concatenate([1 + np.sin(2 * np.pi * x), jnp.full(40, 3.0)]),
        jnp.array([1.0, 3.0, 0.02]),
        jnp.linspace(0.5, 10.0, 20),
        lambda ys: jnp.sum(ys**2),
    )


def compiled(
    method: str,
    solver: diffrax.AbstractSolver,
    controller: diffrax.AbstractStepSizeController,
    vector_field: VectorField,
    y0: jax.Array,
    p: jax.Array,
    times: jax.Array,
    loss: Callable[[jax.Array], jax.Array],
) -> Handwritten:
    """What the three have in common."""

    def integrate(p: jax.Array) -> jax.Array:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(vector_field),
            solver,
            t0=0.0,
            t1=times[-1],
            dt0=None,
            y0=y0,
            args=p,
            saveat=diffrax.SaveAt(ts=times),
            stepsize_controller=controller,
            max_steps=2**16,
        )
        assert solution.ys is not None
        return solution.ys

    solve = jax.jit(integrate)
    gradient = jax.jit(jax.value_and_grad(lambda p: loss(integrate(p))))
    return Handwritten(
        method, "checkpointed", "compiled", RTOL, ATOL, lambda: solve(p), lambda: gradient(p), jax.block_until_ready
    )


CASES = {"lotka-volterra": lotka_volterra, "robertson": robertson, "brusselator-1d": brusselator_1d}
