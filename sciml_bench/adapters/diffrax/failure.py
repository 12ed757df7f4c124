"""What Diffrax says when a solve fails, as typed outcomes."""

from __future__ import annotations

import diffrax
import jax
import jax.numpy as jnp

from sciml_bench.outcome import Outcome, SolverFailure

# Index in this table + 1 is the status that a compiled program returns; 0 is success, -1 any other result.
_FAILURES = (
    (diffrax.RESULTS.max_steps_reached, Outcome.MAX_STEPS, "the maximum number of steps was reached"),
    (diffrax.RESULTS.dt_min_reached, Outcome.STEP_UNDERFLOW, "the step size went to zero"),
    (diffrax.RESULTS.nonlinear_divergence, Outcome.STEP_UNDERFLOW, "the stages' equations could not be solved"),
    (diffrax.RESULTS.nonlinear_max_steps_reached, Outcome.STEP_UNDERFLOW, "the stages' equations were not solved"),
    (diffrax.RESULTS.singular, Outcome.STEP_UNDERFLOW, "the stages' linear equations are singular"),
    (diffrax.RESULTS.nonfinite, Outcome.NONFINITE, "a stage is not finite"),
)


def status(result: diffrax.RESULTS) -> jax.Array:
    """A Diffrax result as an integer, which leaves a compiled program at no cost."""
    code = jnp.where(result == diffrax.RESULTS.successful, 0, -1)
    for index, (known, _, _) in enumerate(_FAILURES):
        code = jnp.where(result == known, index + 1, code)
    return code


def check(code: int, n_steps: int, n_failed: int = 1, n_trajectories: int = 1) -> None:
    """Raise the typed failure that a status stands for, of the first of so many failed trajectories of a batch."""
    if code == 0:
        return
    outcome, reason = (Outcome.CRASH, "it gives no known reason") if code < 0 else _FAILURES[code - 1][1:]
    share = f" on {n_failed} of {n_trajectories} trajectories, first" if n_trajectories > 1 else ""
    raise SolverFailure(outcome, f"Diffrax stopped{share} after {n_steps} steps: {reason}")
