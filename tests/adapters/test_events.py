"""Solves and gradients through events, against certified references of the catalog."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adapters.cells import event_errors, source_task
from adapters.findings import findings
from adapters.stone import stone, stone_errors, two_stones
from cases import others_slow
from needs import skip_without

from sciml_bench.adapters import registry
from sciml_bench.adapters.base import ProblemTraits
from sciml_bench.adapters.scipy import events
from sciml_bench.emit import source
from sciml_bench.errors import UsageError
from sciml_bench.record.outcome import Outcome, SolverFailure
from sciml_bench.record.task import SOLVERS, Cell, Point
from sciml_bench.references.store import find
from sciml_bench.spec import catalog
from sciml_bench.spec.model import Problem

PROBLEMS = ("bouncing-ball", "oral-doses", "integrate-and-fire", "stick-slip", "thermostat", "hodgkin-huxley")


def scipy_program(problem: str, method: str) -> Any:
    return scipy_program_of(catalog.load(problem), method)


def scipy_program_of(loaded: Problem, method: str) -> Any:
    cell = Cell(loaded.name, "scipy", method, "forward", "eager")
    return events.EventProgram(source_task(source(loaded, "numpy"), loaded.numbers(), cell))


METHODS = ("rk45", "dop853", "radau", "bdf", "lsoda")
QUICK = [*((problem, "rk45") for problem in PROBLEMS), *(("bouncing-ball", method) for method in METHODS)]


@pytest.mark.parametrize(
    ("problem", "method"), others_slow([(problem, method) for problem in PROBLEMS for method in METHODS], QUICK)
)
def test_scipy_is_right_through_events(problem: str, method: str):
    solution, gradient = event_errors(scipy_program(problem, method), problem)
    assert solution < 1e-5
    assert gradient < 1e-4


@pytest.mark.parametrize("method", ["rk45", "lsoda"])
def test_scipy_ends_at_an_event_between_a_computed_start_and_an_observed_loss(method: str):
    assert max(stone_errors(scipy_program_of(stone(), method))) < 1e-5


@pytest.mark.parametrize("method", ["rk45", "lsoda"])
def test_scipy_solves_conditions_that_have_other_events(method: str):
    assert max(stone_errors(scipy_program_of(two_stones(), method), stones=2)) < 1e-5


def test_events_that_accumulate_end_a_solve(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(events, "MOST_EVENTS", 2)
    program = scipy_program("bouncing-ball", "rk45")
    inputs = program.prepare(np.array([9.81, 0.8]), Point(1e-6, 1e-8))
    with pytest.raises(SolverFailure, match=r"more than 2 events until t = 1\.75") as caught:
        program.solve(inputs)
    assert caught.value.outcome is Outcome.MAX_STEPS


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The findings of :mod:`adapters.in_jax_events`."""
    skip_without("diffrax")
    return findings("in_jax_events.py")


@pytest.fixture(scope="module")
def found_at_length() -> dict[str, Any]:
    skip_without("diffrax")
    return findings("in_jax_events.py", AT_LENGTH="yes")


@pytest.mark.parametrize("problem", PROBLEMS[:2])
def test_diffrax_is_right_through_events(found: dict[str, Any], problem: str):
    solution, gradient = found["errors"][problem]
    assert solution < 1e-5
    assert gradient < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("problem", PROBLEMS[2:])
def test_diffrax_is_right_through_long_series_of_events(found_at_length: dict[str, Any], problem: str):
    solution, gradient = found_at_length["errors"][problem]
    assert solution < 1e-5
    assert gradient < 1e-4


@pytest.mark.parametrize("sensitivity", ["forward", "checkpointed"])
def test_diffrax_solves_conditions_that_have_other_events(found: dict[str, Any], sensitivity: str):
    assert max(found["stones"][sensitivity]) < 1e-6


def test_diffrax_follows_more_events_than_its_first_solve_had(found: dict[str, Any]):
    fewer, more = found["more_events"]
    assert fewer >= 3
    assert more >= 2


@pytest.fixture(scope="module")
def in_torch() -> dict[str, Any]:
    """The findings of :mod:`adapters.in_torch_events`."""
    skip_without("torchdiffeq")
    return findings("in_torch_events.py")


@pytest.mark.parametrize("problem", ["bouncing-ball", "oral-doses"])
def test_torchdiffeq_is_right_through_events_whose_conditions_read_no_parameter(in_torch: dict[str, Any], problem: str):
    solution, gradient = in_torch["errors"][problem]
    assert solution < 1e-5
    assert gradient < 1e-4


def test_torchdiffeq_ends_at_an_event_between_a_computed_start_and_an_observed_loss(in_torch: dict[str, Any]):
    assert max(in_torch["stone"]) < 1e-6


@pytest.mark.parametrize("sensitivity", ["discrete", "backsolve"])
def test_torchdiffeq_solves_conditions_that_have_other_events(in_torch: dict[str, Any], sensitivity: str):
    assert max(in_torch["stones"][sensitivity]) < 1e-6


def test_torchdiffeq_has_no_gradient_by_what_a_condition_reads(in_torch: dict[str, Any]):
    """A defect of the library: should it be mended, take the remark out of the adapter and the documentation."""
    truth = find(catalog.load("thermostat"))
    assert truth is not None
    _, _, lower, upper = in_torch["thermostat"]
    assert abs(float(truth.gradient[2])) > 1
    assert (lower, upper) == (0.0, 0.0)


def test_adapters_take_events_only_with_a_program_for_them():
    facts = ProblemTraits("any", "events", 2, 2, 0, "parameters", False, events=True)
    solvers = [adapter for adapter in registry.adapters().values() if adapter.track == SOLVERS]
    without = [adapter for adapter in solvers if not adapter.event_program]
    assert {adapter.name for adapter in solvers} - {adapter.name for adapter in without} == {
        "casadi",
        "diffrax",
        "julia",
        "scipy",
        "torchdiffeq",
    }
    for adapter in without:
        cell = Cell("any", adapter.name, adapter.methods[0].name, adapter.sensitivities[0], adapter.modes[0])
        assert adapter.why_not(cell, facts) == "its adapter takes no problems with events"


@pytest.mark.parametrize("target", ["numba", "tensorflow", "diffsl", "python"])
def test_targets_without_code_for_events_refuse_them(target: str):
    with pytest.raises(UsageError, match=f"events of 'thermostat' are not emitted for {target}"):
        source(catalog.load("thermostat"), target)


def test_ways_that_stop_at_no_event_are_refused():
    facts = ProblemTraits("any", "events", 2, 2, 0, "parameters", False, n_saved=3, events=True)
    for cell, words in (
        (Cell("any", "scipy", "odeint", "forward", "eager"), "odeint does not look for events"),
        (Cell("any", "scipy", "rk45", "forward", "compiled"), "not emitted for Numba"),
        (Cell("any", "diffrax", "tsit5", "backsolve", "compiled"), "BacksolveAdjoint"),
        (Cell("any", "diffrax", "tsit5-fixed", "forward", "compiled"), "equal steps"),
        (Cell("any", "diffrax", "tsit5", "forward", "compiled", saving="landing"), "not known before the solve"),
    ):
        assert words in (registry.adapter(cell.adapter).why_not(cell, facts) or "")
