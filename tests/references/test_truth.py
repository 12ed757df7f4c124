"""Which truth a problem gets, and what is said about it."""

from __future__ import annotations

import itertools
import math
import time
from pathlib import Path
from typing import Any

import pytest
from stubs.small_problems import ORBIT, Load

from sciml_bench.errors import StoreError
from sciml_bench.references import batch_certificate, build
from sciml_bench.references.certificate import Certified, certify
from sciml_bench.references.cost import describe_s, estimate_s
from sciml_bench.references.engine.case import Case
from sciml_bench.references.failures import LimitReached, ReferenceFailure
from sciml_bench.references.store import cache_path, reference_path, stored_reference, write
from sciml_bench.references.truth import compute_apart, truth
from sciml_bench.spec import catalog
from sciml_bench.spec.model import Problem

PUBLISHED = """
[[published]]
t = 3
values = { x = 0.37797774, v = 0.92581468 }
digits = 8
source = "a table"
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def plain(text: str) -> str:
    """Without its exact solution."""
    return text.split("[exact]")[0]


def test_a_stored_reference_comes_first(orbit: Problem):
    write(stored_reference(orbit, certify(Case(orbit))), reference_path(orbit))
    found = truth(orbit, affordable_s=0)
    assert found is not None
    assert found.kind == "certified"
    assert found.rows == (0, 1, 2)
    assert min(found.solution_digits) >= 20
    assert found.gradient is not None
    # The loss is an energy that the parameter does not change: its derivative cancels, and is known to do so.
    assert found.gradient == (0.0,)
    assert found.gradient_digits[0] >= 12


def test_a_stale_reference_is_never_used(load: Load, orbit: Problem):
    write(stored_reference(orbit, certify(Case(orbit))), reference_path(orbit))
    with pytest.raises(StoreError, match="stale"):
        truth(load(ORBIT.replace("1.7", "1.8")))


def test_an_affordable_reference_is_announced_computed_and_kept(orbit: Problem):
    said: list[str] = []
    found = truth(orbit, announce=said.append)
    assert found is not None
    assert found.kind == "certified"
    assert len(said) == 1
    assert "computing a certified one, about" in said[0]
    assert cache_path(orbit).is_file()
    assert not reference_path(orbit).exists()
    assert truth(orbit, affordable_s=0) == found


def test_what_is_too_dear_is_said_and_the_exact_solution_stands_in(orbit: Problem):
    said: list[str] = []
    found = truth(orbit, affordable_s=1e-9, announce=said.append)
    assert found is not None
    assert found.kind == "exact"
    assert found.solution[-1] == pytest.approx((0.377977742713, 0.925814682328), abs=1e-8)
    assert "is not computed here: about 1 s of processor time" in said[0]
    assert f"`sciml-bench reference compute {orbit.path}`" in said[0]


def test_published_digits_cover_the_times_they_are_for(load: Load):
    found = truth(load(plain(ORBIT) + PUBLISHED), affordable_s=0)
    assert found is not None
    assert (found.kind, found.rows, found.solution_digits) == ("published", (2,), (8.0, 8.0))
    assert found.solution == ((0.37797774, 0.92581468),)


def test_published_digits_of_some_components_are_those_of_these(load: Load):
    partial = PUBLISHED.replace("x = 0.37797774, ", "") + PUBLISHED.replace("t = 3", "t = 2").replace(
        ", v = 0.92581468", ""
    ).replace("0.37797774", "-0.96679819258").replace("digits = 8", "digits = 11")
    found = truth(load(plain(ORBIT) + partial), affordable_s=0)
    assert found is not None
    assert found.rows == (1, 2)
    assert found.solution == ((-0.96679819258, None), (None, 0.92581468))
    assert found.solution_digits == (11.0, 8.0)


@pytest.mark.parametrize(("name", "known"), [("beam", 10), ("medical-akzo-nobel", 10), ("kuramoto-sivashinsky", 4)])
def test_published_tables_of_some_components_are_used(name: str, known: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sciml_bench.references.truth.find", lambda _problem: None)
    problem = catalog.load(name)
    found = truth(problem, affordable_s=0)
    assert found is not None
    assert found.kind == "published"
    assert found.rows == (len(problem.save_times) - 1,)
    values = dict(zip(problem.state_labels, found.solution[0], strict=True))
    assert sum(value is not None for value in values.values()) >= known
    for label, (value, digits) in problem.published[0].values.items():
        assert values[label] == float(value)
        assert found.solution_digits[problem.state_labels.index(label)] == digits


def test_the_last_resort_is_double_precision(load: Load):
    problem = load(plain(ORBIT))
    assert truth(problem, affordable_s=0) is None
    found = truth(problem, affordable_s=1e-9, announce=lambda _line: None)
    assert found is not None
    assert found.kind == "double"
    assert len(found.rows) == 3
    assert 9 < min(found.solution_digits) <= 14
    assert found.solution[-1] == pytest.approx((0.377977742713, 0.925814682328), abs=1e-8)


def test_a_problem_that_blows_up_has_no_truth_and_says_why(load: Load):
    text = 'spec = 1\nname = "burst"\ntitle = "Burst"\n[time]\nt1 = 2\n[states]\ny = 1\n[equations]\ny = "y**2"\n'
    said: list[str] = []
    assert truth(load(text), announce=said.append) is None
    assert "not scored" in said[-1]


def test_what_the_engine_cannot_evaluate_falls_back(load: Load):
    text = plain(ORBIT).replace('v = "-w*x"', 'v = "where(x > 0, -w*x, -w*x*(1 + x**2))"')
    said: list[str] = []
    found = truth(load(text), announce=said.append)
    assert found is not None
    assert found.kind == "double"
    assert any("state" in line and "x" in line for line in said), said


def test_the_estimate_is_of_the_right_order(orbit: Problem):
    assert 0.01 < estimate_s(Case(orbit)) < 60


def test_the_estimate_is_counted_not_measured(orbit: Problem, monkeypatch: pytest.MonkeyPatch):
    calm = estimate_s(Case(orbit))
    ticks = itertools.count(0.0, 1000.0)
    for clock in ("time", "monotonic", "perf_counter", "process_time"):
        monkeypatch.setattr(time, clock, lambda: next(ticks))
    assert estimate_s(Case(orbit)) == calm


def test_a_problem_that_would_take_for_ever_costs_no_more_to_estimate(load: Load):
    text = plain(ORBIT).replace("w = 1.7", "w = 1e9")
    assert estimate_s(Case(load(text))) == math.inf
    assert "too long" in describe_s(math.inf)


def test_the_limit_is_of_processor_time_and_says_how_far_it_got(robertson: Problem):
    with pytest.raises(LimitReached, match=r"its limit of 0\.01 s of processor time \(.* t = [\d.e+-]+\)"):
        certify(Case(robertson), limit_s=0.01)


def test_time_that_others_use_strikes_no_limit(orbit: Problem, monkeypatch: pytest.MonkeyPatch):
    ticks = itertools.count(0.0, 1000.0)
    for clock in ("time", "monotonic", "perf_counter"):
        monkeypatch.setattr(time, clock, lambda: next(ticks))
    assert float(certify(Case(orbit), limit_s=100.0).row_digits.min()) > 20


def test_a_solution_is_kept_where_only_its_gradient_is_not_certified(orbit: Problem, monkeypatch: pytest.MonkeyPatch):
    certified = batch_certificate.certified

    def refused(problem: Problem, say: Any, limit_s: float, gradients: bool, proof_s: float) -> Certified:
        if gradients:
            raise ReferenceFailure("adjoint and differences disagree")
        return certified(problem, say, limit_s, gradients, proof_s)

    monkeypatch.setattr(build, "certified", refused)
    stored, missing = build.make(orbit)
    assert "adjoint and differences disagree" in missing
    assert "solution is certified" in missing
    write(stored, reference_path(orbit))
    found = truth(orbit, affordable_s=0)
    assert found is not None
    assert found.kind == "certified"
    assert found.gradient is None
    assert min(found.solution_digits) > 20


def test_what_has_no_certified_solution_either_fails_with_the_first_reason(load: Load):
    text = 'spec = 1\nname = "burst"\ntitle = "Burst"\n[time]\nt1 = 2\n[states]\ny = 1\n[equations]\ny = "y**2"\n'
    with pytest.raises(ReferenceFailure, match="blows up"):
        build.make(load(text))


def test_an_engine_that_dies_is_reported(orbit: Problem, monkeypatch: pytest.MonkeyPatch):
    said: list[str] = []
    monkeypatch.setattr("sciml_bench.references.truth.sys.executable", "/bin/false")
    found = truth(orbit, announce=said.append)
    assert found is not None
    assert found.kind == "exact"
    assert "without reporting a result" in said[-1]


def test_a_computation_that_takes_long_says_how_far_it_is(orbit: Problem, monkeypatch: pytest.MonkeyPatch, tmp_path):
    """A line at most every ten seconds, whatever the engine says."""
    talker = tmp_path / "talker"
    talker.write_text("#!/bin/sh\nfor k in 1 2 3 4; do echo t = $k; done\necho given up >&2\n", encoding="utf-8")
    talker.chmod(0o755)
    monkeypatch.setattr("sciml_bench.references.truth.sys.executable", str(talker))
    ticks = itertools.count(0.0, 4.0)
    said: list[str] = []
    complaint = compute_apart(orbit, tmp_path / "x.json", 60.0, said.append, lambda: next(ticks))
    assert complaint == "given up"
    assert said == ["t = 3, at most 60 s of processor time"]


def test_a_problem_of_the_catalog_without_a_reference_says_why():
    for name in catalog.equation_names():
        header = catalog.header(name)
        assert (header.tier == "heavy") == bool(header.heavy), name
        if not header.heavy:
            assert header.path.with_name(f"{name}.reference.json").is_file(), name
