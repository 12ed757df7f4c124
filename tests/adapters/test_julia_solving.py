"""The Julia adapter with a real Julia, in one process of its own. Run with ``-m julia``."""

from __future__ import annotations

import os
from typing import Any

import pytest
from adapters.findings import findings
from adapters.real_julia import LIMIT_S, NEEDED, QUICKLY_COMPILED

from sciml_bench.adapters import conformance, registry
from sciml_bench.adapters.julia import installation
from sciml_bench.record.task import Cell

pytestmark = NEEDED

ADAPTER = registry.adapter("julia")


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The findings of :mod:`adapters.in_julia`."""
    variables = installation.variables(os.environ) | QUICKLY_COMPILED
    return findings("in_julia.py", timeout_s=LIMIT_S, **variables)


def test_gradients_are_right(found):
    for sensitivity, error in found["lotka_volterra"].items():
        assert error < 1e-6, sensitivity
    assert found["robertson_gradient"] < 1e-6
    assert found["brusselator_gradient"] < 1e-3


def test_gradients_through_events_and_algebraic_equations_are_right(found):
    for name, error in (found["events"] | found["algebraic"]).items():
        assert error < 1e-5, name


def test_an_event_ends_a_solve_between_a_computed_start_and_an_observed_loss(found):
    # The derivative of an event's time is off by some 1e-8, and what is left of it here by a hundred times as much.
    assert max(found["stone"]) < 1e-5
    assert max(found["stones"]) < 1e-5


def test_each_component_has_its_own_absolute_tolerance(found):
    assert max(found["robertson_components"]) < 1e3


def test_one_saved_time_is_one_row(found):
    assert found["one_saved_time"] == [[pytest.approx(2.0, rel=1e-6)]]


def test_both_sides_of_the_bridge_are_timed(found):
    bridge = found["bridge"]
    for outside, inside in zip(bridge["outside_ns"], bridge["inside_ns"], strict=True):
        assert 0 < inside < outside


def test_the_first_call_compiles_and_the_others_do_not(found):
    bridge = found["bridge"]
    assert bridge["compile_ns"][0] > 0
    assert bridge["compile_ns"][1:] == [0, 0]
    assert bridge["traces"] == 1
    assert bridge["phases"]["solve_compile"] == bridge["compile_ns"][0]
    assert bridge["phases"]["gradient_compile"] == 0


def test_versions_and_threads_are_read_back(found):
    versions = found["bridge"]["versions"]
    assert versions["juliacall"] == versions["PythonCall"]
    assert versions["julia"].startswith("1.")
    assert {"threads_julia", "threads_blas", "OrdinaryDiffEqTsit5"} <= set(versions)


def test_a_solution_that_becomes_infinite_is_a_typed_failure(found):
    for method, (outcome, message) in found["blow_up"].items():
        assert outcome in ("max_steps", "step_underflow"), (method, message)
        assert "Julia's solver returned" in message


def test_an_exception_has_julias_own_words(found):
    kind, message = found["wrong"]
    assert kind == "JuliaException"
    assert "no_such_name" in message
    assert found["syntax"][0] == "JuliaException"


def test_zygote_is_refused_on_a_field(found):
    outcome, message = found["zygote_on_a_field"]
    assert outcome == "unsupported"
    assert "ZygoteVJP" in message


#: One of each kind: each is a process that compiles for minutes on a busy machine. `sciml-bench adapter check julia`
#: takes them all.
KINDS = (
    "tsit5/forward/compiled", "tsit5/backsolve-reversediff/in-place", "tsit5/interpolating-zygote/compiled",
    "rodas5p/forward/compiled", "cvode_bdf/forward/compiled",
)  # fmt: skip


def cells() -> list[Cell]:
    """The cells of the conformance suite that are of one of the kinds."""
    return [c for c in conformance.cells(ADAPTER) if f"{c.method}/{c.sensitivity}/{c.mode}" in KINDS]


def test_every_kind_is_a_cell_of_the_suite():
    assert {f"{cell.method}/{cell.sensitivity}/{cell.mode}" for cell in cells()} == set(KINDS)


@pytest.mark.parametrize("cell", cells(), ids=lambda cell: cell.label)
def test_conformance(cell, monkeypatch):
    for name, value in QUICKLY_COMPILED.items():
        monkeypatch.setenv(name, value)
    results = list(conformance.check(ADAPTER, [cell], timeout_s=LIMIT_S))
    assert results
    assert [(r.name, r.message) for r in results if r.status == "failed"] == []
