"""PEtab problems as problem files: conditions, observables, noise and priors, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from importing.petab_files import objective, written
from importing.sbml_models import TIME, apply, event, of, start
from needs import skip_without

from sciml_bench.cli import exit_codes
from sciml_bench.cli.main import main
from sciml_bench.errors import ProblemError
from sciml_bench.importing.importer import of_petab
from sciml_bench.references.batch_certificate import certified
from sciml_bench.spec import load_problem
from sciml_bench.spec.model import Problem

P = np.array([0.5, 2.0, 0.2])


@pytest.fixture(autouse=True)
def _petab() -> None:
    skip_without("petab")


def imported(folder: Path, **changes: tuple[str, str]) -> Problem:
    return loaded(written(folder, **changes))


def loaded(petab: Path) -> Problem:
    text, files, _ = of_petab(petab, "made")
    for name, content in {**files, "made.toml": text}.items():
        petab.with_name(name).write_text(content, encoding="utf-8")
    return load_problem(petab.with_name("made.toml"))


def refusal(folder: Path, **changes: tuple[str, str]) -> str:
    with pytest.raises(ProblemError) as caught:
        of_petab(written(folder, **changes), "made")
    return str(caught.value)


def test_the_objective_and_its_gradient_have_the_closed_form(tmp_path):
    problem = imported(tmp_path)
    assert problem.conditions == ("low", "high")
    assert problem.theta_labels == ("k", "factor", "sd")
    found = certified(problem)
    assert float(found.loss) == pytest.approx(objective(P), rel=1e-13)
    for i, value in enumerate(found.gradient):
        step = 1e-6 * np.eye(3)[i]
        assert float(value) == pytest.approx((objective(P + step) - objective(P - step)) / 2e-6, rel=1e-7)


def test_conditions_that_no_measurement_uses_and_names_of_the_tables_are_left_out(tmp_path):
    text, files, notes = of_petab(written(tmp_path), "made")
    assert 'k = { value = 0.5, scale = "log10" }\nfactor = 2.0\nsd = { value = 0.2, scale = "log" }' in text
    assert files["made-conditions.csv"] == "condition,feed,A_start\nlow,0.0,1.0\nhigh,0.125,factor\n"
    assert "offset = 0.25" in text
    assert "7" not in text.partition("[parameters]")[2].partition("[states]")[0]
    assert notes == ("the objective includes the priors of 2 parameters",)


def test_one_condition_is_one_trajectory(tmp_path):
    problem = imported(tmp_path, measurements=("\thigh\t", "\tlow\t"), conditions=("low\tLow\t1\t0", "low\tLow\t\t0.5"))
    assert problem.batch.size == 1
    # An empty cell leaves the model's value.
    assert [float(value) for value in problem.y0] == [1.0]


def test_an_empty_cell_leaves_the_initial_value_of_the_model_in_that_condition_alone(tmp_path):
    text, files, _ = of_petab(written(tmp_path, conditions=("low\tLow\t1\t", "low\tLow\t\t")), "made")
    assert files["made-conditions.csv"] == "condition,feed,A_start\nlow,0.0,1.0\nhigh,0.125,factor\n"
    assert 'A = { initial = "A_start"' in text


def test_an_empty_cell_leaves_an_initial_assignment(tmp_path):
    path = written(tmp_path, conditions=("low\tLow\t1\t", "low\tLow\t\t"))
    model = tmp_path / "model.xml"
    assigned = start("A", apply("times", 3, "feed"))
    content, place = model.read_text(encoding="utf-8"), "<listOfReactions>"
    model.write_text(content.replace(place, of("InitialAssignments", assigned) + place), encoding="utf-8")
    text, files, _ = of_petab(path, "made")
    assert files["made-conditions.csv"] == "condition,feed,A_start\nlow,0.0,3*feed\nhigh,0.125,factor\n"
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    (tmp_path / "made.toml").write_text(text, encoding="utf-8")
    assert load_problem(tmp_path / "made.toml").conditions == ("low", "high")


def test_an_event_of_the_model_happens_in_each_condition(tmp_path):
    path, model = written(tmp_path), tmp_path / "model.xml"
    doses = of("Events", event("dose", apply("geq", TIME, 1.5), {"A": apply("plus", "A", "feed")}))
    model.write_text(model.read_text(encoding="utf-8").replace("</model>", f"{doses}</model>"), encoding="utf-8")
    found = certified(loaded(path))
    assert float(found.loss) == pytest.approx(objective(P, 0.125), rel=1e-13)
    for i, value in enumerate(found.gradient):
        step = 1e-6 * np.eye(3)[i]
        differences = (objective(P + step, 0.125) - objective(P - step, 0.125)) / 2e-6
        assert float(value) == pytest.approx(differences, rel=1e-7)


def test_an_observable_may_be_named_in_the_noise(tmp_path):
    problem = imported(tmp_path, observables=("sd*noiseParameter1_b", "sd*b*noiseParameter1_b"))
    assert problem.loss.reads


def test_a_file_that_is_a_link_to_itself_is_refused(tmp_path):
    path = written(tmp_path)
    (tmp_path / "model.xml").unlink()
    (tmp_path / "model.xml").symlink_to("model.xml")
    with pytest.raises(ProblemError, match=r"model\.xml"):
        of_petab(path, "problem")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"yaml": ("format_version: 1", "format_version: 3")}, "its format_version is '3'"),
        ({"yaml": ("[model.xml]", "[../model.xml]")}, "outside its folder"),
        ({"yaml": ("[model.xml]", "[https://example.org/model.xml]")}, "outside its folder"),
        ({"yaml": ("[model.xml]", "[none.xml]")}, "none.xml: the file is missing"),
        ({"yaml": ("[model.xml]", "[model.xml, model.xml]")}, "names 2 SBML files"),
        ({"yaml": ("problems:", "other:")}, "must list one problem"),
        ({"yaml": ("format_version: 1", "format_version: [")}, "it is not YAML"),
        ({"parameters": ("0.5\t1\tpar", "\t1\tpar")}, "parameter 'k' has no nominalValue"),
        ({"parameters": ("parameterScaleNormal", "cauchy")}, "is 'cauchy'"),
        ({"parameters": ("-0.5;0.2", "-0.5;0")}, "with a width"),
        ({"parameters": ("parameterScale", "scale")}, "parameter table is wrong"),
        ({"conditions": ("factor", "unknown")}, "'unknown' in the column 'A' of the conditions is not a parameter"),
        ({"conditions": ("feed", "food")}, "a column 'food', which is not in the model"),
        ({"conditions": ("feed", "k")}, "'k' is estimated, and a column of the conditions"),
        ({"measurements": ("c\tlow", "d\tlow")}, "measurement table is wrong"),
        ({"measurements": ("0.7\t1\t", "0.7\tinf\t")}, "of the steady state"),
        ({"measurements": ("\t1\t1\tsd", "\t1\t\tsd")}, "observableParameter1_a"),
        ({"observables": ("A + time", "A + tim")}, "'tim' is neither in the model nor a parameter"),
        ({"observables": ("A + time", "A + (time")}, "observable table is wrong"),
        ({"observables": ("A + time", "b + time")}, "the formula of 'b' names 'b'"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, changes: dict[str, tuple[str, str]], message: str) -> None:
    assert message in refusal(tmp_path, **changes)


def test_the_command_writes_the_files_next_to_the_problem(tmp_path, capsys):
    target = tmp_path / "decay.toml"
    assert main(["import", str(written(tmp_path)), "-o", str(target)]) == exit_codes.OK
    assert load_problem(target).conditions == ("low", "high")
    assert (tmp_path / "decay-measurements.csv").is_file()
    assert "the priors of 2 parameters" in capsys.readouterr().err
    assert main(["import", str(tmp_path / "problem.yaml")]) == exit_codes.USAGE


def test_a_problem_is_described_as_it_is(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["describe", str(written(tmp_path))]) == exit_codes.OK
    assert "one for each condition: low, high" in capsys.readouterr().out
