"""Loading problem files: what is read, and one clear message with file and line for everything that is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import sympy

from sciml_bench.errors import ProblemError, ProblemWarning
from sciml_bench.spec.load import load_problem
from sciml_bench.spec.model import Problem

Load = Callable[[str], Problem]


def test_a_problem_is_read_exactly(load: Load, decay: str) -> None:
    problem = load(decay)
    assert problem.p == (sympy.Rational(1, 10),)
    assert problem.y0 == (1, sympy.Rational(1, 3))
    assert problem.wrt == "parameters"
    assert problem.theta_labels == ("k",)
    numbers = problem.numbers()
    assert numbers.y0 == (1.0, 1 / 3)
    assert numbers.save_times == tuple(k / 10 for k in range(1, 21))
    assert numbers.atol_scale == (1.0, 0.5)


def test_without_parameters_gradients_are_taken_with_respect_to_the_initial_state(load: Load, decay: str) -> None:
    problem = load(decay.replace("[parameters]\nk = 0.1\n", "[constants]\nk = 0.1\n"))
    assert problem.wrt == "initial_state"
    assert problem.theta_labels == ("a(0)", "b(0)")


def test_a_split_names_terms_of_the_equations(load: Load, decay: str) -> None:
    problem = load(decay.replace("[equations]", '[implicit]\nb = "-b**2"\n\n[equations]'))
    a, b, k = sympy.symbols("a b k", real=True)
    assert problem.implicit == {"a": 0, "b": -(b**2)}
    assert problem.explicit == {"a": -k * a, "b": k * a}
    assert problem.spec_hash == load(decay).spec_hash


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        ('b = "-b**3"', "'-b**3' is not a part of the equation of 'b'"),
        ('b = "-2*b**2"', "is not a part of the equation"),
        ('c = "-b**2"', "'c' is not a state"),
        ('a = "-k*a"\nb = "k*a - b**2"', "every term is implicit"),
        ('b = "-b**q"', "q"),
    ],
)
def test_a_split_that_does_not_fit_is_refused_with_its_line(load: Load, decay: str, terms: str, told: str) -> None:
    with pytest.raises(ProblemError, match=re.escape(told)) as raised:
        load(decay.replace("[equations]", f"[implicit]\n{terms}\n\n[equations]"))
    assert re.search(r":\d+", str(raised.value))


def test_logarithmic_times_are_decimals_that_end_at_t1(load: Load, decay: str) -> None:
    save = 'save = { spacing = "log", first = 1e-3, count = 8 }'
    times = load(decay.replace("t1 = 2", f"t1 = 2\n{save}")).save_times
    assert times[0] == sympy.Rational(1, 1000)
    assert times[-1] == 2
    assert all(a < b for a, b in pairwise(times))
    assert all(10**9 % time.q == 0 for time in times)


def test_labels_of_fields_follow_c_order(load: Load, decay: str) -> None:
    axis = '[grids.{}]\npoints = {}\nfirst = 0\nlast = 1\nboundary = "periodic"\n'
    grids = axis.format("x", 3) + axis.format("y", 4)
    text = decay.replace("[states]", f"{grids}[states]")
    text = text.replace("a = 1", 'a = { grid = ["x", "y"], initial = "x + 10*y" }')
    text = text.replace('a = "-k*a"', 'a = "-k*laplacian(a)"').replace('"k*a - b**2"', '"k*sum(a) - b**2"')
    problem = load(text)
    assert problem.state_labels[:5] == ("a[0,0]", "a[0,1]", "a[0,2]", "a[0,3]", "a[1,0]")
    assert problem.y0[4] == sympy.Rational(1, 2)
    assert problem.y0[1] == sympy.Rational(10, 3)


def test_a_parameter_that_nothing_uses_is_a_warning_with_its_line(load: Load, decay: str) -> None:
    with pytest.warns(ProblemWarning, match=r":10: 'unused' in \[parameters\] is never used: its gradient is zero"):
        problem = load(decay.replace("k = 0.1", "k = 0.1\nunused = 2"))
    assert [parameter.name for parameter in problem.parameters] == ["k", "unused"]


def test_the_hash_is_of_the_mathematics(load: Load, decay: str) -> None:
    original = load(decay).spec_hash
    assert load(decay.replace("Two decays", "Another title")).spec_hash == original
    assert load(decay.replace("k = 0.1", "k = 1e-1")).spec_hash == original
    assert load(decay.replace('"-k*a"', '"-k * a"')).spec_hash == original
    assert load(decay.replace("scale = 0.5", "scale = 0.5, atol_scale = 2")).spec_hash == original
    assert load(decay.replace("k = 0.1", "k = 0.100000000000001")).spec_hash != original
    assert load(decay.replace("t1 = 2", "t1 = 3")).spec_hash != original
    assert load(decay.replace("scale = 0.5", "scale = 0.25")).spec_hash != original


@pytest.mark.parametrize(
    ("old", "new", "line", "piece"),
    [
        ("spec = 1", "spec = 2", 1, "'spec' must be 1"),
        ('name = "decay"', 'name = "../decay"', 2, "cannot be a problem's name"),
        ('name = "decay"\n', "", None, "'name' is missing"),
        ('title = "Two decays"', "title = 3", 3, "'title' must be a non-empty string"),
        ("t1 = 2", "t1 = -2", 6, "t1 must be larger than t0"),
        ("t1 = 2", "t1 = nan", 6, "not a finite number"),
        ("t1 = 2", "t1 = 2\nbreakpoints = [3]", 7, "'breakpoints' must increase"),
        ("t1 = 2", "t1 = 2\nsave = { times = [1] }", 7, "end with t1"),
        ("t1 = 2", 't1 = 2\nsave = { spacing = "log", first = 9, count = 4 }', 7, "'first' must be positive"),
        ("t1 = 2", "t1 = 2\ntimes = [1]", 7, "unknown key 'times' in \\[time\\]"),
        ("k = 0.1", "k = nan", 9, "not a finite number"),
        ("k = 0.1", "k = inf", 9, "not a finite number"),
        ("k = 0.1", "k = true", 9, "must be a number or an expression"),
        ("k = 0.1", "k = 0.1\na = 2", 13, "'a' is already declared in \\[parameters\\]"),
        ("k = 0.1", "__import__ = 0.1", 9, "cannot be a name"),
        ("k = 0.1", "lambda = 0.1", 9, "it is a word of Python.*Write lambda_0"),
        ("k = 0.1", '"γ" = 0.1', 9, "cannot be a name.*from a to z"),
        ("k = 0.1", "t = 0.1", 9, "already means something"),
        ("a = 1", "a = { initial = [1, 2], size = 3 }", 12, "has 2 initial values, but its size is 3"),
        ("a = 1", 'a = { initial = 1, colour = "red" }', 12, "unknown key 'colour'"),
        ("a = 1", "a = { scale = 1 }", 12, "'a' has no initial value"),
        ("a = 1", "a = { initial = 1, scale = 0 }", 12, "must be positive"),
        ("a = 1", "a = { initial = 1, scale = [1, 2] }", 12, "one number, or 1"),
        ("a = 1", 'a = { grid = ["x"], initial = 1 }', 12, "must list every axis"),
        ('a = "-k*a"\n', "", 15, "the state 'a' has no equation"),
        ('a = "-k*a"', 'a = "-k*a"\nc = "1"', 17, "'c' is not a state"),
        ('a = "-k*a"', 'a = "-k*aa"', 16, r"unknown name 'aa' \(did you mean 'a'\?\)"),
        ('a = "-k*a"', 'a = "-k*a.real"', 16, "functions have plain names"),
        ('a = "-k*a"', "a = true", 16, "must be a number or an expression"),
        ("[equations]", "[loss]\ntarget = [1, 2, 3]\n[equations]", 16, "'target' must be one number, or 2"),
        ("[equations]", '[invariants]\nmass = "a + c"\n[equations]', 16, "unknown name 'c'"),
        ("[equations]", '[exact]\na = "exp(-t)"\n[equations]', 15, "is missing 'b'"),
        ("[equations]", "[published]\nt = 1\n[equations]", 15, "must be written as"),
        (
            "[equations]",
            '[[published]]\nt = 1\nvalues = { z = 1 }\ndigits = 3\nsource = "s"\n[equations]',
            17,
            "'z' is not",
        ),
    ],
)
def test_bad_files_give_one_message_with_file_and_line(
    load: Load, decay: str, old: str, new: str, line: int | None, piece: str
) -> None:
    assert old in decay
    with pytest.raises(ProblemError, match=piece) as caught:
        load(decay.replace(old, new, 1))
    assert caught.value.line == line
    assert str(caught.value).count("\n") == 0
    assert f"problem.toml:{line}: " in str(caught.value) or line is None


def test_a_file_that_is_no_toml_names_the_line(load: Load) -> None:
    with pytest.raises(ProblemError, match="is not TOML") as caught:
        load("spec = 1\nname = \n")
    assert caught.value.line == 2


def test_missing_binary_and_huge_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="cannot be read"):
        load_problem(tmp_path / "none.toml")
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ProblemError, match="not UTF-8"):
        load_problem(binary)
    huge = tmp_path / "huge.toml"
    huge.write_text("#" * 1_000_001)
    with pytest.raises(ProblemError, match="larger than"):
        load_problem(huge)


def test_an_exponent_that_no_number_has_is_refused(load: Load) -> None:
    with pytest.raises(ProblemError, match="is not TOML"):
        load("x = 1e99999999999999999999")


def test_deeply_nested_toml_is_refused(load: Load) -> None:
    with pytest.raises(ProblemError, match="is not TOML"):
        load("x = " + "[" * 100_000)


def test_a_python_file_is_told_how_to_be_named(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("def rhs(t, y, p):\n    return -p * y\n", encoding="utf-8")
    with pytest.raises(ProblemError, match=r"it is a Python file.*Write model.py:NAME.*Its functions: rhs"):
        load_problem(path)
