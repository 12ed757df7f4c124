"""The conformance suite finds what is wrong with an adapter, and nothing wrong with a right one."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sciml_bench.adapters import registry
from sciml_bench.adapters.base import ProblemTraits
from sciml_bench.adapters.conformance import cells, check, problems
from sciml_bench.adapters.conformance.checks import Status, perform
from sciml_bench.adapters.conformance.suite import case, known_task
from sciml_bench.adapters.program import Gradient, Program, Solution
from sciml_bench.adapters.scipy.program import SciPyProgram
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import LANDING, Cell, Task

SCIPY = registry.adapter("scipy")
RK45 = Cell("conformance", "scipy", "rk45", "forward", "eager")


class Wrapped(Program):
    """SciPy's program, to be changed in one place."""

    def __init__(self, task: Task):
        self.inner = SciPyProgram(task)

    def prepare(self, theta, point) -> Any:
        return self.inner.prepare(theta, point)

    def solve(self, inputs) -> Any:
        return self.inner.solve(inputs)

    def gradient(self, inputs) -> Any:
        return self.inner.gradient(inputs)

    def synchronise(self, output):
        self.inner.synchronise(output)

    def read_solution(self, output):
        return self.inner.read_solution(output)

    def read_gradient(self, output):
        return self.inner.read_gradient(output)

    def versions(self):
        return {"stub": "1"}


class WrongGradient(Wrapped):
    def read_gradient(self, output):
        found = self.inner.read_gradient(output)
        return Gradient(found.loss, found.gradient * np.linspace(1.0, 1.2, len(found.gradient)), {})


class WrongSlope(Wrapped):
    """The gradient of the sum over one time fewer than the loss."""

    def read_gradient(self, output):
        found = self.inner.read_gradient(output)
        return Gradient(2 * found.loss, found.gradient, {})


class ShiftedTimes(Wrapped):
    """The initial state in the place of the first saved time."""

    def read_solution(self, output):
        ys = self.inner.read_solution(output).ys
        return Solution(np.vstack([np.ones_like(ys[:1]), ys[:-1]]), {})


class InitialStateToo(Wrapped):
    def read_solution(self, output):
        ys = self.inner.read_solution(output).ys
        return Solution(np.vstack([np.ones_like(ys[:1]), ys]), {})


class DeafToInputs(Wrapped):
    def prepare(self, theta, point):
        return self.inner.prepare(np.array(self.inner._numbers.theta), point)


class Remembering(Wrapped):
    """Keeps the first inputs it is given, as a compiled constant would."""

    first: Any = None

    def prepare(self, theta, point):
        inputs = self.inner.prepare(theta, point)
        self.calls = getattr(self, "calls", 0) + 1
        if self.calls == 3:
            return self.first
        self.first = inputs
        return inputs


class Asynchronous(Wrapped):
    """Returns at once and computes for another 30 ms; waits only when the result is read."""

    waits = False

    def _later(self, call: Callable[[Any], Any], inputs: Any) -> dict[str, Any]:
        return {"call": call, "inputs": inputs}

    def solve(self, inputs):
        return self._later(self.inner.solve, inputs)

    def gradient(self, inputs):
        return self._later(self.inner.gradient, inputs)

    def synchronise(self, output):
        if self.waits:
            _computed(output)

    def read_solution(self, output):
        return self.inner.read_solution(_waited(output))

    def read_gradient(self, output):
        return self.inner.read_gradient(_waited(output))


class AsynchronousThatWaits(Asynchronous):
    waits = True


def _computed(output: dict[str, Any]) -> None:
    if "call" in output:
        time.sleep(0.03)
        try:
            output["value"] = output.pop("call")(output["inputs"])
        except SolverFailure as failure:
            output["failure"] = failure


def _waited(output: dict[str, Any]) -> Any:
    _computed(output)
    if "failure" in output:
        raise output["failure"]
    return output["value"]


class Retracing(Wrapped):
    count = 0

    def prepare(self, theta, point):
        self.count += 1
        return self.inner.prepare(theta, point)

    def trace_count(self):
        return self.count


class UntypedFailure(Wrapped):
    def solve(self, inputs):
        try:
            return self.inner.solve(inputs)
        except SolverFailure as failure:
            raise RuntimeError("solver said no") from failure


class SilentFailure(Wrapped):
    def solve(self, inputs):
        try:
            return self.inner.solve(inputs)
        except SolverFailure:
            return None

    def read_solution(self, output):
        return Solution(np.full((2, 1), np.nan), {}) if output is None else self.inner.read_solution(output)


class Refusing(Wrapped):
    def __init__(self, task):
        raise SolverFailure(Outcome.UNSUPPORTED, "not on this machine")


def performed(make: Callable[[Task], Program], cell: Cell = RK45) -> dict[str, tuple[Status, str]]:
    tasks = case(SCIPY, cell).tasks
    return {name: (status, message) for name, status, message in perform(tasks, make)}


def failed(results: dict[str, tuple[Status, str]]) -> set[str]:
    return {name for name, (status, _message) in results.items() if status is Status.FAILED}


SWITCHED_AND_NONSTIFF = ("nonstiff", "switched")

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def test_a_right_adapter_passes_everything():
    results = performed(SciPyProgram)
    assert failed(results) == set()
    assert set(results) == {
        "build", "nonstiff solution", "nonstiff gradient", "nonstiff differences", "switched solution",
        "switched gradient", "switched differences", "inputs", "synchronise", "traces", "failure",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        (WrongGradient, {f"{name} gradient" for name in SWITCHED_AND_NONSTIFF}),
        (WrongSlope, {f"{name} differences" for name in SWITCHED_AND_NONSTIFF}),
        (ShiftedTimes, {f"{name} solution" for name in SWITCHED_AND_NONSTIFF}),
        (InitialStateToo, {f"{name} solution" for name in SWITCHED_AND_NONSTIFF}),
        (DeafToInputs, {"inputs"}),
        (Remembering, {"inputs"}),
        (Asynchronous, {"synchronise"}),
        (AsynchronousThatWaits, set()),
        (Retracing, {"traces"}),
        (UntypedFailure, {"failure"}),
        (SilentFailure, {"failure"}),
    ],
)
def test_what_is_wrong_is_found(wrong, found):
    results = failed(performed(wrong))
    # A wrong gradient has a wrong slope as well, and the other way round nothing else may be blamed.
    assert found <= results
    assert results - found <= {f"{name} differences" for name in SWITCHED_AND_NONSTIFF}


def test_messages_say_where():
    results = performed(ShiftedTimes)
    assert results["nonstiff solution"][1].startswith("at t = ")
    assert "shape (5, 2), not (n_times, n_states) = (4, 2)" in performed(InitialStateToo)["nonstiff solution"][1]


def test_a_refusal_at_build_time_is_no_error():
    results = performed(Refusing)
    assert {status for status, _message in results.values()} == {Status.REFUSED}
    assert "not on this machine" in results["build"][1]


def test_the_known_numbers_are_those_of_a_tight_solve():
    for known, method in ((problems.NONSTIFF, "dop853"), (problems.STIFF, "radau"), (problems.SWITCHED, "dop853")):
        cell = dataclasses.replace(RK45, method=method)
        name = {id(problems.NONSTIFF): "nonstiff", id(problems.STIFF): "stiff"}.get(id(known), "switched")
        task = case(SCIPY, cell).tasks[name]
        point = dataclasses.replace(task.points[0], rtol=1e-10, atol=1e-12)
        program = SciPyProgram(task)
        inputs = program.prepare(np.array(task.numbers.theta), point)
        assert known.expected.solution is not None
        assert known.expected.gradient is not None
        np.testing.assert_allclose(program.read_solution(program.solve(inputs)).ys, known.expected.solution, rtol=2e-7)
        np.testing.assert_allclose(
            program.read_gradient(program.gradient(inputs)).gradient, known.expected.gradient, rtol=2e-7
        )


def test_the_switched_problem_is_its_closed_form():
    """Its solution obeys y' = -k y + drive after the switch and joins continuously."""
    after = problems._switched(math.nextafter(1.0, 2.0))
    assert after == pytest.approx(problems._switched(1.0))
    slope = (problems._switched(1.5 + 1e-6) - problems._switched(1.5 - 1e-6)) / 2e-6
    assert slope == pytest.approx(-2 * problems._switched(1.5) + 100, rel=1e-6)


def test_cells_cover_every_method_sensitivity_and_mode():
    torch = registry.adapter("torchdiffeq")
    chosen = cells(torch)
    assert {cell.method for cell in chosen} == {method.name for method in torch.methods}
    assert {(cell.sensitivity, cell.mode) for cell in chosen} == {
        (sensitivity, mode) for sensitivity in torch.sensitivities for mode in torch.modes
    }
    landing = [cell.method for cell in chosen if cell.saving == LANDING]
    assert landing == [next(method.name for method in torch.methods if method.lands)]
    ways = sum(len(method.savings) for method in torch.methods)
    assert len(cells(torch, everything=True)) == ways * len(torch.sensitivities) * len(torch.modes)


def test_implicit_methods_get_the_stiff_problem_and_fixed_ones_no_pole():
    assert "stiff" in case(SCIPY, dataclasses.replace(RK45, method="bdf")).tasks
    assert "stiff" not in case(SCIPY, RK45).tasks
    torch = registry.adapter("torchdiffeq")
    fixed = case(torch, Cell("conformance", "torchdiffeq", "implicit_adams", "discrete", "eager"))
    assert set(fixed.tasks) == {"nonstiff", "switched"}


def test_each_cell_is_checked_in_a_process_of_its_own():
    results = list(check(SCIPY, [RK45], timeout_s=120))
    assert {result.status for result in results} == {Status.PASSED}
    assert {result.cell for result in results} == {"rk45/forward/eager"}
    assert len(results) == 11


def test_a_process_that_dies_or_hangs_is_a_failed_check():
    dies = dataclasses.replace(SCIPY, program="no_such_module_anywhere:build")
    (result,) = check(dies, [RK45], timeout_s=60)
    assert result.status is Status.FAILED
    assert "No module named 'no_such_module_anywhere'" in result.message
    (result,) = check(SCIPY, [RK45], timeout_s=0.01)
    assert result.message == "no answer within 0.01 s"


def test_a_cell_that_the_declaration_refuses_is_not_started():
    def refuse(_cell: Cell, _facts: ProblemTraits) -> str | None:
        return "not here"

    (result,) = check(dataclasses.replace(SCIPY, refusal=refuse), [RK45])
    assert (result.status, result.message) == (Status.REFUSED, "not here")


def test_a_task_can_be_had_of_a_cell_that_is_refused():
    refusing = dataclasses.replace(SCIPY, refusal=lambda _cell, _facts: "broken at the last trial")
    assert not case(refusing, RK45).tasks
    assert known_task(refusing, RK45) == known_task(SCIPY, RK45)


def test_a_problem_that_the_declaration_refuses_is_left_out():
    def refuse(_cell: Cell, facts: ProblemTraits) -> str | None:
        return "not with breakpoints" if facts.n_breakpoints else None

    refused, *others = check(dataclasses.replace(SCIPY, refusal=refuse), [RK45])
    assert (refused.name, refused.status) == ("refusal of switched", Status.REFUSED)
    assert refused.message == "not with breakpoints"
    assert others
    assert {one.status for one in others} == {Status.PASSED}
    assert not any("switched" in one.name for one in others)
