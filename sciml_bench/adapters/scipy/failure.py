"""What SciPy says when a solve fails, as typed outcomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sciml_bench.outcome import Outcome, SolverFailure

# A step of LSODA evaluates the right-hand side a few times at one t.
STALLED_AFTER = 1000

# LSODA reports through warnings; these are ODEPACK's sentences for negative istate.
_LSODA = {
    "Excess work done": Outcome.MAX_STEPS,
    "Excess accuracy requested": Outcome.STEP_UNDERFLOW,
    "Repeated error test failures": Outcome.STEP_UNDERFLOW,
    "Repeated convergence failures": Outcome.STEP_UNDERFLOW,
    "Error weight became zero": Outcome.STEP_UNDERFLOW,
}


def unfinished(message: str, warnings: list[str], t: float) -> SolverFailure:
    """The failure behind a ``solve_ivp`` that did not reach the end; ``t`` is where its segment started."""
    text = "; ".join([message, *warnings])
    for sentence, outcome in _LSODA.items():
        if sentence in text:
            return SolverFailure(outcome, f"SciPy stopped in the segment from t = {t:g}: {text}")
    return SolverFailure(Outcome.STEP_UNDERFLOW, f"SciPy stopped in the segment from t = {t:g}: {text}")


def raised(error: Exception) -> SolverFailure | None:
    """The failure behind an exception of the linear algebra below the solver; ``None`` when it is none of these."""
    text = str(error)
    if "infs or NaNs" in text:
        return SolverFailure(Outcome.NONFINITE, f"the Newton matrix is not finite: {text}")
    if "singular" in text:
        return SolverFailure(Outcome.STEP_UNDERFLOW, f"the Newton matrix is singular: {text}")
    return None


def watched(rhs: Callable[[float, Any], Any]) -> Callable[[float, Any], Any]:
    """The right-hand side, ending a solve that has stopped advancing.

    Where a solution becomes infinite, LSODA goes on with steps that no longer change ``t``, for ever.
    """
    last = float("nan")
    count = 0

    def evaluate(t: float, y: Any) -> Any:
        nonlocal last, count
        if t == last:
            count += 1
            if count > STALLED_AFTER:
                raise SolverFailure(Outcome.STEP_UNDERFLOW, f"LSODA's steps no longer advance t = {t:.17g}")
        else:
            last, count = t, 0
        return rhs(t, y)

    return evaluate
