"""``diffeqsolve`` as Diffrax's experts call it: everything inside one ``jax.jit`` of parameters and tolerance."""

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

from best import Expert, Unsolved, Vector

jax.config.update("jax_enable_x64", True)

Equation = Callable[[Any, jax.Array, Any], jax.Array]
FORWARD = diffrax.ForwardMode()


def newton_kvaerno5() -> diffrax.AbstractSolver:
    """Kvaerno5 with full Newton iterations: its default root finder gives up too early in Diffrax 0.7.2."""
    return diffrax.Kvaerno5(root_finder=diffrax.with_stepsize_controller_tols(optimistix.Newton)())


def chord_kvaerno5() -> diffrax.AbstractSolver:
    """The same with one Jacobian a stage."""
    return diffrax.Kvaerno5(root_finder=diffrax.with_stepsize_controller_tols(optimistix.Chord)())


def stiff_controller(rtol: jax.Array, atol: Any) -> diffrax.AbstractStepSizeController:
    """The coefficients that Diffrax's guide has for stiff problems."""
    return diffrax.PIDController(rtol=rtol, atol=atol, pcoeff=0.3, icoeff=0.4)


def easy_controller(rtol: jax.Array, atol: Any) -> diffrax.AbstractStepSizeController:
    """The default ones."""
    return diffrax.PIDController(rtol=rtol, atol=atol)


def compiled(
    name: str,
    solver: diffrax.AbstractSolver,
    controller: Callable[[jax.Array, Any], diffrax.AbstractStepSizeController],
    equation: Equation,
    start: Vector,
    times: Vector,
    loss: Callable[[jax.Array], jax.Array],
    adjoint: diffrax.AbstractAdjoint,
    max_steps: int,
    *,
    atol: Vector | float = 1.0,
    arguments: Callable[[jax.Array], Any] = lambda theta: theta,
    lands: bool = False,
) -> Expert:
    """One configuration. Where the adjoint is ``ForwardMode`` gradients are by ``jacfwd``, else by ``grad``. Steps end
    at the saved times if it ``lands``."""
    y0, save = jnp.asarray(start), diffrax.SaveAt(ts=jnp.asarray(times))
    scale = jnp.asarray(atol) if np.ndim(atol) else atol

    def clipped(chosen: diffrax.AbstractStepSizeController) -> diffrax.AbstractStepSizeController:
        return diffrax.ClipStepSizeController(chosen, step_ts=jnp.asarray(times)) if lands else chosen

    def integrate(theta: jax.Array, rtol: jax.Array) -> tuple[jax.Array, jax.Array]:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(equation),
            solver,
            t0=0.0,
            t1=float(times[-1]),
            dt0=None,
            y0=y0,
            args=arguments(theta),
            saveat=save,
            stepsize_controller=clipped(controller(rtol, rtol * scale)),
            adjoint=adjoint,
            max_steps=max_steps,
            throw=False,
        )
        assert solution.ys is not None
        return solution.ys, solution.result == diffrax.RESULTS.successful

    def value(theta: jax.Array, rtol: jax.Array) -> tuple[jax.Array, Any]:
        ys, successful = integrate(theta, rtol)
        found = loss(ys)
        return found, (found, successful)

    differentiate = jax.jacfwd if isinstance(adjoint, diffrax.ForwardMode) else jax.grad
    solve, gradient = jax.jit(integrate), jax.jit(differentiate(value, has_aux=True))

    def prepare(theta: Vector, rtol: float) -> tuple[jax.Array, jax.Array]:
        return jnp.asarray(theta), jnp.asarray(rtol)

    def states(output: Any) -> Vector:
        _successful(output[1])
        return np.asarray(output[0])

    def slopes(output: Any) -> Vector:
        _successful(output[1][1])
        return np.asarray(output[0])

    return Expert(
        name, prepare, lambda inputs: solve(*inputs), lambda inputs: gradient(*inputs), jax.block_until_ready, states,
        slopes,
    )  # fmt: skip


def _successful(flag: jax.Array) -> None:
    if not bool(flag):
        raise Unsolved("Diffrax did not reach the end")
