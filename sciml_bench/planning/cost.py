"""The rough duration of a run: start-up per framework, sampling per point, and the time limit if it will bind.

What adapters declare is a first guess for two modest cores; times of earlier runs on the same machine replace it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sciml_bench.adapters.base import Cost, Method, ProblemTraits
from sciml_bench.adapters.recipes import takes_explicit
from sciml_bench.planning.profiles import Profile
from sciml_bench.record.task import CALLS, GRADIENT, Cell, Sampling

# A gradient by solving backwards takes as long as this many solves.
BACKSOLVE_SOLVES = 5.0

# Fewer calls cannot be seen to have settled; most have by then.
CALLS_TO_SETTLE = 10


def hopeless(method: Method, facts: ProblemTraits) -> bool:
    """Return whether a cell is expected to run into its time limit, once: what fails in its solver is not repeated."""
    return not method.implicit and not takes_explicit(facts)


def estimate_s(
    cell: Cell,
    method: Method,
    facts: ProblemTraits,
    cost: Cost,
    *,
    profile: Profile,
    timeout_s: float,
    earlier: Mapping[str, float],
    training_steps: int = 0,
    calls: Sequence[str] = CALLS,
    n_points: int,
) -> float:
    """Seconds that one process of a cell takes. ``earlier`` maps cell labels to measured seconds of this profile,
    ``cost`` is what its adapter declares; ``n_points`` are the tolerances or batches of the cell.

    A cell with warm caches needs a process more, which makes the first calls only. A training compiles once more, then
    takes a gradient a step.
    """
    if cell.label in earlier:
        return earlier[cell.label]
    startup_s = _startup_s(cell, cost, calls)
    if cell.caches == "warm":
        startup_s *= 2
    if hopeless(method, facts):
        return startup_s + timeout_s
    loops = len(calls) * n_points
    each_s = (_loop_s(_call_s(cell, call, facts, cost), profile.sampling, loops) for call in calls)
    sampled_s = n_points * sum(min(loop_s, timeout_s) for loop_s in each_s)
    trained_s = startup_s + training_steps * _call_s(cell, GRADIENT, facts, cost) if training_steps else 0.0
    return startup_s + sampled_s + min(trained_s, timeout_s)


def _call_s(cell: Cell, call: str, facts: ProblemTraits, cost: Cost) -> float:
    solve_s = cost.call_s
    if call == GRADIENT and cell.sensitivity == "forward":
        # A tangent for each component of theta is carried through the solve.
        return solve_s * (1 + facts.n_theta)
    if call == GRADIENT and cell.sensitivity.startswith("backsolve"):
        return solve_s * BACKSOLVE_SOLVES
    return solve_s


def _loop_s(call_s: float, sampling: Sampling, loops: int) -> float:
    """The warm-up of a loop, which shares its box of time with the others, and its measured calls."""
    steady_s = max(sampling.steady_s, (sampling.steady_calls + 1) * call_s)
    settling_s = min(CALLS_TO_SETTLE * call_s, sampling.warm_up_s / loops)
    return steady_s + max(sampling.warm_up_calls * call_s, settling_s)


def _startup_s(cell: Cell, cost: Cost, calls: Sequence[str]) -> float:
    adjoint_s = cost.adjoint_startup_s if GRADIENT in calls and cell.sensitivity != "forward" else 0.0
    longer = (cost.long_startup_s.get(slow, 0.0) for slow in (cell.framework_mode, cell.method))
    return max(cost.startup_s, adjoint_s, *longer)
