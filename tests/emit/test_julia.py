"""Julia source: a real grammar of Julia reads every problem's, and some are held against files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from adapters.stone import stone
from emit import fields_with_networks, networks
from emit.grammar import tree

from sciml_bench.emit import source
from sciml_bench.errors import UsageError
from sciml_bench.spec import catalog, load_problem

GOLDEN = Path(__file__).parent / "data"
KEPT = (
    "robertson",
    "brusselator-2d",
    "kuramoto-sivashinsky",
    "beam",
    "lynx-hare-ude",
    "ffjord-2d",
    "thermostat",
    "robertson-dae",
)


def broken(node: Any) -> list[str]:
    """What the grammar could not read, or had to add."""
    if not node.has_error:
        return []
    own = [f"{node.type} in line {node.start_point[0] + 1}"] if node.is_error or node.is_missing else []
    return own + [found for child in node.children for found in broken(child)]


def functions(node: Any) -> set[str]:
    """The names of the functions that a module defines at its top level."""
    names: set[str] = set()
    for child in node.children:
        text = (child.text or b"").decode()
        if child.type == "function_definition":
            names.add(text.removeprefix("function ").partition("(")[0])
        elif child.type == "assignment" and not text.startswith("const"):
            names.add(text.partition("(")[0])
    return names


#: Models of the conventional track are no equations.
EQUATIONS = [name for name in catalog.names() if catalog.header(name).suite != "conventional"]


@pytest.mark.parametrize("name", EQUATIONS)
def test_the_grammar_reads_every_problem(name):
    problem = catalog.load(name)
    module = tree(source(problem, "julia"))
    assert broken(module) == []
    wanted = {"rhs", "named", "loss"} if problem.networks or problem.latent else {"rhs!", "loss"}
    wanted |= {"initial_state"} if problem.latent else set()
    wanted |= {f"reset__{event.name}" for event in problem.events}
    wanted |= {"dae!"} if problem.algebraic and not problem.latent else set()
    assert wanted <= functions(module)


def test_the_grammar_reads_networks_in_every_use():
    for name, problem in (networks.problems(batched=False) | fields_with_networks.problems()).items():
        text = source(problem, "julia")
        assert broken(tree(text)) == [], name
        assert "rhs!" not in text


def test_networks_beside_sums_over_pairs_are_refused():
    text = networks.VECTOR.replace('u = "2*f(u**3 - 1) - u"', 'u = "f(u) + solve_tridiagonal(u, 4, u, u)"')
    with pytest.raises(UsageError, match="tridiagonal systems, which are not emitted to Julia together"):
        source(networks.problem(text), "julia")


@pytest.mark.parametrize("kind", ["sum_of_squares", "sum_of_magnitudes", "sum"])
@pytest.mark.parametrize(("at", "told"), [("saved", "sum(k -> "), ("end", "ys[end]")])
def test_losses_against_data(tmp_path, kind, at, told):
    (tmp_path / "d.csv").write_text("t,a\n1,0.5\n2,0.75\n", encoding="utf-8")
    path = tmp_path / "p.toml"
    head = 'spec = 1\nname = "p"\ntitle = "p"\n[time]\nt1 = 2\nsave = { spacing = "linear", count = 2 }\n'
    loss = f'[loss]\nkind = "{kind}"\nat = "{at}"\ndata = "d.csv"\n'
    path.write_text(f'{head}[states]\na = 1\n[equations]\na = "-a"\n{loss}', encoding="utf-8")
    text = source(load_problem(path), "julia")
    assert broken(tree(text)) == []
    (line,) = [line for line in text.splitlines() if line.startswith("loss(ys)")]
    assert told in line
    assert ("abs2" in line, "abs," in line) == (kind == "sum_of_squares", kind == "sum_of_magnitudes")


def test_the_text_is_the_same_in_every_process():
    """Sets of symbols have an order that changes with the seed of Python's hashes."""
    command = [sys.executable, "-m", "sciml_bench", "describe", "pleiades", "--code", "julia"]
    texts = {
        subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": str(seed)}, capture_output=True, text=True, check=True
        ).stdout
        for seed in range(3)
    }
    assert len(texts) == 1


def test_what_is_wrong_is_found():
    """The test above would see a missing end, a stray operator and an unclosed bracket."""
    for wrong in ("function rhs!(dy, y, p, t)\n    dy[1] = y[1]\n", "x = 2 *\n", "x = SVector(1.0, 2.0\n"):
        assert broken(tree(wrong))


@pytest.mark.parametrize("name", KEPT)
def test_source_is_as_before(golden, name):
    """A change of the emitter shows as a change of these files, to be read before they are replaced."""
    golden(GOLDEN / f"{name}.jl", source(catalog.load(name), "julia"))


def test_events_beside_computations_around_the_solve_read_parameters_by_name():
    text = source(stone(), "julia")
    module = tree(text)
    assert broken(module) == []
    assert {"when__ground", "reset__ground", "reset__later", "initial_state"} <= functions(module)
    assert "    height = p.height\n    return [height, 0.0, 0.0, 1.0]" in text


@pytest.mark.parametrize("name", ["robertson", "lotka-volterra", "pollution"])
def test_small_systems_have_a_static_form(name):
    assert "rhs" in functions(tree(source(catalog.load(name), "julia")))


@pytest.mark.parametrize("name", ["brusselator-2d", "beam", "kuramoto-sivashinsky"])
def test_fields_have_none(name):
    assert "rhs" not in functions(tree(source(catalog.load(name), "julia")))
