"""What Julia modules compute around a solve: the grammar of Julia reads it, and all of it is held against files."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
import sympy
from emit.grammar import tree
from stubs import doses
from stubs.latents import controlled, latent, stochastic
from stubs.measured import measured

from sciml_bench.emit import source
from sciml_bench.errors import UsageError
from sciml_bench.spec import catalog
from sciml_bench.spec.model import Problem, symbol

GOLDEN = Path(__file__).parent / "data" / "around"
SIZES = {"autoencoder": 2, "classifier": 3, "parameters": 1}
DRIVEN = ("hermite", "linear", "stochastic")
CATALOG = ("digits-node", "latent-ode", "ffjord-moons", "neural-cde", "neural-sde")


def made(folder: Path, name: str) -> Problem:
    """A problem by its name, of the catalog or a small one; paths through data are named by their interpolation."""
    if name in CATALOG:
        return catalog.load(name)
    if name in SIZES:
        return latent(folder, name, SIZES[name])
    if name in ("measured", "doses"):
        return measured(folder) if name == "measured" else doses.made(folder)
    return stochastic(folder, 2) if name == "stochastic" else controlled(folder, name, 2)


def body(text: str, name: str) -> str:
    """The lines of a function."""
    found = re.search(rf"^function {name}\([^\n]*\)\n(.*?)^end$", text, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


@pytest.mark.parametrize("name", [*SIZES, *DRIVEN, "measured", "doses"])
def test_source_is_as_before(golden, name: str, tmp_path: Path) -> None:
    """A change of the emitter shows as a change of these files, to be read before they are replaced."""
    text = source(made(tmp_path, name), "julia")
    assert not tree(text).has_error
    golden(GOLDEN / f"{name}.jl", text)


@pytest.mark.parametrize("name", CATALOG)
def test_every_trajectory_has_its_data(name: str) -> None:
    problem = catalog.load(name)
    data = source(problem, "julia").partition("const GIVEN = [\n")[2].partition("\n]\n")[0].splitlines()
    assert len(data) == problem.batch.size
    for row, line in enumerate(data):
        numbers = [float(number) for number in re.findall(r"-?[\d.]+(?:e-?\d+)?", re.sub(r", \d+, \d+\)", ")", line))]
        assert numbers == [value for given in problem.given for value in given.rows[row]]


@pytest.mark.parametrize("name", [*SIZES, *DRIVEN, *CATALOG])
def test_nothing_writes_into_an_array(name: str, tmp_path: Path) -> None:
    """Zygote differentiates the functions."""
    text = source(made(tmp_path, name), "julia")
    for function in ("rhs", "initial_state", "loss"):
        assert not re.search(r"\w\] *[.+*]?= |\.= |!\(", body(text, function))


def test_a_network_looks_at_all_times_at_once(tmp_path: Path) -> None:
    assert "decode(reduce(hcat, ys), p.decode) .- x" in body(source(catalog.load("latent-ode"), "julia"), "loss")
    # Anything else at each of them.
    assert "observed(ys[k], p) - m[k]" in body(source(latent(tmp_path, "parameters"), "julia"), "loss")


def test_what_is_driven_takes_derivatives_of_its_paths(tmp_path: Path) -> None:
    text = source(made(tmp_path, "hermite"), "julia")
    assert "function rhs(y, p, t, ddt_X)\n" in text
    assert "transpose(reshape(f_1, 2, 2))*slope_1" in body(text, "rhs")
    assert "share*(4 - 3*share)" in body(text, "slope_X")


def test_a_jump_beside_a_path_is_told(tmp_path: Path) -> None:
    """A tape replays no branch, and Julia would not stop short of one."""
    problem = made(tmp_path, "linear")
    assert "const HAS_BRANCHES = false" in source(problem, "julia")
    jumping = {"z": problem.equations["z"] * sympy.sign(symbol("t") - 0.25)}
    assert "const HAS_BRANCHES = true" in source(dataclasses.replace(problem, equations=jumping), "julia")


def test_labels_count_from_one() -> None:
    assert "scores[label + 1]" in body(source(catalog.load("digits-node"), "julia"), "loss")


def test_only_what_is_used_of_lux_is_imported(tmp_path: Path) -> None:
    assert "Lux" not in source(latent(tmp_path, "parameters"), "julia")
    text = source(latent(tmp_path, "classifier"), "julia")
    assert "using Lux: Chain, Dense, setup\nusing Lux.NNlib: logsumexp\n" in text


def test_more_data_than_a_source_text_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sciml_bench.emit.julia.latent.MOST_NUMBERS", 879)
    with pytest.raises(UsageError, match="880 numbers as data of its trajectories, more than the 879"):
        source(catalog.load("latent-ode"), "julia")
