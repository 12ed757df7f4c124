"""No name of a file meets one of emitted code, in any target: random problems under the names that it uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emit import apart
from emit.evaluation import evaluate, sample
from emit.hostile_problems import names_of, text
from needs import skip_without
from sympy import Rational, S

from sciml_bench.emit import source
from sciml_bench.emit.symbolic.scalar import scalarise
from sciml_bench.references.engine.dynamics import Dynamics
from sciml_bench.references.engine.numbers import exact, precision
from sciml_bench.spec.load import load_problem
from sciml_bench.spec.model import Problem


def made(folder: Path, target: str, seed: int, *, vectors: bool) -> Problem:
    """A problem under the names that a target uses."""
    path = folder / f"hostile-{seed}.toml"
    path.write_text(text(seed, names_of(target, folder, vectors=vectors), vectors=vectors), encoding="utf-8")
    return load_problem(path)


@pytest.mark.parametrize("vectors", [True, False])
def test_numpy_and_its_jacobians_are_those_of_the_equations(tmp_path: Path, vectors: bool) -> None:
    names = names_of("numpy", tmp_path, vectors=vectors)
    # So that the test cannot lose its point: what the emitter uses is among them.
    assert {"np", "rhs", "ys", "N_STATES", "c_0"} <= {*names}
    for seed in range(6):
        path = tmp_path / "hostile.toml"
        path.write_text(text(seed, names, vectors=vectors), encoding="utf-8")
        problem = load_problem(path)
        emitted: dict[str, Any] = {}
        exec(compile(source(problem, "numpy"), "hostile", "exec"), emitted)
        t, y, p = sample(problem, seed)
        np.testing.assert_allclose(emitted["rhs"](t, y, tuple(p)), evaluate(problem, t, y, p), rtol=1e-12)
        steps = 1e-6 * np.eye(len(y))
        ends = [[evaluate(problem, t, y + h, p) for h in (step, -step)] for step in steps]
        by = np.array([(ahead - behind) / 2e-6 for ahead, behind in ends]).T
        np.testing.assert_allclose(emitted["jacobian"](t, y, tuple(p)), by, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("target", ["jax", "torch", "tensorflow"])
def test_a_target_agrees_with_numpy(tmp_path: Path, target: str) -> None:
    skip_without(target)
    for seed in range(3):
        made(tmp_path, target, seed, vectors=True)
    files = [str(tmp_path / f"hostile-{seed}.toml") for seed in range(3)]
    errors = {line[0]: max(map(float, line[1:])) for line in apart.lines("check_target.py", target, *files)}
    assert len(errors) == 3
    assert all(error < 1e-11 for error in errors.values()), errors


def test_numba_agrees_with_numpy(tmp_path: Path) -> None:
    skip_without("numba")
    for seed in range(4):
        problem = made(tmp_path, "numba", seed, vectors=False)
        theirs, ours = dict[str, Any](), dict[str, Any]()
        exec(compile(source(problem, "numba"), "hostile", "exec"), theirs)
        exec(compile(source(problem, "numpy"), "hostile", "exec"), ours)
        t, y, p = sample(problem, seed)
        n = problem.n_states
        slopes, matrix = np.empty(n), np.zeros(n * n)
        theirs["derivative"](t, y, slopes, p)
        theirs["jacobian"](t, y, matrix, p)
        np.testing.assert_allclose(slopes, ours["rhs"](t, y, tuple(p)), rtol=1e-12)
        np.testing.assert_allclose(matrix.reshape(n, n), ours["jacobian"](t, y, tuple(p)), rtol=1e-11, atol=1e-14)


def test_the_reference_engine_solves_the_equations_of_the_file(tmp_path: Path) -> None:
    for seed in range(6):
        problem = made(tmp_path, "numpy", seed, vectors=True)
        t, y, p = sample(problem, seed)
        system = scalarise(problem)
        with precision(128):
            segment = Dynamics(system, S.Zero, S.One).segments()[0]
            values = segment.rhs(exact(Rational(t)), [exact(Rational(x)) for x in y], [exact(Rational(x)) for x in p])
            found = [float(value) for value in values]
        np.testing.assert_allclose(found, evaluate(problem, t, y, p), rtol=1e-12)
