"""The checks themselves, in the terms of a worker: a task goes in, a program is built, and its calls are judged."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from sciml_bench.adapters.program import Gradient, Program, Solution
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import GRADIENT, SOLVE, Task


class Status(StrEnum):
    """Outcome of a check. A cell that the adapter refuses, with a reason, is neither right nor wrong."""

    PASSED = "passed"
    FAILED = "failed"
    REFUSED = "refused"


@dataclass(frozen=True)
class Check:
    """One check of one cell; ``message`` gives the measured value, or the error."""

    cell: str
    name: str
    status: Status
    message: str


Result = tuple[str, Status, str]
Build = Callable[[Task], Program]

# A point that says 1e-6 may be wrong by this factor, the gate of every measurement.
ERROR_FACTOR = 1000.0
GRADIENT_FACTOR = 1e4
DIFFERENCE = 1e-3
# Reading a result may take this long, or this part of the call, before it must have been a wait for the computation.
READ_S = 5e-4
READ_PART = 0.5
FAILURES = (Outcome.MAX_STEPS, Outcome.STEP_UNDERFLOW, Outcome.NONFINITE)


class CheckFailed(Exception):
    """Raised when an adapter fails a conformance check."""


def perform(tasks: dict[str, Task], build: Build) -> Iterator[Result]:
    """Run every check that the tasks allow. An exception is that check's failure, and the next check runs."""
    nonstiff = tasks["nonstiff"]
    yield _result("build", lambda: _builds(nonstiff, build))
    for name in ("nonstiff", "stiff", "switched"):
        if name in tasks:
            task = tasks[name]
            yield _result(f"{name} solution", lambda task=task: _solution_is_right(task, build(task)))
            yield _result(f"{name} gradient", lambda task=task: _gradient_is_right(task, build(task)))
            yield _result(f"{name} differences", lambda task=task: _gradient_is_the_slope(task, build(task)))
    yield _result("inputs", lambda: _inputs_are_used(nonstiff, build(nonstiff)))
    yield _result("synchronise", lambda: _synchronise_waits(nonstiff, build(nonstiff)))
    yield _result("traces", lambda: _nothing_is_traced_again(nonstiff, build(nonstiff)))
    if "blow-up" in tasks:
        yield _result("failure", lambda: _failure_is_typed(tasks["blow-up"], build))


def _result(name: str, run: Callable[[], str]) -> Result:
    try:
        return name, Status.PASSED, run()
    except CheckFailed as error:
        return name, Status.FAILED, str(error)
    except SolverFailure as error:
        # Every check asks for a build: a refusal at build time is a reason, not an error.
        status = Status.REFUSED if error.outcome is Outcome.UNSUPPORTED else Status.FAILED
        return name, status, f"{error.outcome}: {error}"
    except Exception as error:
        return name, Status.FAILED, f"{type(error).__name__}: {error}"


def _theta(task: Task) -> np.ndarray[Any, Any]:
    return np.array(task.numbers.theta)


def _solve(task: Task, program: Program, theta: np.ndarray[Any, Any]) -> Solution:
    output = program.solve(program.prepare(theta, task.points[0]))
    program.synchronise(output)
    return program.read_solution(output)


def _differentiate(task: Task, program: Program, theta: np.ndarray[Any, Any]) -> Gradient:
    output = program.gradient(program.prepare_gradient(theta, task.points[0]))
    program.synchronise(output)
    return program.read_gradient(output)


def _builds(task: Task, build: Build) -> str:
    versions = build(task).versions()
    if not versions or not all(isinstance(version, str) for version in versions.values()):
        raise CheckFailed(f"versions() must map names to strings, it is {versions!r}")
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _solution_is_right(task: Task, program: Program) -> str:
    """Shape and values at every saved time, in the mixed error |e| / (atol_scale + |y|)."""
    assert task.reference is not None
    solution = _solve(task, program, _theta(task))
    expected = np.array(task.reference.solution)
    if solution.ys.shape != expected.shape:
        raise CheckFailed(f"the solution has shape {solution.ys.shape}, not (n_times, n_states) = {expected.shape}")
    errors = np.abs(solution.ys - expected) / (np.array(task.numbers.atol_scale) + np.abs(expected))
    bound = ERROR_FACTOR * task.points[0].rtol
    row, column = np.unravel_index(np.argmax(errors), errors.shape)
    if not errors[row, column] <= bound:
        when = task.numbers.save_times[row]
        raise CheckFailed(
            f"at t = {when:g} component {column} is {solution.ys[row, column]:.8g}, not {expected[row, column]:.8g}: "
            f"error {errors[row, column]:.1e}, bound {bound:.1e}"
        )
    return f"largest error {errors[row, column]:.1e}"


def _gradient_is_right(task: Task, program: Program) -> str:
    """The gradient: every component relative to its own size, so that none hides behind a larger one."""
    assert task.reference is not None
    assert task.reference.gradient is not None
    theta, expected = _theta(task), np.array(task.reference.gradient)
    found = _differentiate(task, program, theta)
    if found.gradient.shape != expected.shape:
        raise CheckFailed(f"the gradient has shape {found.gradient.shape}, not (n_theta,) = {expected.shape}")
    errors = np.abs(found.gradient - expected) / np.abs(expected)
    bound = min(GRADIENT_FACTOR * task.points[0].rtol, 0.5)
    worst = int(np.argmax(errors))
    if not errors[worst] <= bound:
        raise CheckFailed(
            f"the gradient is {found.gradient}, not {expected}: component {worst} is off by {errors[worst]:.1e} of its "
            f"size, bound {bound:.1e}"
        )
    return f"largest error of a component {errors[worst]:.1e}"


def _gradient_is_the_slope(task: Task, program: Program) -> str:
    """The derivative of the reported loss along one direction, by central differences of it."""
    theta = _theta(task)
    direction = theta * np.random.default_rng(1).choice((-1.0, 1.0), len(theta))
    slope = float(_differentiate(task, program, theta).gradient @ direction)
    ahead, behind = (_differentiate(task, program, theta + h * direction).loss for h in (DIFFERENCE, -DIFFERENCE))
    differences = (ahead - behind) / (2 * DIFFERENCE)
    error = abs(slope - differences) / max(abs(differences), 1e-300)
    bound = min(max(GRADIENT_FACTOR * task.points[0].rtol, 1e-2), 0.5)
    if not error <= bound:
        raise CheckFailed(f"the gradient gives a slope of {slope:.8g}, differences of the loss {differences:.8g}")
    return f"slope differs by {error:.1e} from differences of the loss"


def _inputs_are_used(task: Task, program: Program) -> str:
    """Other parameters give another solution, and the first ones give the first solution again."""
    theta = _theta(task)
    first, other, again = (_solve(task, program, values).ys for values in (theta, 1.01 * theta, theta))
    if np.allclose(first, other, rtol=1e-6, atol=0):
        raise CheckFailed("the solution does not change when the parameters change by 1 %")
    if not np.allclose(first, again, rtol=1e-6, atol=0):
        raise CheckFailed("the same parameters give another solution after other parameters were used")
    return "the solution follows the parameters"


def _synchronise_waits(task: Task, program: Program) -> str:
    """Reading a result takes no time once ``synchronise`` has returned."""
    inputs = program.prepare_gradient(_theta(task), task.points[0])
    calls = {SOLVE: (program.solve, program.read_solution), GRADIENT: (program.gradient, program.read_gradient)}
    for call, read in (calls[kind] for kind in task.calls):
        times = [_timed(program, call, read, inputs) for _ in range(6)][1:]
        called, reading = (min(column) for column in zip(*times, strict=True))
        if reading > READ_S + READ_PART * called:
            raise CheckFailed(
                f"{call.__name__} and synchronise took {called * 1e3:.2f} ms, reading the result {reading * 1e3:.2f} "
                "ms more: synchronise returns before the computation has ended"
            )
    return "the computation has ended when synchronise returns"


def _timed(program: Program, call: Callable[..., Any], read: Callable[..., Any], inputs: Any) -> tuple[float, float]:
    start = time.perf_counter()
    output = call(inputs)
    program.synchronise(output)
    waited = time.perf_counter()
    read(output)
    return waited - start, time.perf_counter() - waited


def _nothing_is_traced_again(task: Task, program: Program) -> str:
    """After one call with each of two inputs, further inputs of the same kind cause no tracing and no compiling."""
    theta = _theta(task)
    counts = []
    for factor in (1.0, 1.001, 1.002, 0.999):
        _solve(task, program, factor * theta)
        if GRADIENT in task.calls:
            _differentiate(task, program, factor * theta)
        counts.append(program.trace_count())
    if counts[1] != counts[-1]:
        raise CheckFailed(f"the right-hand side was traced again for other parameters; trace counts {counts}")
    return f"trace count {counts[-1]}"


def _failure_is_typed(task: Task, build: Build) -> str:
    program = build(task)
    try:
        solution = _solve(task, program, _theta(task))
    except SolverFailure as failure:
        if failure.outcome not in FAILURES:
            raise CheckFailed(f"a solution that goes to infinity is reported as {failure.outcome}") from failure
        return f"{failure.outcome}: {failure}"
    raise CheckFailed(f"a solution that is infinite at t = 1 is reported as {solution.ys[-1]} at t = 2")
