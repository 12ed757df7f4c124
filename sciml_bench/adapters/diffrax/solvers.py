"""Diffrax's solver, step size controller and adjoint for a cell.

Step size control. Diffrax's advice for its ``PIDController``: the default coefficients, an integral controller, for
"smoothly-varying (i.e. easy to solve) problems", which the explicit methods get here. For stiff problems its author
says to set ``pcoeff`` and ``icoeff``, within pcoeff >= 0.2, icoeff >= 0.3 and a sum of at most 0.7: the implicit
methods get 0.3 and 0.4, as in the library's own implicit example, the nonlinear heat equation. Methods for stochastic
equations take equal steps, as in Diffrax's examples of them.

Root finders. The default is ``VeryChord`` (one Jacobian a step). In Diffrax 0.7.2 with Optimistix 0.1.0 it gives up
after two iterations, so that many more, smaller steps are taken: about twenty times as many on Robertson's problem, see
``docs/diffrax-verychord.md``. The ``-chord`` and ``-newton`` methods use Optimistix's ``Chord``, with one Jacobian a
stage, and ``Newton``, with one an iteration, in the way that Diffrax documents, and let them stop by their rate of
convergence, as ``VeryChord`` does (``cauchy_termination=False``). The other test, which wants small residuals as well,
is never passed on POLLU at 1e-6 (65536 steps against 163), costs three times the time there at 1e-4 (31.0 against 9.9
ms), twice the steps on the Oregonator at 1e-10, and nothing on Robertson. With ``Chord`` a solve takes 0.8 to 1.0 of
the time with ``Newton`` at the same error, over eight stiff problems at six tolerances from 1e-4 to 1e-9, and 0.45 on
HIRES at 1e-5 and 1e-6; it fails once where ``Newton`` does not, on E5 at 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable

import diffrax
import jax
import jax.numpy as jnp
import optimistix

from sciml_bench.adapters.diffrax import ADAPTER, STOCHASTIC
from sciml_bench.adapters.time_grid import STEPS_AT_UNIT_TOLERANCE
from sciml_bench.record.task import DEFAULT_SAVING, LANDING, Numbers

MAX_STEPS = 2**16
"""Also bounds memory: reverse mode through the steps keeps about sqrt(2 * MAX_STEPS) = 362 checkpoints of the state."""

KEPT_STEPS = 4096
"""Diffrax's own bound. With as many checkpoints as steps nothing is solved twice, and nothing is decided about it: a
gradient of Lotka-Volterra takes 1.2 ms in the place of 2.3, one of spiral-node 0.37 in the place of 0.64."""

# Memory for that: every checkpoint has about four vectors of the size of the state.
_KEPT_BYTES = 2**28
_BYTES_PER_STATE = 4 * 8

# A loop that is differentiated directly costs time in proportion to its bound, so it keeps the library's default.
MAX_STEPS_DISCRETE = 4096

# A step that an implicit method's controller would make smaller than this part of the time span is a failed solve. It
# lies below every sensible step, and ends early a solve that would go through all steps to no avail. Explicit methods
# do without: their steps are cheap, and the check is not.
SMALLEST_STEP = 1e-30

_ROOT_FINDERS: dict[str, type[optimistix.AbstractRootFinder]] = {"newton": optimistix.Newton, "chord": optimistix.Chord}
_SOLVERS: dict[str, Callable[..., diffrax.AbstractSolver]] = {
    "tsit5": diffrax.Tsit5,
    "tsit5-fixed": diffrax.Tsit5,
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
    declared = ADAPTER.method(method)
    if not declared.root_finder:
        return _SOLVERS[method]()
    found = diffrax.with_stepsize_controller_tols(_ROOT_FINDERS[declared.root_finder])(cauchy_termination=False)
    return _SOLVERS[declared.integrator](root_finder=found)


def is_split(method: str) -> bool:
    """Return whether a method takes the equation in two parts, one explicitly and one implicitly."""
    return ADAPTER.method(method).family == "imex_esdirk"


def is_stochastic(method: str) -> bool:
    """Return whether a method takes the drift and the noise of a stochastic equation, in equal steps."""
    return any(method == each.name for each in STOCHASTIC)


def step(method: str, numbers: Numbers, rtol: jax.Array) -> jax.Array | None:
    """The equal steps of a method without error control; ``None`` lets the method choose its first.

    There are as many as ``time_grid.fixed_steps`` says. A stochastic method takes the steps in which its motion
    is given, halved as often as it takes to have as many in the time span as a method of second order needs, one over
    the root of the tolerance.
    """
    declared = ADAPTER.method(method)
    if declared.adaptive:
        return None
    if not is_stochastic(method):
        # Less one part in 1e6, so that rounding of the power, in single precision too, adds no step.
        wanted = STEPS_AT_UNIT_TOLERANCE * rtol ** (-1.0 / declared.order) * (1 - 1e-6)
        return (numbers.t1 - numbers.t0) / jnp.ceil(wanted)
    given = len(numbers.breakpoints) + 1
    halvings = jnp.ceil(jnp.log2(jnp.maximum(1.0, rtol**-0.5 / given)))
    return (numbers.t1 - numbers.t0) / given * 2.0**-halvings


def controller(
    method: str, numbers: Numbers, rtol: jax.Array, atol: jax.Array, saving: str = DEFAULT_SAVING
) -> diffrax.AbstractStepSizeController:
    """The step size controller; it steps to just before each breakpoint and continues just after it.

    "Stepping exactly to certain times can be useful if you want to ensure that your solution is highly accurate at that
    exact time point -- by default Diffrax will adaptively step wherever it likes, and then interpolate": so its page on
    ``ClipStepSizeController``, which does that for the saved times if the cell lands on them.
    """
    if not ADAPTER.method(method).adaptive:
        return diffrax.ConstantStepSize()
    if ADAPTER.method(method).implicit:
        smallest = SMALLEST_STEP * (numbers.t1 - numbers.t0)
        pid = diffrax.PIDController(rtol, atol, pcoeff=0.3, icoeff=0.4, dtmin=smallest, force_dtmin=False)
    else:
        pid = diffrax.PIDController(rtol, atol)
    step_ts = jnp.asarray(numbers.save_times) if saving == LANDING else None
    jump_ts = jnp.asarray(numbers.breakpoints) if numbers.breakpoints else None
    if step_ts is None and jump_ts is None:
        return pid
    return diffrax.ClipStepSizeController(pid, step_ts=step_ts, jump_ts=jump_ts)


def bounds(sensitivity: str, numbers: Numbers) -> tuple[int, ...]:
    """The largest numbers of steps with which a gradient is tried in turn; of two the first keeps them all."""
    size = numbers.n_states * numbers.batch * _BYTES_PER_STATE
    if sensitivity == "checkpointed" and KEPT_STEPS * size <= _KEPT_BYTES:
        return KEPT_STEPS, MAX_STEPS
    return (MAX_STEPS_DISCRETE if sensitivity == "discrete" else MAX_STEPS,)


def adjoint(sensitivity: str, most: int) -> tuple[diffrax.AbstractAdjoint, int]:
    """Return how a gradient is taken, and the largest number of steps, one of ``bounds``."""
    match sensitivity:
        case "checkpointed":
            return diffrax.RecursiveCheckpointAdjoint(checkpoints=most if most == KEPT_STEPS else None), most
        case "discrete":
            return diffrax.DirectAdjoint(), most
        case "backsolve":
            # The result of the solve backwards is seen by nobody else: when it fails the gradient must not be finite.
            return diffrax.BacksolveAdjoint(throw=True), most
        case "forward":
            return diffrax.ForwardMode(), most
    raise ValueError(f"the diffrax adapter has no sensitivity '{sensitivity}'")
