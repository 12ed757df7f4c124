"""What an enclosure proves of the engine's numbers, and when one is tried."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from flint import arb
from stubs.small_problems import ORBIT, Load

from sciml_bench.references import batch_certificate
from sciml_bench.references.batch_certificate import certified
from sciml_bench.references.certificate import Certified, certify
from sciml_bench.references.confirmation import proof, second_method
from sciml_bench.references.confirmation.proof import FULLY, predicted_steps, prove, proved_digits
from sciml_bench.references.confirmation.second_method import confirm
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.numbers import precision
from sciml_bench.references.engine.radau import solve
from sciml_bench.references.engine.trajectory import Settings, Trajectory
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.references.progress import Watch
from sciml_bench.spec import catalog

QUIET = Watch(lambda _: None, float("inf"))


def followed(case: Case) -> Trajectory:
    problem = case.problem
    return solve(case.dynamics, case.start, problem.t0, problem.save_times, Settings(22, 2e-19, 45))


def test_a_certificate_says_enclosed_where_it_is(load: Load):
    found = certify(Case(load(ORBIT)))
    assert found.evidence["proof"] == "enclosed"
    second = found.evidence["second_method"]
    assert isinstance(second, dict)
    assert "Lohner" in second["method"]
    assert second["digits"] == round(float(found.row_digits.min()), 1) >= 20
    with precision(256):
        for row, digits, time in zip(found.rows, found.row_digits, (1, 2, 3), strict=True):
            truth = (arb("1.7") * time).cos()
            assert abs(row[0] - truth) < arb(10) ** (0.001 - digits[0]) * abs(truth)


@pytest.mark.parametrize("by", ["1e-6", "1e-12", "1e-17", "1e-19"])
def test_an_engine_that_were_wrong_would_be_proved_wrong(load: Load, by: str):
    case = Case(load(ORBIT))
    trajectory = followed(case)
    with precision(256):
        moved = [tuple(value * (1 + arb(by)) for value in row) for row in trajectory.saved]
    with pytest.raises(ReferenceFailure, match=r"a second method \(proved enclosure.*\) agrees with them to"):
        confirm(case, replace(trajectory, saved=moved), 1e-30 * case.scale, QUIET, proof_s=60.0)


@pytest.mark.parametrize("name", ["robertson", "van-der-pol-stiff", "hires"])
def test_what_would_cost_too_much_is_not_tried(monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setattr(proof, "enclose", lambda *_: pytest.fail("an enclosure was begun"))
    case = Case(catalog.load(name))
    assert prove(case, followed(case), 1e-30 * case.scale, 60.0, QUIET) is None


def test_what_it_costs_is_counted_and_bounds_the_steps(load: Load, monkeypatch: pytest.MonkeyPatch):
    case = Case(load(ORBIT))
    trajectory = followed(case)
    least = predicted_steps(case, trajectory) * case.dynamics.operations * proof._OPERATION_S
    assert prove(case, trajectory, 1e-30 * case.scale, 0.99 * least, QUIET) is None
    assert prove(case, trajectory, 1e-30 * case.scale, 10 * least, QUIET) is not None
    # A prediction that is far too low costs what was allowed, and no more.
    monkeypatch.setattr(proof, "predicted_steps", lambda *_: 1.0)
    assert prove(case, trajectory, 1e-30 * case.scale, 0.05 * least, QUIET) is None


def test_a_share_of_the_limit_bounds_it(load: Load, monkeypatch: pytest.MonkeyPatch):
    case, allowed = Case(load(ORBIT)), []
    monkeypatch.setattr(second_method, "prove", lambda *arguments: allowed.append(arguments[3]))
    assert certify(case, limit_s=30.0).evidence["proof"] == "two methods agree"
    certify(case, limit_s=30.0, proof_s=1.0)
    certify(case)
    assert allowed == [5.0, 1.0, 60.0]


def test_digits_are_those_that_are_sure():
    rows = [[arb("1.5"), arb("1e-40"), arb(2)]]
    balls = [[arb("1.5", "1e-12"), arb(0, "1e-35"), arb(2)]]
    digits = proved_digits(balls, rows, np.array([1e-30, 1e-30, 1e-30]))
    assert digits[0, 0] == pytest.approx(12.18, abs=0.01)
    assert digits[0, 1:].tolist() == [FULLY, FULLY]
    outside = proved_digits([[arb("1.5", "1e-3")]], [[arb("1.6")]], np.array([1e-30]))
    assert outside[0, 0] == pytest.approx(1.2, abs=0.01)
    # A value that is called negligible, and an enclosure that allows more: nothing is known of it.
    assert proved_digits([[arb(0, "1e-20")]], [[arb("1e-40")]], np.array([1e-30]))[0, 0] == 0
    assert proved_digits([[arb("nan")]], [[arb(1)]], np.array([1e-30]))[0, 0] == 0


def test_a_batch_is_enclosed_only_where_all_of_it_is(load: Load, monkeypatch: pytest.MonkeyPatch):
    text = ORBIT.partition("[exact]")[0].replace("[states]", "[batch]\nsize = 3\nspread = 0.1\n\n[states]")
    problem = load(text)
    assert certified(problem).evidence["proof"] == "enclosed"
    real, seen = batch_certificate.certify, []

    def second_without(case: Case, *args: object, **kwargs: object) -> Certified:
        seen.append(case)
        return real(case, *args, **{**kwargs, "proof_s": 0.0 if len(seen) == 2 else 60.0})  # type: ignore[arg-type]

    monkeypatch.setattr(batch_certificate, "certify", second_without)
    evidence = certified(problem).evidence
    assert evidence["proof"] == "two methods agree"
    assert "implicit Taylor" in str(evidence["second_method"])
