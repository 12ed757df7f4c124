"""Typed outcomes of failed solves in Diffrax."""

from __future__ import annotations

import diffrax
import jax
import jax.numpy as jnp

from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.trajectories import Trajectories

_KNOWN = (
    ("max_steps_reached", Outcome.MAX_STEPS, "the maximum number of steps was reached"),
    ("dt_min_reached", Outcome.STEP_UNDERFLOW, "the step size went to zero"),
    ("nonlinear_divergence", Outcome.STEP_UNDERFLOW, "the stages' equations could not be solved"),
    ("nonlinear_max_steps_reached", Outcome.STEP_UNDERFLOW, "the stages' equations were not solved"),
    ("singular", Outcome.STEP_UNDERFLOW, "the stages' linear equations are singular"),
    # Since Optimistix 0.1.0.
    ("nonfinite", Outcome.NONFINITE, "a stage is not finite"),
)

# Index in this table + 1 is the status that a compiled program returns; 0 is success, -1 any other result.
_FAILURES = tuple(
    (getattr(diffrax.RESULTS, name), outcome, reason)
    for name, outcome, reason in _KNOWN
    if hasattr(diffrax.RESULTS, name)
)

MAX_STEPS_REACHED = 1
"""The status of a solve that was ended by the bound on its steps."""


def status(result: diffrax.RESULTS) -> jax.Array:
    """A Diffrax result as an integer, which leaves a compiled program at no cost."""
    code = jnp.where(result == diffrax.RESULTS.successful, 0, -1)
    for index, (known, _, _) in enumerate(_FAILURES):
        code = jnp.where(result == known, index + 1, code)
    return code


def outcome(code: int) -> Outcome:
    """The outcome of a status other than success."""
    return _meaning(code)[0]


def check(code: int, n_steps: int, n_failed: int = 1, trajectories: Trajectories | None = None) -> None:
    """Raise the typed failure of a status, for the first of ``n_failed`` failed trajectories of a batch."""
    if code == 0:
        return
    kind, reason = _meaning(code)
    share = f" on {n_failed} of {trajectories.size} trajectories, first" if trajectories else ""
    raise SolverFailure(kind, f"Diffrax stopped{share} after {n_steps} steps: {reason}", trajectories)


def _meaning(code: int) -> tuple[Outcome, str]:
    return (Outcome.CRASH, "it gives no known reason") if code < 0 else _FAILURES[code - 1][1:]
