"""SciPy's ``odeint``: LSODA with a compiled loop over steps and saved times, which calls Python for equations only."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import ODEintWarning, OdeSolver, odeint, solve_ivp

from sciml_bench.adapters.scipy.newton import Fill, Layout
from sciml_bench.adapters.time_grid import Segment
from sciml_bench.record.outcome import Outcome, SolverFailure

# Typed outcomes of failed solves in SciPy.

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


# Functions that a solver calls hundreds of times, of as few Python frames and new arrays as it allows.

Vector = NDArray[np.float64]
Function = Callable[..., Any]


def writing(kernel: Function, size: int, reuses: bool, *arguments: Any) -> Function:
    """A function of t and y that returns what the kernel writes, which takes one to three arguments after the array."""
    if not reuses:

        def made(t: float, y: Vector) -> Vector:
            out = np.empty(size)
            kernel(t, y, out, *arguments)
            return out

        return made
    kept = np.empty(size)
    # Arguments one by one: a star makes the call of a small kernel a twentieth longer.
    a, b, c = (*arguments, None, None)[:3]

    def with_one(t: float, y: Vector) -> Vector:
        kernel(t, y, kept, a)
        return kept

    def with_two(t: float, y: Vector) -> Vector:
        kernel(t, y, kept, a, b)
        return kept

    def with_three(t: float, y: Vector) -> Vector:
        kernel(t, y, kept, a, b, c)
        return kept

    return (with_one, with_two, with_three)[len(arguments) - 1]


def matrix(chosen: Layout, fill: Fill, reuses: bool) -> Function:
    """The matrix as a function of t and the flat Z."""
    if not reuses:

        def made(t: float, z: Vector) -> Any:
            numbers = np.zeros(chosen.stored)
            fill(t, z, numbers)
            return chosen.matrix(numbers)

        return made
    numbers = np.zeros(chosen.stored)
    kept = chosen.matrix(numbers)

    def evaluate(t: float, z: Vector) -> Any:
        fill(t, z, numbers)
        return kept

    return evaluate


# SciPy's ``solve_ivp`` on one segment, with a count of steps, which it does not report when it is given the times.


class Result(NamedTuple):
    """``y`` has a column for each saved time; ``status`` is 0 when the end was reached."""

    y: Vector
    status: int
    message: str
    n_steps: int
    nfev: int
    njev: int
    nlu: int


Integrate = Callable[
    [Callable[..., Any], Segment, Vector, Vector, float, Vector, Mapping[str, Any], tuple[Any, ...]], Result
]
"""The right-hand side, the segment, its times, the state at its start, both tolerances, options of the method, and
further arguments of the right-hand side and the Jacobian.
"""


class StepCounter(OdeSolver):
    """Mixin of a counting solver: ``steps`` counts the steps since it was set to 0, ``ends`` are the times where a
    step must end, the last one first.
    """

    steps: int
    ends: list[float]


def counting_steps(solver: type[OdeSolver]) -> type[StepCounter]:
    """Return a solver that counts its steps, at a fraction of a microsecond for each."""

    class Counting(solver):
        steps = 0
        standing = 0
        ends: ClassVar[list[float]] = []

        def step(self) -> str | None:
            Counting.steps += 1
            before = self.t
            if Counting.ends:
                self.t_bound = Counting.ends[-1]
            message = super().step()
            if self.status == "finished" and len(Counting.ends) > 1:
                Counting.ends.pop()
                self.status = "running"
            if self.t != before:
                self.standing = 0
            elif (standing := self.standing + 1) > STALLED_AFTER:
                raise stalled(before)
            else:
                self.standing = standing
            return message

    return Counting  # pyright: ignore[reportReturnType]


def by_solve_ivp(solver: type[OdeSolver], lands: bool) -> Integrate:
    """``solve_ivp`` with one of its solvers, whose steps end at every time if it ``lands``."""
    # The stubs of SciPy name methods only.
    counting: Any = counting_steps(solver)

    def integrate(
        rhs: Callable[..., Any], segment: Segment, times: Vector, start: Vector, rtol: float, atol: Vector,
        options: Mapping[str, Any], args: tuple[Any, ...],
    ) -> Result:  # fmt: skip
        counting.steps, counting.ends = 0, times[::-1].tolist() if lands else []
        found: Any = solve_ivp(
            rhs, (segment.start, segment.end), start, method=counting, t_eval=times, rtol=rtol, atol=atol,
            args=args or None, **options,
        )  # fmt: skip
        return Result(found.y, found.status, found.message, counting.steps, found.nfev, found.njev, found.nlu)

    return integrate


MAX_STEPS = 100_000
"""Steps between two saved times after which a solve has failed. SciPy's default of 500 is too few for stiff problems.
"""

MAX_STEPS_OPTION = "max_steps"
"""The option that sets another number of them."""

# The message of ``odeint`` after success.
_DONE = "Integration successful."


def integrate(
    rhs: Callable[..., Any],
    segment: Segment,
    times: Vector,
    start: Vector,
    rtol: float,
    atol: Vector,
    options: Mapping[str, Any],
    args: tuple[Any, ...],
    lands: bool = False,
) -> Result:
    """One segment. ``options`` are the options of ``solve_ivp`` with LSODA: ``jac``, and ``lband`` and ``uband`` of a
    band; and :data:`MAX_STEPS_OPTION`.

    Where the equation jumps at an end of the segment no step goes past it, nor past any time if steps land on them.
    """
    critical = times if lands else [segment.end] if segment.clipped else None
    grid = np.concatenate([[segment.start], times])
    with warnings.catch_warnings():
        # Its warnings are also in its message.
        warnings.simplefilter("ignore", ODEintWarning)
        found: Any = odeint(
            rhs, start, grid, args, tfirst=True, full_output=True, rtol=rtol, atol=atol,
            mxstep=options.get(MAX_STEPS_OPTION, MAX_STEPS),
            Dfun=options.get("jac"), ml=options.get("lband"), mu=options.get("uband"),
            tcrit=critical,
        )  # fmt: skip
    ys, told = found
    done = told["message"] == _DONE
    steps, evaluations, jacobians = (int(told[name][-1]) for name in ("nst", "nfe", "nje"))
    # Each Jacobian is factorised once.
    return Result(ys[1:].T, 0 if done else -1, told["message"], steps, evaluations, jacobians, jacobians)
