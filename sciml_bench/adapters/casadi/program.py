"""Worker side of the CasADi adapter.

Its integrators take one absolute tolerance for all components: the smallest component's, so that every component is at
least as accurate as required.
"""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import chdir, nullcontext
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np

from sciml_bench.adapters.casadi import COMPILED, EVENT_OPTIONS, SOLVERS, compiler
from sciml_bench.adapters.casadi.integration import adjoint, in_turn, slopes, solution
from sciml_bench.adapters.emitted_source import load_source
from sciml_bench.adapters.event_list import EventList
from sciml_bench.adapters.program import FloatArray, Gradient, Program, Solution, Vector
from sciml_bench.adapters.segments import split
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import Point, Task

MAX_STEPS = 1_000_000
_OF_SUNDIALS = re.compile(r"\b(CV|IDA)_[A-Z_]+")


class Inputs(NamedTuple):
    """The inputs of one call, and the tolerances, which belong to a function."""

    y0: Vector
    p: Vector
    point: Point


class Output(NamedTuple):
    """States at the saved times, (n_states, n_times), and of a gradient the loss and its slopes; or a message."""

    ys: Vector
    loss: float = np.nan
    gradient: Vector | None = None
    message: str = ""


class CasadiProgram(Program):
    """One integrator of CasADi; functions are made in the first call at a tolerance."""

    def __init__(self, task: Task):
        self._numbers, self._cell = task.numbers, task.cell
        self._source = load_source(task)
        self._parameters = task.numbers.wrt == "parameters"
        self._plugin = SOLVERS[task.cell.method][0]
        # IDAS takes algebraic equations as they are, CVODES the derivatives that follow from them.
        self._residual = getattr(self._source, "residual", None) if self._plugin == "idas" else None
        self._parts = [(part.start, part.times, part.n_saved, part.low, part.high) for part in split(task.numbers)]
        events = EventList.of(self._source) if hasattr(self._source, "EVENTS") else None
        self._events: tuple[Any, ...] = ({},)
        if events is not None:
            self._events = (events.scheduled_resets, self._source.events, events.crossings)
        self._scale = min(task.numbers.atol_scale)
        self._functions: dict[tuple[str, Point], Any] = {}
        self._made_ns = 0
        self._folder = ""
        if self._cell.framework_mode == COMPILED:
            self._folder = tempfile.mkdtemp(prefix="sciml_bench_casadi_")
            atexit.register(shutil.rmtree, self._folder, ignore_errors=True)

    def prepare(self, theta: FloatArray, point: Point) -> Inputs:
        values = np.array(theta, dtype=np.float64)
        y0, p = (np.asarray(given, dtype=np.float64) for given in (self._numbers.y0, self._numbers.p))
        return Inputs(y0, values, point) if self._parameters else Inputs(values, p, point)

    def solve(self, inputs: Inputs) -> Output:
        solve = self._solution(inputs.point)
        return _tried(lambda: Output(solve(inputs.y0, inputs.p).full()))

    def gradient(self, inputs: Inputs) -> Output:
        solve = self._solution(inputs.point)
        if self._cell.sensitivity == "adjoint":
            backward = self._made(
                "adjoint", inputs.point, lambda: adjoint(self._differentiated(inputs.point), self._parameters)
            )
            return _tried(lambda: self._adjoint(solve, backward, inputs))
        forward = self._made("slopes", inputs.point, lambda: slopes(solve, self._parameters))
        return _tried(lambda: self._forward(forward, inputs))

    def _forward(self, forward: Any, inputs: Inputs) -> Output:
        states, along = forward(inputs.y0, inputs.p)
        ys = states.full()
        loss, by_state = self._loss(ys)
        return Output(ys, loss, by_state.ravel(order="F") @ along.full())

    def _adjoint(self, solve: Any, backward: Any, inputs: Inputs) -> Output:
        ys = solve(inputs.y0, inputs.p).full()
        loss, by_state = self._loss(ys)
        return Output(ys, loss, backward(inputs.y0, inputs.p, by_state).full().ravel())

    def _loss(self, ys: Vector) -> tuple[float, Vector]:
        return float(self._source.loss(ys.T)), np.asarray(self._source.loss_gradient(ys.T)).T

    def _solution(self, point: Point) -> Any:
        return self._made("solution", point, lambda: self._function(solution, point, *self._events))

    def _differentiated(self, point: Point) -> Any:
        """The solution as adjoints are taken through it."""
        return self._solution(point) if self._residual is None else self._function(in_turn, point)

    def _function(self, make: Callable[..., Any], point: Point, *more: Any) -> Any:
        numbers = self._numbers
        return make(
            self._source.rhs, self._residual, self._parts, len(numbers.y0), len(numbers.p), self._plugin,
            self._options(point), *more,
        )  # fmt: skip

    def _made(self, name: str, point: Point, make: Callable[[], Any]) -> Any:
        """A function at a tolerance, made when it is first needed."""
        if (name, point) not in self._functions:
            start = time.perf_counter_ns()
            # An integrator writes its C code into the current folder, whatever its options say.
            with chdir(self._folder) if self._folder else nullcontext():
                self._functions[name, point] = make()
            self._made_ns += time.perf_counter_ns() - start
        return self._functions[name, point]

    def _options(self, point: Point) -> dict[str, Any]:
        options = {
            "reltol": point.rtol, "abstol": point.atol * self._scale, "max_num_steps": MAX_STEPS,
            "disable_internal_warnings": True, "show_eval_warnings": False, **SOLVERS[self._cell.method][1],
            **(EVENT_OPTIONS if len(self._events) > 1 else {}),
        }  # fmt: skip
        if self._cell.framework_mode != COMPILED:
            return options
        paths = {"compiler": compiler(), "linker": compiler(), "directory": f"{self._folder}/"}
        # The folder is removed as a whole, before the functions are.
        jit = {**paths, "flags": ["-O3"], "cleanup": False}
        return {**options, "jit": True, "jit_cleanup": False, "compiler": "shell", "jit_options": jit}

    def synchronise(self, output: Any) -> None:
        """Nothing to wait for: the solvers return when they are done."""

    def read_solution(self, output: Output) -> Solution:
        _raise(output.message)
        if not np.all(np.isfinite(output.ys)):
            raise SolverFailure(Outcome.NONFINITE, "CasADi reports success with a state that is not finite")
        return Solution(np.ascontiguousarray(output.ys.T), {})

    def read_gradient(self, output: Output) -> Gradient:
        _raise(output.message)
        if output.gradient is None or not (np.isfinite(output.loss) and np.all(np.isfinite(output.gradient))):
            raise SolverFailure(Outcome.NONFINITE, "CasADi reports success with a gradient that is not finite")
        return Gradient(output.loss, output.gradient, {})

    def phases_ns(self) -> dict[str, int]:
        return {"compile": self._made_ns}

    def versions(self) -> dict[str, str]:
        return {"casadi": version("casadi"), "numpy": np.__version__}


def _tried(call: Callable[[], Output]) -> Output:
    try:
        return call()
    except RuntimeError as error:
        if not _OF_SUNDIALS.search(str(error)):
            raise
        return Output(np.empty(0), message=str(error))


def _raise(message: str) -> None:
    if not message:
        return
    # The last line has the reason of SUNDIALS, the ones before it the functions around it.
    reason = message.strip().splitlines()[-1]
    too_many = "TOO_MUCH_WORK" in message
    raise SolverFailure(Outcome.MAX_STEPS if too_many else Outcome.STEP_UNDERFLOW, f"CasADi: {reason}")
