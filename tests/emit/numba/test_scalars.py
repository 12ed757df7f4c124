"""Emitted Numba source against NumPy's, and against the function that it hands to solvers in C."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emit.evaluation import sample
from needs import skip_without

from sciml_bench.emit import source
from sciml_bench.errors import UsageError
from sciml_bench.spec import catalog, load_problem
from sciml_bench.spec.model import Problem

skip_without("numba")

#: Kinetics, fractional powers, an equation of time, conditions on it and no parameters.
NAMES = [
    "robertson",
    "arenstorf",
    "prothero-robinson",
    "detest-nonstiff-a1",
    "hostile-names.toml",
    "odd-equations.toml",
]


def made(name: str) -> Problem:
    return load_problem(Path(__file__).parents[1] / "data" / name) if name.endswith(".toml") else catalog.load(name)


@cache
def module(name: str, target: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(compile(source(made(name), target), name, "exec"), namespace)
    return namespace


@pytest.mark.parametrize("name", NAMES)
def test_numba_says_what_numpy_says(name: str) -> None:
    problem = made(name)
    theirs, ours = module(name, "numba"), module(name, "numpy")
    t, y, p = sample(problem)
    n = problem.n_states
    in_place = np.empty(n)
    theirs["derivative"](t, y, in_place, p)
    np.testing.assert_allclose(in_place, ours["rhs"](t, y, tuple(p)), rtol=1e-13, atol=0)
    matrix = np.zeros(n * n)
    theirs["jacobian"](t, y, matrix, p)
    np.testing.assert_allclose(matrix.reshape(n, n), ours["jacobian"](t, y, tuple(p)), rtol=1e-12, atol=0)
    assert theirs["ENTRIES"] == ours["ENTRIES"]
    ys = np.stack([y, 2 * y])
    assert theirs["loss"](ys) == ours["loss"](ys)
    np.testing.assert_array_equal(theirs["loss_gradient"](ys), ours["loss_gradient"](ys))


def test_a_jacobian_without_entries_compiles(tmp_path: Path) -> None:
    """No state is part of the right-hand side of a quadrature."""
    path = tmp_path / "quadrature.toml"
    path.write_text(QUADRATURE, encoding="utf-8")
    namespace: dict[str, Any] = {}
    exec(compile(source(load_problem(path), "numba"), "quadrature", "exec"), namespace)
    y, p, out = np.ones(1), np.array([2.0]), np.zeros(2)
    namespace["jacobian"](0.5, y, out, p)
    assert not out.any()
    namespace["augmented"](0.5, np.zeros(2), out, p, 0)
    np.testing.assert_allclose(out, [np.cos(1.0), -0.5 * np.sin(1.0)], rtol=1e-15)
    places = np.zeros((0, 0), dtype=np.int64)
    namespace["augmented_jacobian"](0.5, np.zeros(2), out, p, 0, places, places)


QUADRATURE = """
spec = 1
name = "quadrature"
title = "An integral"
[time]
t0 = 0
t1 = 1
[parameters]
a = 2
[states]
y = 0
[equations]
y = "cos(a*t)"
"""


@pytest.mark.parametrize("name", NAMES[:-2])
def test_any_of_the_sensitivities_can_be_followed(name: str) -> None:
    """All at once, and from a later one on; the state comes first each time."""
    problem = made(name)
    theirs, ours = module(name, "numba"), module(name, "numpy")
    t, y, p = sample(problem)
    n, m = problem.n_states, len(problem.numbers().theta)
    s = np.random.default_rng(5).normal(size=(m, n))
    whole = np.array(ours["augmented"](t, np.concatenate([y, s.ravel()]), tuple(p))).reshape(1 + m, n)
    size = np.max(np.abs(whole), axis=1, keepdims=True)
    for first in range(m):
        for last in range(first + 1, m + 1):
            out = np.full(n * (1 + last - first), np.nan)
            theirs["augmented"](t, np.concatenate([y, s[first:last].ravel()]), out, p, first)
            expected = np.concatenate([whole[:1], whole[1 + first : 1 + last]])
            scale = np.concatenate([size[:1], size[1 + first : 1 + last]])
            assert np.all(np.abs(out.reshape(-1, n) - expected) <= 1e-12 * scale)


def test_the_code_is_written_number_by_number() -> None:
    text = source(catalog.load("robertson"), "numba")
    assert '@njit(error_model="numpy")\ndef derivative(t, y, dy, p):\n    k1 = p[0]\n' in text
    assert "    dy[2] = c2\n" in text
    # Entries that are always zero are not written.
    assert "out[6]" not in text


def test_a_division_by_zero_is_infinite_as_in_numpy() -> None:
    theirs = module("arenstorf", "numba")
    # Both bodies at the origin of one of them: the distance is zero.
    value = np.zeros(4)
    theirs["derivative"](0.0, np.array([-1.0, 0.0, 0.0, 0.0]), value, np.array([1.0]))
    assert not np.all(np.isfinite(value))


@pytest.mark.parametrize("name", ["beam", "pleiades", "spiral-node"])
def test_sums_over_all_points_and_networks_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="number by number"):
        source(catalog.load(name), "numba")
