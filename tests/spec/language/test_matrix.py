"""Matrices with parameters in them: the equations written out are the same, and what is no matrix is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sciml_bench.emit import source
from sciml_bench.errors import ProblemError
from sciml_bench.references.batch_certificate import certified
from sciml_bench.render.html import mathml
from sciml_bench.spec import Problem
from sciml_bench.spec.language.matrix import MAX_FACTORS
from sciml_bench.spec.load import load_problem

FILE = Path(__file__).parents[2] / "emit" / "data" / "compartments.toml"
WRITTEN_OUT = {
    "u": "-(rate + ke)*u + k21*v - 0.1*(sqrt(2)*0.25*v + 0.5*(-0.5*u)) + ke*0.25*v",
    "v": "rate*u - k21*u*v - 0.1*ke*(-0.5*u) - ke*0.5*u",
    "z": "ke*u + k12*u + 2*v - z*k12*u - z",
}

TEXT = """
spec = 1
name = "linear"
title = "Linear"
[time]
t1 = 2
[constants]
{constants}
[parameters]
k = 3
[states]
y = {{ initial = [1, 0] }}
[definitions]
{definitions}
[equations]
y = "{equation}"
"""


def linear(folder: Path, equation: str, definitions: str = "", constants: str = "") -> Problem:
    path = folder / "linear.toml"
    text = TEXT.format(equation=equation, definitions=definitions, constants=constants)
    path.write_text(text, encoding="utf-8")
    return load_problem(path)


def written_out(folder: Path) -> Problem:
    """The compartments with a state for each element, and no matrix."""
    head, states, _ = FILE.read_text(encoding="utf-8").partition("[states]")
    head = head.replace("M = [[0, 0.25], [-0.5, 0]]", "")
    text = (
        f'{head}{states}\nu = 1\nv = 0.5\nz = 1\n[definitions]\nrate = "k12*(1 + 0.1*sin(t))"\n[equations]\n'
        + "".join(f'{name} = "{equation}"\n' for name, equation in WRITTEN_OUT.items())
    )
    path = folder / "written-out.toml"
    path.write_text(text, encoding="utf-8")
    return load_problem(path)


def module(problem: Problem) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(compile(source(problem, "numpy"), problem.name, "exec"), namespace)
    return namespace


@pytest.mark.parametrize("quantity", ["rhs", "jacobian", "parameter_jacobian"])
def test_matrices_say_what_is_written_out(tmp_path, quantity):
    t, y, p = 1.3, np.array([0.8, -0.4, 1.7]), (0.7, 0.3, 0.2)
    with_matrices, plain = (
        module(problem)[quantity](t, y, p) for problem in (load_problem(FILE), written_out(tmp_path))
    )
    np.testing.assert_allclose(with_matrices, plain, rtol=1e-13, atol=1e-15)


def test_the_certified_gradients_are_the_same(tmp_path):
    found, plain = (certified(problem, proof_s=0.0) for problem in (load_problem(FILE), written_out(tmp_path)))
    assert [float(g) for g in found.gradient] == pytest.approx([float(g) for g in plain.gradient], rel=1e-12)
    assert all(abs(float(g)) > 1e-3 for g in plain.gradient)


def test_an_oscillator_as_people_write_it(tmp_path):
    rhs = module(linear(tmp_path, "[[0, 1], [-k, 0]] @ y"))["rhs"]
    np.testing.assert_allclose(rhs(0.0, np.array([2.0, 5.0]), (3.0,)), [5.0, -6.0], rtol=0)


def test_the_factor_of_a_product_is_not_multiplied_into_the_matrix(tmp_path):
    text = source(linear(tmp_path, "-0.5*k*(M @ y) + [[0, 1], [-k, 0]] @ y", constants="M = [[1, 2], [3, 4]]"), "jax")
    assert "M @ y_" in text
    assert "*M @" not in text
    assert "*_M" not in text.replace("(_M", "")


def test_equal_matrices_are_stated_once(tmp_path):
    equation = "[[k, 0], [0, 1]] @ y - [[k**2, 0], [0, 2]] @ y + FIRST @ y"
    problem = linear(tmp_path, equation, constants="FIRST = [[1, 0], [0, 0]]")
    assert len(problem.matrices) == 3


def test_a_page_shows_the_matrix_itself(tmp_path):
    shown = str(mathml.equation(linear(tmp_path, "[[0, 1], [-k, 0]] @ y"), "y"))
    assert shown.count("<mtable>") == 2
    assert "_M" not in shown


@pytest.mark.parametrize(
    ("equation", "told"),
    [
        ("[[0, 1, 2], [-k, 0, 1]] @ y", "a 2×3 matrix multiplies a vector of 3 elements, not 2"),
        ("[[0, 1], [-k]] @ y", "the rows of the matrix have different lengths"),
        ("[] @ y", "the matrix is empty"),
        ("[[], []] @ y", "the matrix is empty"),
        ("[0, k] @ y", "row by row, as [[0, 1], [-k, 0]]"),
        ("[[0, 1], [-k*y, 0]] @ y", "an entry of the matrix has 2 elements"),
        ("[[0, 1], [-k, 0]] @ k", "not a scalar"),
        ("[[0, 1], [-q, 0]] @ y", "unknown name 'q'"),
        ("k*y @ y", "the first operand is a matrix"),
        ("A @ y*k", "by its name (none has one)"),
        ("y @ [[0, 1], [-k, 0]]", "by its name (none has one)"),
        ("matmul([[0, 1], [-k, 0]])", "takes 2 arguments"),
        ("[[0, 1], [-k, 0]]", "a matrix stands before a vector"),
        ("[[0, 1], [-k, 0]] + y", "a matrix stands before a vector"),
    ],
)
def test_what_is_no_product_of_a_matrix_and_a_vector_is_refused(tmp_path, equation, told):
    with pytest.raises(ProblemError) as caught:
        linear(tmp_path, equation)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("definition", "equation", "told"),
    [
        ('A = [[0, 1], ["-k"]]', "A @ y", "in 'A': the rows of the matrix have different lengths"),
        ("A = [0, 1]", "k*y", "'A' is a list, but no matrix"),
        ("A = []", "k*y", "the matrix is empty"),
        ('A = [[0, 1], ["-k", 0]]', "k*y", "'A' in [definitions] is never used"),
        ('y = [[0, 1], ["-k", 0]]', "y @ y", "'y' is already declared in [states]"),
        ('A = [[0, 1], ["-k", "y"]]', "A @ y", "an entry of the matrix has 2 elements"),
        ('A = [[0, 1], ["-k", true]]', "A @ y", "must be a number or an expression in quotes"),
        ('A = "[[0, 1], [-k, 0]]"', "A @ y", "in [definitions] as A = "),
        ('A = [[0, 1], ["-k", 0]]', "A*y", "unknown name 'A'"),
    ],
)
def test_what_is_no_matrix_among_the_definitions_is_refused(tmp_path, definition, equation, told):
    with pytest.raises(ProblemError) as caught:
        linear(tmp_path, equation, definition)
    assert told in str(caught.value)


def test_a_matrix_of_too_many_different_expressions_is_refused(tmp_path):
    n = MAX_FACTORS + 1
    row = ", ".join(f"sin({i}*k)" for i in range(1, n + 1))
    text = TEXT.format(constants="", definitions="", equation=f"[[{row}]] @ y").replace(
        "[1, 0]", str([1] * n).replace("'", "")
    )
    path = tmp_path / "wide.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ProblemError, match=f"{n} different entries"):
        load_problem(path)
