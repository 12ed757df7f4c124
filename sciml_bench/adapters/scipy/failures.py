"""Typed outcomes of failed solves in SciPy."""

from __future__ import annotations

from sciml_bench.record.outcome import Outcome, SolverFailure

# Steps of LSODA that do not change t, after which a solve has failed: if a solution becomes infinite, it continues with
# them for ever.
STALLED_AFTER = 100

# LSODA reports through warnings; these are ODEPACK's sentences for negative istate.
_LSODA = {
    "Excess work done": Outcome.MAX_STEPS,
    "Excess accuracy requested": Outcome.STEP_UNDERFLOW,
    "Repeated error test failures": Outcome.STEP_UNDERFLOW,
    "Repeated convergence failures": Outcome.STEP_UNDERFLOW,
    "Error weight became zero": Outcome.STEP_UNDERFLOW,
}


def unfinished(message: str, warnings: list[str], t: float) -> SolverFailure:
    """The failure behind a ``solve_ivp`` that did not reach the end; its segment started at ``t``."""
    text = "; ".join([message, *warnings])
    for sentence, outcome in _LSODA.items():
        if sentence in text:
            return SolverFailure(outcome, f"SciPy stopped in the segment from t = {t:g}: {text}")
    return SolverFailure(Outcome.STEP_UNDERFLOW, f"SciPy stopped in the segment from t = {t:g}: {text}")


def raised(error: Exception) -> SolverFailure | None:
    """The failure behind an exception of the linear algebra below the solver; ``None`` for other exceptions."""
    text = str(error)
    if "infs or NaNs" in text:
        return SolverFailure(Outcome.NONFINITE, f"the Newton matrix is not finite: {text}")
    if "singular" in text:
        return SolverFailure(Outcome.STEP_UNDERFLOW, f"the Newton matrix is singular: {text}")
    return None


def stalled(t: float) -> SolverFailure:
    """The failure of a solver whose steps no longer advance."""
    return SolverFailure(Outcome.STEP_UNDERFLOW, f"LSODA's steps no longer advance t = {t:.17g}")
