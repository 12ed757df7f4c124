"""Worker side of the diffeqpy adapter: an ``ODEProblem`` and ``solve``, called from Python as diffeqpy's guide does."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple

# Before NumPy and all other frameworks: a library loaded earlier may bring another version of what Julia needs.
import juliacall
import numpy as np

from sciml_bench.adapters.emitted_source import load_source
from sciml_bench.adapters.julia.calls import project_fingerprint
from sciml_bench.adapters.julia.setting_up import package_folder
from sciml_bench.adapters.program import FloatArray, Gradient, Program, Solution
from sciml_bench.adapters.segments import Segment, split
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import LANDING, Point, Task

# By name: types are checked also if it is not installed. The module replaces itself with Julia's OrdinaryDiffEq.
ode: Any = importlib.import_module("diffeqpy.ode")
julia: Any = juliacall.__dict__["Main"]

MAX_STEPS = 1_000_000

# Methods by name, each made with a Python function. The solver's dual numbers do not pass through functions of Python's
# module math, so that its Jacobians are finite differences, as of any function that only computes with numbers.
METHODS: dict[str, Callable[[bool], Any]] = {
    "tsit5": lambda _python: ode.Tsit5(),
    "vern9": lambda _python: ode.Vern9(),
    "rodas5p": lambda python: ode.Rodas5P(autodiff=ode.AutoFiniteDiff()) if python else ode.Rodas5P(),
}

OUTCOMES = {
    "MaxIters": Outcome.MAX_STEPS,
    "DtNaN": Outcome.NONFINITE,
    "Unstable": Outcome.NONFINITE,
}
"""The outcome of a return code of SciMLBase; any other code is a step that became too small."""

_LONGEST_MESSAGE = 1500
_NUMBERS = itertools.count()


class Inputs(NamedTuple):
    """The inputs of one call: the problem on the first segment, what follows it, and the tolerances."""

    first: Any
    p: Any
    rtol: float
    atol: Any


class Solved(NamedTuple):
    """Julia's solution of each segment up to the last one, or up to the failed one and its exception."""

    solutions: list[Any]
    raised: Exception | None


class DiffeqpyProgram(Program):
    """One cell. Vectors are handed over as Julia's own, but the parameters of a Python function, which stay a list."""

    def __init__(self, task: Task):
        self._numbers = numbers = task.numbers
        self._python = task.cell.framework_mode == "eager"
        function = load_source(task).f if self._python else _julia_function(task.source)
        self._segments = split(numbers)
        clip = _clipped_python if self._python else _clipped_julia
        self._functions = [clip(function, segment) if segment.clipped else function for segment in self._segments]
        self._times = [_vector(segment.times) for segment in self._segments]
        self._lands = task.cell.saving == LANDING
        self._method = METHODS[task.cell.method](self._python)

    def prepare(self, theta: FloatArray, point: Point) -> Inputs:
        numbers, values = self._numbers, np.asarray(theta, dtype=np.float64)
        parameters = numbers.wrt == "parameters"
        p = (values if parameters else np.asarray(numbers.p, dtype=np.float64)).tolist()
        p = p if self._python else _vector(p)
        first = self._problem(0, _vector(numbers.y0 if parameters else values), p)
        return Inputs(first, p, point.rtol, _vector(point.atol * np.asarray(numbers.atol_scale)))

    def solve(self, inputs: Inputs) -> Solved:
        solutions: list[Any] = []
        problem = inputs.first
        try:
            for number, times in enumerate(self._times):
                if number:
                    problem = self._problem(number, solutions[-1].u[-1], inputs.p)
                solution = ode.solve(
                    problem, self._method, reltol=inputs.rtol, abstol=inputs.atol, saveat=times,
                    save_everystep=False, dense=False, maxiters=MAX_STEPS, **({"tstops": times} if self._lands else {}),
                )  # fmt: skip
                solutions.append(solution)
                if not _succeeded(solution):
                    break
        # Exceptions of a Python function come back through Julia as they are.
        except (juliacall.JuliaError, ArithmeticError, ValueError) as error:
            return Solved(solutions, error)
        return Solved(solutions, None)

    def gradient(self, inputs: Inputs) -> Any:
        raise SolverFailure(Outcome.UNSUPPORTED, "diffeqpy takes no gradients of Python functions")

    def synchronise(self, output: Any) -> None:
        """Nothing to wait for: Julia computes before it returns."""

    def read_solution(self, output: Solved) -> Solution:
        if output.raised is not None:
            raise _failure(output.raised) from output.raised
        last = output.solutions[-1]
        if not _succeeded(last):
            code = str(last.retcode)
            message = f"diffeqpy's solver returned {code} after t = {last.t[-1]}"
            raise SolverFailure(OUTCOMES.get(code, Outcome.STEP_UNDERFLOW), message)
        rows = [
            np.array(list(map(np.asarray, solution.u)))[: segment.n_saved]
            for solution, segment in zip(output.solutions, self._segments, strict=True)
        ]
        ys = np.concatenate(rows)
        if not np.all(np.isfinite(ys)):
            raise SolverFailure(Outcome.NONFINITE, "diffeqpy reports success, but the solution is not finite")
        return Solution(ys, _statistics(output.solutions))

    def read_gradient(self, output: Any) -> Gradient:
        raise SolverFailure(Outcome.UNSUPPORTED, "diffeqpy takes no gradients of Python functions")

    def versions(self) -> dict[str, str]:
        versions = {name: version(name) for name in ("diffeqpy", "juliacall", "numpy")}
        return {**versions, "julia": str(julia.VERSION), "julia_manifest": project_fingerprint()}

    def _problem(self, number: int, y: Any, p: Any) -> Any:
        segment = self._segments[number]
        return ode.ODEProblem(self._functions[number], y, (segment.start, segment.end), p)


_as_vector: Any = julia.seval("values -> collect(Float64, values)")


def _vector(values: Any) -> Any:
    return _as_vector(np.asarray(values, dtype=np.float64))


def _julia_function(source: str) -> Any:
    """``rhs!`` of an emitted module. Its text comes from our emitter, never from a problem file."""
    # For StaticArrays, which the source names and which is a dependency of the suite's package, not of the project.
    julia.push_b(julia.LOAD_PATH, str(package_folder()))
    module = julia.seval(f"module SciMLBenchProblem{next(_NUMBERS)}\n{source}\nend")
    # A name that ends with an exclamation mark is written with _b in Python.
    return module.rhs_b


def _clipped_python(function: Callable[..., None], segment: Segment) -> Callable[..., None]:
    low, high = segment.low, segment.high

    def clipped(dy: Any, y: Any, p: Any, t: float) -> None:
        function(dy, y, p, min(max(t, low), high))

    return clipped


def _clipped_julia(function: Any, segment: Segment) -> Any:
    clipped = julia.seval("(f, low, high) -> (dy, y, p, t) -> f(dy, y, p, clamp(t, low, high))")
    return clipped(function, segment.low, segment.high)


def _succeeded(solution: Any) -> bool:
    return str(solution.retcode) == "Success"


def _failure(error: Exception) -> Exception:
    """The failure behind an exception in a solve.

    Where an array would hold an infinite number or none, Python's functions of numbers raise, and some of Julia's.
    """
    message = str(error)[:_LONGEST_MESSAGE]
    if isinstance(error, ArithmeticError) or "math domain error" in message or "DomainError" in message:
        kind = type(error).__name__
        return SolverFailure(Outcome.NONFINITE, f"the right-hand side has no value that is finite: {kind}: {message}")
    return error


def _statistics(solutions: list[Any]) -> dict[str, float]:
    stats = [solution.stats for solution in solutions]
    counts = {
        "n_accepted": "naccept",
        "n_rejected": "nreject",
        "n_rhs": "nf",
        "n_jacobians": "njacs",
        "n_factorisations": "nw",
        "n_linear_solves": "nsolve",
    }
    found = {name: math.fsum(getattr(each, field) for each in stats) for name, field in counts.items()}
    return {"n_steps": found["n_accepted"] + found["n_rejected"], **found}
