"""PEtab.jl's defaults beside the recommendation: by the size of the problem, in Julia or by the most similar way."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis.advice.test_recommendation import ADVISED, looked
from stubs import doses
from stubs.reported import cell

from sciml_bench.analysis.advice.petab_jl import compared, defaults
from sciml_bench.analysis.advice.recommendation import recommendation
from sciml_bench.record.task import Cell
from sciml_bench.spec import load_problem
from sciml_bench.spec.model import Problem

TEXT = """
spec = 1
name = "many"
title = "Many decays"
[time]
t1 = 1
[parameters]
{parameters}
[states]
{states}
[equations]
{equations}
"""
ROSENBROCK = Cell("robertson", "julia", "rodas5p", "forward", "compiled")
ESDIRK = Cell("robertson", "diffrax", "kvaerno5", "forward", "compiled")


def of_size(folder: Path, n_states: int, n_parameters: int) -> Problem:
    path = folder / "many.toml"
    rates = [f"k{i}" for i in range(n_parameters)]
    path.write_text(
        TEXT.format(
            parameters="\n".join(f"{rate} = 1" for rate in rates),
            states="\n".join(f"y{i} = 1" for i in range(n_states)),
            equations="\n".join(
                f'y{i} = "-({" + ".join(rates) if i == 0 else rates[0]})*y{i}"' for i in range(n_states)
            ),
        ),
        encoding="utf-8",
    )
    return load_problem(path)


@pytest.mark.parametrize(
    ("n_states", "n_parameters", "method"),
    [(15, 20, "rodas5p"), (16, 2, "qndf"), (2, 21, "qndf"), (75, 75, "qndf"), (2, 76, "cvode_bdf")],
)
def test_the_defaults_depend_on_the_size(tmp_path, n_states, n_parameters, method):
    assert defaults(of_size(tmp_path, n_states, n_parameters)).method == method


def test_quantities_of_conditions_are_no_states(tmp_path):
    """The file has two equations, and two quantities that differ between its conditions are states as well."""
    problem = doses.made(tmp_path)
    assert problem.n_states > 2
    assert sum(equation != 0 for equation in problem.equations.values()) == 2


def test_a_measured_way_in_julia_is_named_with_its_cost(tmp_path):
    problem = of_size(tmp_path, 2, 2)
    found = recommendation("many", ADVISED, looked({ESDIRK: 1, ROSENBROCK: 3}))
    line = compared(found, problem)
    assert line.startswith("PEtab.jl takes Rodas5P with forward-mode differentiation by default: julia rodas5p forward")
    assert "times as long as the first way in all." in line


def test_without_julia_the_most_similar_way_is_named(tmp_path):
    problem = of_size(tmp_path, 2, 2)
    explicit, adjoint = cell("tsit5"), cell("kvaerno5")
    found = recommendation("many", ADVISED, looked({explicit: 1, adjoint: 2, ESDIRK: 3}))
    line = compared(found, problem)
    assert "it was not tried. The most similar way here: diffrax kvaerno5 forward compiled, 3.15 ms" in line
    alone = compared(recommendation("many", ADVISED, looked({explicit: 1})), problem)
    assert alone.endswith("by default; it was not tried.")
