"""Features of other languages are refused with the nearest way."""

from __future__ import annotations

from pathlib import Path

import pytest

from sciml_bench.errors import ProblemError
from sciml_bench.spec import foreign, load_problem

TEXT = """
spec = 1
name = "mine"
title = "Mine"
{top}
[time]
t0 = 0
t1 = 1
{time}
[parameters]
k = 1
[states]
x = 1
[equations]
x = "{equation}"
"""


def refused(tmp_path: Path, equation: str = "-k*x", top: str = "", time: str = "") -> str:
    path = tmp_path / "mine.toml"
    path.write_text(TEXT.format(equation=equation, top=top, time=time), encoding="utf-8")
    with pytest.raises(ProblemError) as caught:
        load_problem(path)
    return str(caught.value)


@pytest.mark.parametrize("name", foreign.FUNCTIONS)
def test_an_unknown_function_has_its_nearest_way(tmp_path, name):
    message = refused(tmp_path, f"-k*{name}(x)")
    assert foreign.FUNCTIONS[name] in message
    assert "mine.toml:" in message


@pytest.mark.parametrize("key", foreign.KEYS)
def test_an_unknown_table_has_its_nearest_way(tmp_path, key):
    assert foreign.KEYS[key] in refused(tmp_path, top=f"{key} = 1")


@pytest.mark.parametrize(
    ("equation", "said"),
    [
        ("-k*x^2", "a power is written **, not ^"),
        ("-k*(x % 2)", "a remainder is mod(a, b)"),
        ("-k*(x // 2)", "write floor(a/b)"),
        ("[[0, 1], [-k, 0]]", "a matrix stands before a vector"),
        ("1j*k*x", "complex numbers are missing"),
        ("-k*x if t > 1 else 0", "where(condition, a, b)"),
        ("-k*x(t - 1)", "delays are missing"),
        ("-k*np.exp(x)", "plain names"),
        ("2 k*x", "products need *"),
        ("-k*x'", "derivatives of states"),
        ("-k*x + (t > 1)", "comparisons belong in where"),
        ("where((t > 0) & (t < 1), k, 0)", "'and', not &"),
    ],
)
def test_forms_of_other_languages(tmp_path, equation, said):
    assert said in refused(tmp_path, equation)


def test_a_key_of_another_table_is_refused_alike(tmp_path):
    assert foreign.KEYS["event"] in refused(tmp_path, time="event = [0.5]")


def test_every_sentence_is_one_line_without_a_final_stop():
    for text in (*foreign.FUNCTIONS.values(), *foreign.KEYS.values()):
        assert "\n" not in text
        assert not text.endswith(".")
        assert len(text) < 130
