"""Version 2 of PEtab: experiments of several periods, values that are formulas, and priors within bounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from importing.petab_files import VERSION_2, objective_2, written
from needs import skip_without

from sciml_bench.errors import ProblemError
from sciml_bench.importing.importer import of_petab
from sciml_bench.importing.petab.priors import truncated_prior
from sciml_bench.importing.petab.tables import library
from sciml_bench.references.batch_certificate import certified
from sciml_bench.spec import load_problem

P = np.array([0.5, 2.0, 0.2])


@pytest.fixture(autouse=True)
def _petab() -> None:
    skip_without("petab")


def test_the_objective_and_its_gradient_have_the_closed_form(tmp_path):
    text, files, _ = of_petab(written(tmp_path, VERSION_2), "made")
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    (tmp_path / "made.toml").write_text(text, encoding="utf-8")
    problem = load_problem(tmp_path / "made.toml")
    assert problem.conditions == ("low", "high")
    assert problem.theta_labels == ("k", "factor", "sd")
    assert float(problem.t0) == 0.5
    assert [float(time) for time in problem.breakpoints] == [1.0]
    found = certified(problem)
    assert float(found.loss) == pytest.approx(objective_2(P), rel=1e-13)
    for i, value in enumerate(found.gradient):
        step = 1e-6 * np.eye(3)[i]
        assert float(value) == pytest.approx((objective_2(P + step) - objective_2(P - step)) / 2e-6, rel=1e-7)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"yaml": ("location: model.xml", "location: ../model.xml")}, "outside its folder"),
        ({"yaml": ("language: sbml", "language: bngl")}, "its model is not in SBML"),
        ({"yaml": ("  decay:", "  other: {location: model.xml, language: sbml}\n  decay:")}, "must name one model"),
        ({"yaml": ("observable_files", "extensions: {net: {}}\nobservable_files")}, "the extension 'net'"),
        ({"experiments": ("low\t0.5", "low\t-inf")}, "begin at different times: [0.5, 1.0]"),
        ({"experiments": ("low\t0.5", "low\t0.25")}, "begin at different times: [0.25, 0.5]"),
        ({"experiments": ("\tsmall\nlow", "\ttiny\nlow")}, "an unknown condition 'tiny'"),
        ({"experiments": ("1\tsupplied", "0.5\tsupplied")}, "two conditions of 'low' change 'feed' at 0.5"),
        ({"experiments": ("1\tsupplied", "1\tlarge")}, "the conditions change the state 'A' at 1"),
        ({"measurements": ("a\tlow\t0.5", "a\tnone\t0.5")}, "an unknown experiment 'none'"),
        ({"measurements": ("a\tlow\t0.5", "z\tlow\t0.5")}, "an unknown observable 'z'"),
        ({"measurements": ("a\tlow\t0.5", "a\tlow\t0.2")}, "a measurement is at 0.2, before the start at 0.5"),
        ({"conditions": ("factor + 1", "A + 1")}, "'A' in the column 'A' of the conditions is not a parameter"),
        ({"conditions": ("factor + 1", "factor +")}, "condition table is wrong"),
        ({"parameters": ("0.5\ttrue", "\ttrue")}, "parameter 'k' has no nominalValue"),
        ({"parameters": ("gamma\t2;0.5", "uniform\t1;2")}, "the density 0 at its nominal value 0.5"),
        ({"parameters": ("gamma", "gama")}, "parameter table is wrong"),
        ({"parameters": ("offset\t", "k\t")}, "'k' is listed twice"),
        ({"parameters": ("0.5\ttrue", "0.5\tyes")}, "parameter table is wrong"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, changes: dict[str, tuple[str, str]], message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        of_petab(written(tmp_path, VERSION_2, **changes), "made")
    assert message in str(caught.value)


def test_names_that_are_mapped_to_a_model_are_refused_and_annotations_are_not(tmp_path):
    path = written(tmp_path, VERSION_2, yaml=("observable_files", "mapping_files: [map.tsv]\nobservable_files"))
    (tmp_path / "map.tsv").write_text("petabEntityId\tmodelEntityId\tname\nk\t\tA rate\n", encoding="utf-8")
    of_petab(path, "made")
    (tmp_path / "map.tsv").write_text("petabEntityId\tmodelEntityId\nq\tdecay.feed\n", encoding="utf-8")
    with pytest.raises(ProblemError, match=r"'q' is mapped to 'decay\.feed'"):
        of_petab(path, "made")


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        ("uniform", [1, 6]), ("log-uniform", [1, 6]), ("normal", [2, 3]), ("laplace", [2, 3]), ("log-normal", [1, 2]),
        ("log-laplace", [1, 2]), ("cauchy", [2, 3]), ("chisquare", [3]), ("exponential", [2]), ("gamma", [3, 2]),
        ("rayleigh", [2]),
    ],
)  # fmt: skip
def test_priors_are_the_densities_of_the_library(kind, numbers):
    """At another value than the one from which the constant comes."""
    prior = truncated_prior("a", kind, numbers, (0.5, 5.0), 2.0)
    parameter = library("petab.v2.core").Parameter(
        id="a", lb=0.5, ub=5.0, nominal_value=2.0, estimate=True, prior_distribution=kind, prior_parameters=numbers
    )
    for value in (1.1, 4.0):
        assert prior(value) == pytest.approx(-np.log(parameter.prior_dist.pdf(value)), rel=1e-12)
