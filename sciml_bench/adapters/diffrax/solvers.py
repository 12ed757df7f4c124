"""Diffrax's solver, step size controller and adjoint for a cell.

Step size control. Diffrax's advice for its ``PIDController``: the default coefficients, an integral controller, for
"smoothly-varying (i.e. easy to solve) problems", which the explicit methods get here. For stiff problems its author
says to set ``pcoeff`` and ``icoeff``, within pcoeff >= 0.2, icoeff >= 0.3 and a sum of at most 0.7: the implicit
methods get 0.3 and 0.4, as in the library's own implicit example, the nonlinear heat equation. Methods for stochastic
equations take equal steps, as in Diffrax's examples of them.

Root finders. The default is ``VeryChord`` (one Jacobian a step). In Diffrax 0.7.2 with Optimistix 0.1.0, the only
pair that can be installed together, it gives up after two iterations (https://github.com/patrick-kidger/diffrax/pull/754
mends it), so that many more, smaller steps are taken: about twenty times as many on Robertson's problem. The
``-newton`` methods use Optimistix's ``Newton`` instead, in the way that Diffrax documents.
"""

from __future__ import annotations

from collections.abc import Callable

import diffrax
import jax
import jax.numpy as jnp
import optimistix

from sciml_bench.task import Numbers

MAX_STEPS = 2**16
"""Also bounds memory: reverse mode through the steps keeps about sqrt(2 * MAX_STEPS) = 362 checkpoints of the state."""

# A loop that is differentiated directly costs time in proportion to its bound, so it keeps the library's default.
MAX_STEPS_DISCRETE = 4096

# A step that an implicit method's controller would make smaller than this part of the time span is a failed solve.
# Below every sensible step, it ends at once what would else be tried up to the last step, at length. Explicit methods
# do without: their steps are cheap, and the check is not.
SMALLEST_STEP = 1e-30

_NEWTON = "-newton"
_SOLVERS: dict[str, Callable[..., diffrax.AbstractSolver]] = {
    "tsit5": diffrax.Tsit5,
    "dopri5": diffrax.Dopri5,
    "dopri8": diffrax.Dopri8,
    "kvaerno3": diffrax.Kvaerno3,
    "kvaerno4": diffrax.Kvaerno4,
    "kvaerno5": diffrax.Kvaerno5,
    "kencarp3": diffrax.KenCarp3,
    "kencarp4": diffrax.KenCarp4,
    "kencarp5": diffrax.KenCarp5,
    "heun": diffrax.Heun,
    "reversible-heun": diffrax.ReversibleHeun,
}


def solver(method: str) -> diffrax.AbstractSolver:
    """Diffrax's solver for a method of the declaration."""
    if method.endswith(_NEWTON):
        newton = diffrax.with_stepsize_controller_tols(optimistix.Newton)()
        return _SOLVERS[method.removesuffix(_NEWTON)](root_finder=newton)
    return _SOLVERS[method]()


def is_split(method: str) -> bool:
    """Whether a method takes the equation in two parts, one explicitly and one implicitly."""
    return method.startswith("kencarp")


def is_stochastic(method: str) -> bool:
    """Whether a method takes the drift and the noise of a stochastic equation, in equal steps."""
    return method.endswith("heun")


def step(method: str, numbers: Numbers, rtol: jax.Array) -> jax.Array | None:
    """The equal steps of a stochastic method; ``None`` lets the method choose its first.

    They are those in which the motion is given, halved as often as it takes to have as many in the time span as a
    method of second order needs, one over the root of the tolerance.
    """
    if not is_stochastic(method):
        return None
    given = len(numbers.breakpoints) + 1
    halvings = jnp.ceil(jnp.log2(jnp.maximum(1.0, rtol**-0.5 / given)))
    return (numbers.t1 - numbers.t0) / given * 2.0**-halvings


def controller(method: str, numbers: Numbers, rtol: jax.Array, atol: jax.Array) -> diffrax.AbstractStepSizeController:
    """The step size controller; it steps to just before and goes on just after each breakpoint."""
    if is_stochastic(method):
        return diffrax.ConstantStepSize()
    if method.startswith("kvaerno") or is_split(method):
        smallest = SMALLEST_STEP * (numbers.t1 - numbers.t0)
        pid = diffrax.PIDController(rtol, atol, pcoeff=0.3, icoeff=0.4, dtmin=smallest, force_dtmin=False)
    else:
        pid = diffrax.PIDController(rtol, atol)
    if numbers.breakpoints:
        return diffrax.ClipStepSizeController(pid, jump_ts=jnp.asarray(numbers.breakpoints))
    return pid


def adjoint(sensitivity: str) -> tuple[diffrax.AbstractAdjoint, int]:
    """How a gradient is taken, and the largest number of steps."""
    match sensitivity:
        case "checkpointed":
            return diffrax.RecursiveCheckpointAdjoint(), MAX_STEPS
        case "discrete":
            return diffrax.DirectAdjoint(), MAX_STEPS_DISCRETE
        case "backsolve":
            # The result of the solve backwards is seen by nobody else: when it fails the gradient must not be finite.
            return diffrax.BacksolveAdjoint(throw=True), MAX_STEPS
        case "forward":
            return diffrax.ForwardMode(), MAX_STEPS
    raise ValueError(f"the diffrax adapter has no sensitivity '{sensitivity}'")
