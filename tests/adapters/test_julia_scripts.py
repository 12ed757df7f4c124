"""Scripts of Julia cells: Julia's grammar reads them, what has none is named, and a real Julia runs them."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from adapters.real_julia import LIMIT_S
from emit.grammar import tree

from sciml_bench.adapters.julia import installation
from sciml_bench.errors import UsageError
from sciml_bench.planning.script import script_of_cell

CLASHING = """
spec = 1
name = "clashing"
title = "Constants that bear names which a script would take"
[time]
t1 = 1
save = { times = [0.5, 1] }
[constants]
P = [[0, 1], [-1, 0]]
SCALE = [[-1, 0], [0, -2]]
[parameters]
k = 0.7
[states]
y = [1, 0]
[equations]
y = "k*(P @ y) + SCALE @ y"
"""

CELLS = [
    ("lotka-volterra", "vern9/forward/compiled"),
    ("robertson", "rodas5p/forward/compiled"),
    ("hires", "radauiia5/forward/in-place"),
    ("bouncing-ball", "tsit5/forward/compiled"),
    ("thermostat", "tsit5/forward/in-place"),
    ("oral-doses", "tsit5/forward/compiled"),
    # Without parameters.
    ("detest-nonstiff-b1", "tsit5/forward/compiled"),
]


def script(problem: str, cell: str, rtol: float = 1e-7) -> str:
    """The script of a cell of Julia."""
    return script_of_cell(problem, ["julia", *cell.split("/")], rtol)


@pytest.mark.parametrize(("problem", "cell"), CELLS)
def test_scripts_are_julia_and_know_nothing_of_this_package(problem, cell):
    text = script(problem, cell)
    assert not tree(text).has_error
    assert "SciMLBench" not in text
    assert ("ContinuousCallback" in text) == (problem in ("bouncing-ball", "thermostat"))
    assert ("in event.times" in text) == (problem == "oral-doses")


@pytest.mark.parametrize(
    ("problem", "cell", "why"),
    [
        ("lotka-volterra", "tsit5/gauss-reversediff/compiled", "forward gradients alone"),
        ("digits-node", "tsit5/forward/compiled", "computes something around the solve"),
        ("brusselator-2d", "fbdf/forward/in-place", "has fields"),
        ("akzo-nobel-dae", "rodas5p/forward/compiled", "which scripts for julia do not write yet"),
    ],
)
def test_what_has_no_script_is_named(problem, cell, why):
    with pytest.raises(UsageError, match=why):
        script(problem, cell)


@pytest.mark.julia
@pytest.mark.skipif(installation.lacking() is not None, reason=str(installation.lacking()))
@pytest.mark.parametrize(("problem", "cell"), CELLS)
def test_scripts_run_and_agree(problem, cell, tmp_path):
    path = tmp_path / "script.jl"
    path.write_text(script(problem, cell, 1e-8), encoding="utf-8")
    fixed = installation.variables()
    # The packages are dependencies of SciMLBench, whose project names them.
    environment = {**os.environ, **fixed, "JULIA_LOAD_PATH": f"@:{Path(__file__).parents[2] / 'julia_env'}:@stdlib"}
    command = [fixed["PYTHON_JULIACALL_EXE"], f"--project={fixed['PYTHON_JULIACALL_PROJECT']}", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = re.search(r"relative error of the gradient (\S+)", done.stdout)
    assert found is not None
    assert float(found[1]) < 1e-4


def test_names_of_a_model_do_not_clash_with_those_of_its_script(tmp_path):
    path = tmp_path / "clashing.toml"
    path.write_text(CLASHING, encoding="utf-8")
    text = script(str(path), "tsit5/forward/compiled")
    inside, _, after = text.partition("module Model\n")[2].partition("\nend\n\n#")
    assert "const P = " in after
    assert "MATRIX_P" in inside
    assert "Model.rhs!(" in after
