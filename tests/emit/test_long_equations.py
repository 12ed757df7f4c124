"""Derivatives of equations whose text would double with every definition, in NumPy's and Numba's source."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emit.evaluation import sample
from needs import skip_without
from sympy import Symbol

from sciml_bench.emit import source
from sciml_bench.emit.symbolic import variation
from sciml_bench.emit.symbolic.statements import straight_line
from sciml_bench.spec import catalog, load_problem
from sciml_bench.spec.language.rebuilding import Size
from sciml_bench.spec.model import Problem

#: Kinetics, powers, conditions on the time, sensitivities to the initial state, one matrix with the sensitivities.
NAMES = ["robertson", "arenstorf", "growth-factors", "ring-modulator", "detest-nonstiff-a1", "pollution"]


def module(problem: Problem, target: str = "numpy") -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(compile(source(problem, target), problem.name, "exec"), namespace)
    return namespace


def layered(number: int, folder: Path) -> Problem:
    """Three states, through layers of weights that are divided by their sum, as attention does."""
    lines, inner = [], ["x", "y", "z"]
    for k in range(number):
        lines += [f'e{k}_{i} = "exp(a*({inner[i]} - {inner[i - 1]}/2) + b*{inner[i - 2]})"' for i in range(3)]
        lines += [f's{k} = "e{k}_0 + e{k}_1 + e{k}_2"', *(f'w{k}_{i} = "e{k}_{i}/s{k}"' for i in range(3))]
        inner = [f"w{k}_{i}" for i in range(3)]
    equations = [f'{state} = "{weight} - {state}"' for state, weight in zip("xyz", inner, strict=True)]
    text = "\n".join([
        'spec = 1\nname = "layers"\ntitle = "Layers"\n[time]\nt1 = 1\n[parameters]\na = 0.7\nb = 0.4',
        "[states]\nx = 1\ny = 0.5\nz = -0.3\n[definitions]", *lines, "[equations]", *equations, "",
    ])  # fmt: skip
    path = folder / "layers.toml"
    path.write_text(text, encoding="utf-8")
    return load_problem(path)


def differences(function: Callable[[np.ndarray], Any], at: np.ndarray) -> np.ndarray:
    steps = 1e-5 * np.eye(len(at))
    return np.stack([(np.array(function(at + h)) - np.array(function(at - h))) / 2e-5 for h in steps], axis=1)


@pytest.mark.parametrize("name", NAMES)
def test_both_ways_of_differentiating_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = catalog.load(name)
    written_out = module(problem)
    monkeypatch.setattr(variation, "WRITTEN_OUT", 0)
    monkeypatch.setattr(variation, "REPEATED", 0)
    by_statements = module(problem)
    t, y, p = sample(problem)
    for function in ("jacobian", "parameter_jacobian", "augmented", "linearised"):
        assert (function in by_statements) == (function in written_out)
        if function in written_out:
            directions = np.sin(np.arange(len(y) * (len(p) if problem.wrt == "parameters" else len(y))))
            at = np.concatenate([y, directions]) if function == "augmented" else y
            ours, theirs = (made[function](t, at, tuple(p)) for made in (by_statements, written_out))
            for one, other in zip(ours, theirs, strict=True):
                if other is not None:
                    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12 * np.max(np.abs(other), initial=0.0))
    assert by_statements["ENTRIES"] == written_out["ENTRIES"]


def test_layers_are_differentiated_in_numpy(tmp_path: Path) -> None:
    # Written out, ten layers have more than 1e10 parts.
    problem = layered(10, tmp_path)
    made = module(problem)
    t, y, p = 0.0, np.array([1, 0.5, -0.3]), np.array([0.7, 0.4])
    by_state = differences(lambda y: made["rhs"](t, y, tuple(p)), y)
    by_parameter = differences(lambda p: made["rhs"](t, y, tuple(p)), p)
    np.testing.assert_allclose(made["jacobian"](t, y, tuple(p)), by_state, atol=1e-9)
    np.testing.assert_allclose(made["parameter_jacobian"](t, y, tuple(p)), by_parameter, atol=1e-9)
    s = np.cos(np.arange(6))
    changes = np.array(made["augmented"](t, np.concatenate([y, s]), tuple(p))).reshape(3, 3)
    np.testing.assert_array_equal(changes[0], made["rhs"](t, y, tuple(p)))
    np.testing.assert_allclose(changes[1:], s.reshape(2, 3) @ by_state.T + by_parameter.T, atol=1e-9)


def test_layers_are_differentiated_in_numba(tmp_path: Path) -> None:
    skip_without("numba")
    problem = layered(4, tmp_path)
    ours, theirs = module(problem, "numba"), module(problem)
    y, p = np.array([1, 0.5, -0.3]), np.array([0.7, 0.4])
    matrix, many = np.zeros(9), np.concatenate([y, np.cos(np.arange(6))])
    ours["jacobian"](0.0, y, matrix, p)
    np.testing.assert_allclose(matrix.reshape(3, 3), theirs["jacobian"](0.0, y, tuple(p)), rtol=1e-12)
    changes = np.empty(9)
    ours["augmented"](0.0, many, changes, p, 0)
    np.testing.assert_allclose(changes, theirs["augmented"](0.0, many, tuple(p)), rtol=1e-12)


def test_chains_longer_than_the_stack_are_ordered() -> None:
    chain = [Symbol(f"c{k}", real=True) for k in range(3000)]
    named = [(after, 2 * before + 1) for before, after in pairwise(chain)]
    assert Size(dict(named)).of(chain[-1]) > len(chain)
    program = straight_line(list(reversed(named)), [chain[-1] + 1])
    assert [item.symbol for item in program.statements] == chain[1:]
