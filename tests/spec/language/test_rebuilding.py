"""Functions of sums that are mostly negative, of which SymPy takes the sign out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sciml_bench.emit import source
from sciml_bench.errors import ProblemError
from sciml_bench.spec.load import load_problem

NAMES = {"sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "abs": np.abs,
         "atan": np.arctan, "sign": np.sign, "exp": np.exp}  # fmt: skip
HEAD = """
spec = 1
name = "negative"
title = "negative"
[time]
t0 = 0.0
t1 = 1.0
save = { spacing = "linear", count = 5 }
[constants]
K = [-1.5, -2.0]
c = -0.7
[states]
x = 1.0
y = 0.5
[definitions]
"""
# Written out, by constants' entries, by a constant, and through a definition.
WAYS = {
    "-x - y - 0.1": lambda x, y: -x - y - 0.1, "K[0]*x + K[1]*y": lambda x, y: -1.5 * x - 2.0 * y,
    "c*x + c*y - y": lambda x, y: -0.7 * x - 0.7 * y - y, "-(x + y) - 2*(x - y)": lambda x, y: -3 * x + y,
}  # fmt: skip


def written(tmp_path: Path, definitions: str, x: str, y: str = "y") -> Path:
    path = tmp_path / "negative.toml"
    path.write_text(f'{HEAD}{definitions}\n[equations]\nx = "{x}"\ny = "{y} + c*K[0]*K[1]"\n')
    return path


@pytest.mark.parametrize(
    ("name", "way"), [*((name, next(iter(WAYS))) for name in NAMES), *(("sin", way) for way in list(WAYS)[1:])]
)
def test_functions_of_negative_sums(tmp_path: Path, name: str, way: str):
    problem = load_problem(written(tmp_path, f'v = "{way}"', f"{name}({way})", f"{name}(v)"))
    for target in ("jax", "torch", "julia", "numba"):
        assert source(problem, target)
    module: dict[str, object] = {}
    exec(source(problem, "numpy"), module)
    found = module["rhs"](0.0, np.array([0.3, 0.2]), np.array([]))  # pyright: ignore[reportCallIssue]
    assert np.allclose(found, NAMES[name](WAYS[way](0.3, 0.2)) + np.array([0, -2.1]), rtol=1e-14)


def test_definitions_that_double_are_not_written_out(tmp_path: Path):
    lines = ['v0 = "where(t > 0.5, 1, 2)"', *(f'v{i} = "where(v{i - 1} > 1.5, v{i - 1}, 1)"' for i in range(1, 40))]
    with pytest.raises(ProblemError, match="written out it has more than"):
        load_problem(written(tmp_path, "\n".join(lines), "-v39*x"))
