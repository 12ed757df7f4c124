"""What a run will take, roughly: start-up per framework, sampling per point, and the time limit where it will bind.

The table is a first guess for two modest cores; times of earlier runs on the same machine replace it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sciml_bench.adapters.base import Facts, Method
from sciml_bench.adapters.recipes import takes_explicit
from sciml_bench.plan.profiles import Profile
from sciml_bench.record.task import CALLS, GRADIENT, Cell, Sampling

# Seconds from process start to the first gradient. Julia compiles in every process: a solver and dual numbers through
# it.
STARTUP_S: dict[str, float] = {
    "scipy": 1.0,
    # Its import compiles.
    "numbalsoda": 5.0,
    "torchdiffeq": 3.0,
    "torchode": 3.0,
    "diffrax": 5.0,
    "tensorflow": 10.0,
    "julia": 12.0,
    "diffeqpy": 10.0,
    "torch": 3.0,
    "jax": 8.0,
    "keras": 10.0,
    "onnxruntime": 1.0,
    "lux": 60.0,
    "simplechains": 30.0,
}
UNKNOWN_STARTUP_S = 5.0

_ADJOINT = "an adjoint"

# The same of what takes longer to load or to compile: of a mode, of a method, or of adjoints.
LONG_STARTUP_S: dict[tuple[str, str], float] = {
    ("torch", "compiled"): 30.0,
    ("torchdiffeq", "compiled"): 25.0,
    ("tensorflow", "unrolled"): 90.0,
    ("diffrax", _ADJOINT): 12.0,
    ("julia", _ADJOINT): 80.0,
    ("julia", "cvode_bdf"): 40.0,
}

# Seconds for one solve or gradient of a small problem. Compiled code is far faster; the minimum sampling time rules.
CALL_S: dict[str, float] = {
    "scipy": 0.1,
    "numbalsoda": 0.001,
    "torchdiffeq": 0.1,
    "torchode": 0.2,
    "diffrax": 0.01,
    "tensorflow": 0.02,
    "julia": 0.005,
    "diffeqpy": 0.1,
    "torch": 0.02,
    "jax": 0.02,
    "keras": 0.02,
    "onnxruntime": 0.01,
    "lux": 0.02,
    "simplechains": 0.005,
}
UNKNOWN_CALL_S = 0.1

# A gradient by solving backwards takes as long as so many solves.
BACKSOLVE_SOLVES = 5.0

# Fewer calls cannot be seen to have settled; most have by then.
CALLS_TO_SETTLE = 10


def hopeless(method: Method, facts: Facts) -> bool:
    """Whether a cell is expected to run into its time limit, once: what fails in its solver is not repeated."""
    return not method.implicit and not takes_explicit(facts)


def estimate_s(
    cell: Cell,
    method: Method,
    facts: Facts,
    *,
    profile: Profile,
    timeout_s: float,
    earlier: Mapping[str, float],
    training_steps: int = 0,
    calls: Sequence[str] = CALLS,
    n_points: int,
) -> float:
    """Seconds that one process of a cell takes. ``earlier`` maps cell labels to measured seconds of this profile;
    ``n_points`` are the tolerances or batches of the cell.

    A cell with warm caches needs a process more, which makes the first calls only. A training compiles once more, then
    takes a gradient a step.
    """
    if cell.label in earlier:
        return earlier[cell.label]
    startup_s = _startup_s(cell, calls)
    if cell.caches == "warm":
        startup_s *= 2
    if hopeless(method, facts):
        return startup_s + timeout_s
    loops = len(calls) * n_points
    each_s = (_loop_s(_call_s(cell, call, facts), profile.sampling, loops) for call in calls)
    sampled_s = n_points * sum(min(loop_s, timeout_s) for loop_s in each_s)
    trained_s = startup_s + training_steps * _call_s(cell, GRADIENT, facts) if training_steps else 0.0
    return startup_s + sampled_s + min(trained_s, timeout_s)


def _call_s(cell: Cell, call: str, facts: Facts) -> float:
    solve_s = CALL_S.get(cell.adapter, UNKNOWN_CALL_S)
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


def _startup_s(cell: Cell, calls: Sequence[str]) -> float:
    adjoint = (_ADJOINT,) if GRADIENT in calls and cell.sensitivity != "forward" else ()
    longer = (LONG_STARTUP_S.get((cell.adapter, slow), 0.0) for slow in (cell.framework_mode, cell.method, *adjoint))
    return max(STARTUP_S.get(cell.adapter, UNKNOWN_STARTUP_S), *longer)
