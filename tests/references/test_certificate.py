"""Certificates, the files they are kept in, and the check that catches a planted error."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from flint import arb
from stubs.small_problems import ORBIT, ROBERTSON, Load

from sciml_bench.errors import StoreError
from sciml_bench.references import store
from sciml_bench.references.attempts import opening_settings
from sciml_bench.references.build import SOLUTION_ONLY
from sciml_bench.references.certificate import certify
from sciml_bench.references.check import _other_settings, check
from sciml_bench.references.confirmation.agreement import COMPARE_BITS, slope_digits
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.numbers import precision
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.references.store import StoredReference, read, reference_path, stored_reference, write
from sciml_bench.spec import catalog, load_problem
from sciml_bench.spec.model import Problem


def made(problem: Problem) -> StoredReference:
    return stored_reference(problem, certify(Case(problem)))


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> StoredReference:
    path = tmp_path_factory.mktemp("stored") / "problem.toml"
    path.write_text(ROBERTSON)
    return made(load_problem(path))


def test_twenty_digits_of_the_solution_and_twelve_of_the_gradient(stored: StoredReference):
    assert min(stored.solution_digits) >= 20
    assert all(digits >= 12 for digits in stored.gradient_digits if digits > 0)
    assert stored.solution[-1][0].startswith("0.01786592114209946496528")
    runs = stored.certificate["solution"]
    assert runs[0]["stages"] != runs[1]["stages"]
    assert runs[0]["steps"] != runs[1]["steps"]
    assert stored.certificate["invariant_digits"]["mass"] > 25


def test_an_exact_solution_is_part_of_the_certificate(orbit: Problem):
    assert made(orbit).certificate["exact_solution_digits"] > 20


@pytest.mark.parametrize(
    ("right", "wrong", "named"),
    [("x**2 + v**2", "x**2 + 1.001*v**2", "energy"), ('x = "cos(w*t)"', 'x = "cos(1.0001*w*t)"', "exact solution")],
)
def test_what_contradicts_the_file_is_not_certified(load: Load, right: str, wrong: str, named: str):
    with pytest.raises(ReferenceFailure, match=f"no reference is certified.*'{named}'"):
        certify(Case(load(ORBIT.replace(right, wrong))))


def test_a_gradient_with_respect_to_the_initial_state(load: Load):
    text = ORBIT.replace("[parameters]\nw = 1.7", "[constants]\nw = 1.7")
    reference = made(load(text))
    assert reference.theta == ["x(0)", "v(0)"]
    # The loss is the energy at three times, so its slope is six times the initial state.
    assert float(reference.gradient[0]) == pytest.approx(6.0, rel=1e-14)
    # The other component cancels, and two computations have no digits of it in common: it is zero except for rounding.
    assert min(reference.gradient_digits) >= 12
    assert reference.gradient[1] == "0"
    assert reference.gradient_negligible[0] == 0
    assert 0 < reference.gradient_negligible[1] < 1e-17 * float(reference.loss)
    assert reference.certificate["gradient"]["zero_but_for_rounding"] == ["v(0)"]


def test_many_parameters_are_checked_along_random_directions(load: Load):
    text = ORBIT.replace("w = 1.7", "w = 1.7\nk = [" + ", ".join(["0.1"] * 200) + "]")
    text = text.replace('"-w*x"', '"-w*x*(1 + sum(k) - 20)"')
    reference = made(load(text))
    assert len(reference.gradient) == 201
    assert reference.certificate["gradient"]["kind"].startswith("random")
    assert "largest and smallest" in reference.certificate["gradient"]["kind"]
    # The loss is an energy that w does not change.
    assert (reference.gradient[0], reference.certificate["gradient"]["zero_but_for_rounding"]) == ("0", ["w"])
    assert min(reference.gradient_digits) >= 12


def test_a_limit_of_time_is_kept(robertson: Problem):
    with pytest.raises(ReferenceFailure, match=r"given up at its limit of 0\.001 s of processor time"):
        certify(Case(robertson), limit_s=1e-3)


def test_a_file_is_read_as_it_was_written(robertson: Problem, stored: StoredReference):
    path = write(stored, reference_path(robertson))
    assert read(path, robertson) == stored
    assert path.name == "problem.reference.json"


def test_a_changed_file_is_refused(robertson: Problem, stored: StoredReference):
    path = write(stored, reference_path(robertson))
    path.write_text(path.read_text().replace(stored.solution[-1][0][:12], stored.solution[-1][0][:11] + "9"))
    with pytest.raises(StoreError, match="changed after it was written"):
        read(path, robertson)


def test_a_stale_file_is_refused(load: Load, robertson: Problem, stored: StoredReference):
    path = write(stored, reference_path(robertson))
    with pytest.raises(StoreError, match=r"stale.*reference compute .*problem.toml"):
        read(path, load(ROBERTSON.replace("0.04", "0.05")))


def test_a_file_certified_with_other_invariants_is_stale(load: Load, robertson: Problem, stored: StoredReference):
    path = write(stored, reference_path(robertson))
    with pytest.raises(StoreError, match=r"stale: its \[invariants\] or \[exact\] were others"):
        read(path, load(ROBERTSON.replace('"y1 + y2 + y3"', '"y1 + y2"')))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 1, "content_sha256": ""}', "\x00"])
def test_a_file_that_is_no_reference_is_refused(robertson: Problem, text: str):
    path = reference_path(robertson)
    path.write_text(text)
    with pytest.raises(StoreError, match="not a readable reference"):
        read(path, robertson)


def test_another_schema_is_refused(robertson: Problem, stored: StoredReference):
    path = reference_path(robertson)
    content = json.loads(stored.to_json())
    path.write_text(json.dumps({**content, "schema": 99}))
    with pytest.raises(StoreError, match="its schema is 99"):
        read(path, robertson)


def test_a_check_passes_on_what_was_computed(robertson: Problem, stored: StoredReference):
    found = check(robertson, stored)
    assert found.complaints == ()
    assert found.solution_digits > 19
    assert found.stages not in [run["stages"] for run in stored.certificate["solution"]]


def test_a_check_computes_with_the_digits_that_a_certificate_took(robertson: Problem, stored: StoredReference):
    """Where a component ends far below its terms, fewer do not show it."""
    first, second = stored.certificate["solution"]
    runs = [{**first, "arithmetic_digits": 67}, {**second, "arithmetic_digits": 74}]
    dear = replace(stored, certificate={**stored.certificate, "solution": runs})
    assert _other_settings(dear).digits not in (67, 74)
    assert _other_settings(dear).digits > 67


def test_a_check_catches_one_parameter_changed_in_its_fifteenth_digit(load: Load, robertson: Problem):
    planted = made(load(ROBERTSON.replace("k1 = 0.04", "k1 = 0.0400000000000001")))
    complaints = check(robertson, planted).complaints
    assert any(complaint.startswith("y1 at t = 100000 agrees to 1") for complaint in complaints)


def test_a_check_catches_a_wrong_gradient(robertson: Problem, stored: StoredReference):
    value = stored.gradient[1]
    wrong = [stored.gradient[0], value[:8] + ("1" if value[8] != "1" else "2") + value[9:], stored.gradient[2]]
    complaints = check(robertson, replace(stored, gradient=wrong)).complaints
    assert any("d loss / d k2" in complaint for complaint in complaints)


def test_a_reference_is_written_whole_or_not_at_all(stored: StoredReference, tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        write(stored, tmp_path / "file" / "x.reference.json")
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize("name", catalog.equation_names())
def test_stored_references_of_the_catalog_fit_their_problems(name: str):
    problem = catalog.load(name)
    if problem.tier == "heavy" and not reference_path(problem).is_file():
        return
    stored = store.read(reference_path(problem), problem)
    assert stored.problem == name
    assert min(stored.solution_digits) >= 20
    assert all(digits >= 12 for digits in stored.gradient_digits if digits > 0)
    alone = f" {SOLUTION_ONLY}" * (not stored.gradient)
    assert stored.command == f"sciml-bench reference compute {name}{alone}"
    assert stored.gradient or problem.tier == "heavy"


@pytest.mark.slow
@pytest.mark.parametrize("name", catalog.equation_names())
def test_stored_references_of_the_catalog_can_be_computed_again(name: str):
    problem = catalog.load(name)
    if reference_path(problem).is_file():
        assert check(problem, store.read(reference_path(problem), problem)).complaints == ()


DECAYS = """
spec = 1
name = "decays"
title = "Decays at many rates"

[time]
t1 = 5
save = { times = [1, 5] }

[constants]
rate = [RATES]

[states]
y = { size = 44, initial = 1, scale = 1 }

[equations]
y = "-rate*y"
"""


def test_small_values_of_a_field_take_a_lower_floor_and_no_smaller_steps(load: Load):
    problem = load(DECAYS.replace("RATES", ", ".join(str(k % 9) for k in range(44))))
    found = certify(Case(problem), gradients=False)
    assert found.row_digits.min() >= 19
    runs = found.evidence["solution"]
    assert isinstance(runs, list)
    opening = opening_settings(Case(problem))
    assert all(run["floor"] < 1e-8 * first.floor for run, first in zip(runs, opening, strict=True))
    assert all(run["tail"] > 0.1 * first.tail for run, first in zip(runs, opening, strict=True))


AT_MINIMUM = """\
spec = 1
name = "at-minimum"
title = "The loss is zero"

[time]
t0 = 0
t1 = 1
save = { times = [1] }

[parameters]
k = 1

[states]
y = 0

[equations]
y = "k"

[loss]
target = TARGET
"""


@pytest.mark.parametrize(("target", "least", "most"), [("1", 0, 0), ("1.001", 20, 32), ("0.999", 20, 32)])
def test_a_gradient_of_residuals_that_are_rounding_has_no_digits(tmp_path: Path, target: str, least: int, most: int):
    """Both of its computations may round alike, and then agree to all digits on a number that means nothing."""
    path = tmp_path / "problem.toml"
    path.write_text(AT_MINIMUM.replace("TARGET", target))
    case = Case(load_problem(path))
    with precision(COMPARE_BITS):
        found = slope_digits(case, [[1 + arb("1e-57").mid()]], [1.0])
    assert least <= found <= most
