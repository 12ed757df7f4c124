"""The TensorFlow adapter. What needs TensorFlow runs in one process of its own and is judged here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from adapters.findings import findings
from needs import skip_without

from sciml_bench.adapters.base import ProblemTraits
from sciml_bench.adapters.tensorflow import ADAPTER
from sciml_bench.record.task import Cell


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The findings of :mod:`adapters.in_tensorflow`."""
    skip_without("tensorflow")
    return findings("in_tensorflow.py")


@pytest.mark.parametrize(
    ("method", "mode"),
    [
        ("bdf", "xla"),
        ("dormand_prince", "graph"),
        ("rk4", "xla"),
        ("rk4", "graph"),
        ("rk4", "unrolled"),
    ],
)
def test_methods_are_right_for_a_right_hand_side_that_depends_on_time(found, method, mode):
    """y' = p t**3: the loss is y(0.5)**2 + y(2)**2, so d(loss)/dp = 2 y(0.5)/64 + 8 y(2) with y(t) = 1 + p t**4/4."""
    outcome, message = found["methods"][f"{method} {mode}"]
    assert outcome == "ok", message
    assert float(message.strip("[]")) == pytest.approx(2 * (1 + 1 / 64) / 64 + 8 * (1 + 4), rel=1e-4)


@pytest.mark.parametrize("kind", ["dormand_prince xla", "dormand_prince graph", "bdf xla", "rk4 graph"])
def test_a_solution_that_becomes_infinite_is_a_typed_failure(found, kind):
    """Under XLA the library's own solver loops for ever here."""
    assert found["blow_up"][kind][0] in ("nonfinite", "max_steps", "step_underflow")


def test_a_stiff_equation_exhausts_an_explicit_method(found):
    outcome, message = found["stiff"]
    assert outcome == "max_steps"
    assert "maximum number of steps" in message


def test_what_xla_refuses_is_unsupported(found):
    outcome, message = found["uncompilable"]
    assert outcome == "unsupported"
    assert "XLA cannot compile" in message


@pytest.mark.parametrize("method", ["bdf", "dormand_prince", "rk4"])
def test_gradients_are_right(found, method):
    assert found["errors"][method] < 1e-4


def test_bdf_is_given_tolerances_that_suit_it(found):
    """With an absolute tolerance as large as the relative one it takes some 1000 evaluations for as many digits."""
    digits, evaluations = found["bdf_work"]
    assert digits > 6.4
    assert evaluations < 920


def test_fixed_steps_are_the_same_in_a_loop_and_written_out(found):
    gradients = found["fixed_gradients"]
    assert gradients["graph"] == pytest.approx(np.array(gradients["unrolled"]), rel=1e-12)
    assert gradients["xla"] == pytest.approx(np.array(gradients["unrolled"]), rel=1e-12)


def test_too_many_fixed_steps_are_not_tried(found):
    outcome, message = found["too_many"]
    assert outcome == "max_steps"
    assert "10000000 fixed steps; more than" in message


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (Cell("any", "tensorflow", "rk4", "backsolve", "xla"), "differentiated as it stands"),
        (Cell("any", "tensorflow", "bdf", "discrete", "xla"), "not by steps"),
        (Cell("any", "tensorflow", "dormand_prince", "backsolve", "unrolled"), "cannot be written out"),
    ],
)
def test_what_fixed_and_adaptive_steps_cannot_do_is_refused(cell, words):
    assert words in (ADAPTER.refusal(cell, ProblemTraits("any", "nonstiff", 2, 4, 0, "parameters", False)) or "")


def test_each_component_has_its_own_absolute_tolerance(found):
    assert max(found["component_errors"]) < 1e3


def test_an_adjoint_solve_that_fails_is_not_a_gradient(found):
    """The library drops the status of the solve backwards and returns what it has."""
    assert found["failed_adjoint"][0] == "nonfinite"
    assert "backwards in time failed" in found["failed_adjoint"][1]


def test_a_tolerance_sweep_traces_once(found):
    first, *later = found["traces"]
    assert first > 0
    assert later == [first, first]
