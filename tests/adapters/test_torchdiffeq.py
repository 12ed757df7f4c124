"""The torchdiffeq adapter. What needs PyTorch runs in one process of its own and is judged here."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import pytest
from adapters.findings import findings
from needs import skip_without

from sciml_bench.adapters.base import ProblemTraits
from sciml_bench.adapters.program import BACKWARD_EVALUATIONS
from sciml_bench.adapters.time_grid import fixed_steps
from sciml_bench.adapters.torchdiffeq import ADAPTER, REPOSITORY, SEMINORM, not_released
from sciml_bench.record.task import Cell

FACTS = ProblemTraits("any", "nonstiff", 2, 4, 0, "parameters", False)


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict[str, Any]:
    """The findings of :mod:`adapters.in_torch`."""
    skip_without("torchdiffeq")
    return findings("in_torch.py", TORCHINDUCTOR_CACHE_DIR=str(tmp_path_factory.mktemp("inductor")))


def test_networks_as_functions_are_their_modules(found):
    """Values and first and second derivatives, of a sample, a batch and a grid; weights are those at the call."""
    networks = found["plain_networks"]
    for shape in ("sample", "batch", "grid"):
        assert len(networks[shape]) > 10
        assert max(networks[shape]) < 1e-12
    changed, different = networks["moved"]
    assert changed > 0.01
    assert different < 1e-14
    assert networks["other"] == [1.0]


def test_fixed_steps_follow_the_order():
    assert fixed_steps(4, 1e-4) == 100
    assert fixed_steps(1, 1e-3) == 10_000
    assert fixed_steps(4, 1e-8) == 10 * fixed_steps(4, 1e-4)


def test_a_method_of_the_repository_alone_is_refused_before_anything_starts(monkeypatch, tmp_path):
    """The release on PyPI and the repository both call themselves 0.2.5, so files are looked at, not versions."""
    package = tmp_path / "torchdiffeq"
    (package / "_impl").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('the declaration must not import it')", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "torchdiffeq", raising=False)
    cell = Cell("any", "torchdiffeq", "radauIIA5", "discrete", "eager")
    reason = ADAPTER.refusal(cell, FACTS)
    assert reason is not None
    assert f"pip install {REPOSITORY}" in reason
    assert not_released("dopri5") is None
    (package / "_impl" / "fixed_grid_implicit.py").touch()
    assert ADAPTER.refusal(cell, FACTS) is None


def test_every_method_is_right_for_a_right_hand_side_that_depends_on_time_or_is_refused(found):
    """y' = p t**3: the loss is y(0.5)**2 + y(2)**2, so d(loss)/dp = 2 y(0.5)/64 + 8 y(2) with y(t) = 1 + p t**4/4."""
    expected = 2 * (1 + 1 / 64) / 64 + 8 * (1 + 4)
    assert set(found["methods"]) == {method.name for method in ADAPTER.methods}
    for method in ADAPTER.methods:
        outcome, message = found["methods"][method.name]
        if method.name not in found["installed"]:
            assert (outcome, REPOSITORY in message) == ("unsupported", True)
        elif found["defects"][method.name]:
            assert outcome == "unsupported"
            assert "wrong for right-hand sides that depend on time" in message
        else:
            assert outcome == "ok", (method.name, message)
            accuracy = 2e-3 if method.adaptive or method.order > 1 else 5e-2
            assert float(message.strip("[]")) == pytest.approx(expected, rel=accuracy)


def test_coefficients_that_do_not_fit_are_seen(found):
    """The four-stage-order Gauss method with its first node twice loses its order where time matters."""
    assert found["right_gauss"] < 1e-15
    assert found["wrong_gauss"] == pytest.approx(3**0.5 / 3)
    assert max(found["right_gauss_errors"]) < 1e-15
    coarse, fine = found["wrong_gauss_errors"]
    # An error of a single step that shrinks with h**2 belongs to a method of order 1.
    assert coarse / fine == pytest.approx(4, rel=0.1)


def test_only_gl4_has_coefficients_that_do_not_fit(found):
    assert {name for name, defect in found["defects"].items() if defect} <= {"gl4"}


def test_dependence_on_time_is_seen(found):
    assert (found["time_dependent"], found["autonomous"]) == (True, False)


@pytest.mark.parametrize("kind", ["dopri5", "bosh3", "rk4"])
def test_a_solution_that_becomes_infinite_is_a_typed_failure(found, kind):
    assert found["blow_up"][kind][0] == ("nonfinite" if kind == "rk4" else "step_underflow")


def test_failures_come_through_the_adjoint(found):
    assert found["blow_up_adjoint"][0] == "step_underflow"


def test_a_state_that_is_not_finite_is_typed(found):
    assert found["exploding"][0] in ("nonfinite", "step_underflow")


def test_an_implicit_stage_that_is_not_solved_is_a_failure(found):
    outcome, message = found["not_converging"]
    assert outcome == "step_underflow"
    assert "did not converge" in message


def test_too_many_fixed_steps_are_not_tried(found):
    assert found["too_many_steps"][0] == "max_steps"


def test_messages_of_the_library_are_typed(found):
    assert found["typed"] == {
        "underflow": "step_underflow",
        "non-finite": "nonfinite",
        "max_num_steps": "max_steps",
        "other": "not typed",
        "warning": "step_underflow",
    }


@pytest.mark.parametrize("sensitivity", ADAPTER.sensitivities)
@pytest.mark.parametrize(("precision", "bound"), [("float64", 1e-5), ("float32", 1e-2)])
def test_gradients_are_right_in_both_precisions(found, sensitivity, precision, bound):
    assert found["errors"][f"{sensitivity} {precision}"] < bound


@pytest.mark.parametrize("sensitivity", ["discrete", "backsolve"])
def test_a_compiled_program_is_compiled_once(found, sensitivity):
    first, *later = found["traces"][sensitivity]
    assert first > 0
    assert later == [first, first]


def test_steps_are_counted_anew_for_every_call_where_the_method_tells_of_them(found):
    """Dormand-Prince evaluates twice for its first step and six times for each that it tries."""
    first, second = found["counts"]["dopri5"]
    assert first == second
    tried = (first["n_rhs_evaluations"] - 2) / 6
    assert tried == int(tried)
    assert 0 < first["n_accepted"] <= tried
    assert all(set(counts) == {"n_rhs_evaluations"} for counts in found["counts"]["rk4"])


def test_a_seminorm_saves_evaluations_of_the_backward_solve(found):
    """The forward solve is the same; both count the backward one by itself."""
    plain, semi = (found["backward"][name] for name in ("backsolve", SEMINORM))
    assert plain["n_accepted"] == semi["n_accepted"]
    forward = {counts["n_rhs_evaluations"] - counts[BACKWARD_EVALUATIONS] for counts in (plain, semi)}
    assert len(forward) == 1
    assert 0 < semi[BACKWARD_EVALUATIONS] < plain[BACKWARD_EVALUATIONS]


def test_a_seminorm_is_for_steps_that_errors_decide_on_and_for_parameters():
    reasons = {
        method: ADAPTER.refusal(Cell("any", "torchdiffeq", method, SEMINORM, "eager"), FACTS)
        for method in ("dopri5", "rk4")
    }
    assert reasons["dopri5"] is None
    assert "are fixed" in (reasons["rk4"] or "")
    of_states = dataclasses.replace(FACTS, wrt="initial_state")
    assert "parameters" in (ADAPTER.refusal(Cell("any", "torchdiffeq", "dopri5", SEMINORM, "eager"), of_states) or "")
