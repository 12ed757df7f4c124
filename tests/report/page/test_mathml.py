"""Equations as presentation MathML: well formed for every problem of the catalog, and what a reader expects."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
import sympy

from sciml_bench.problem import catalog
from sciml_bench.problem.load import load_problem
from sciml_bench.report.page import mathml

KNOWN = {"math", "mrow", "mi", "mn", "mo", "mtext", "mfrac", "msup", "msub", "msqrt", "munder", "mtable", "mtr", "mtd"}


def parsed(markup) -> ElementTree.Element:
    return ElementTree.fromstring(str(markup).replace("&nbsp;", " "))


def linear(markup) -> str:
    """What is read, without structure and invisible signs."""
    return re.sub(r"[\s⁢⁡]+", "", "".join(parsed(markup).itertext()))


@pytest.mark.parametrize("name", catalog.names())
def test_every_problem_is_typeset_and_names_what_its_equations_name(name):
    problem = catalog.load(name)
    for state, rhs in problem.equations.items():
        markup = mathml.equation(problem, state)
        assert markup is not None
        root = parsed(markup)
        assert {element.tag for element in root.iter()} <= KNOWN
        text = linear(markup)
        # Values at the boundary are told beside the equations, not in them.
        outside = {symbol for grid in problem.grids for symbol in sympy.sympify(grid.boundary_value).free_symbols}
        for symbol in rhs.free_symbols - outside - {mathml.op.PERIODIC, mathml.op.MIRRORED}:
            assert linear(f"<a>{mathml.symbol(symbol.name)}</a>") in text
    for item in problem.definitions:
        assert mathml.definition(problem, item.name, item.expr) is not None


def test_robertson_reads_as_in_a_book():
    problem = catalog.load("robertson")
    found = [linear(mathml.equation(problem, name)) for name in problem.equations]
    assert found == ["dy1dt=k3y2y3−k1y1", "dy2dt=k1y1−k2y22−k3y2y3", "dy3dt=k2y22"]


def test_fields_have_partial_derivatives():
    assert linear(mathml.equation(catalog.load("heat"), "u")) == "∂u∂t=D∇2u"


@pytest.mark.parametrize(
    ("number", "text"),
    [("0.04", "x=0.04"), ("3e7", "x=3×107"), ("1e4", "x=10000"), ("1e-6", "x=10−6"), ("-2.5", "x=−2.5"),
     ("1/3", "x=13"), ("0", "x=0"), ("123456789012345678901234567890", "x=1234567890123456789012345678901")],
)  # fmt: skip
def test_numbers_are_written_as_people_do(number, text):
    assert linear(mathml.value("x", sympy.Rational(number))) == text


@pytest.mark.parametrize(("name", "text"), [("alpha", "α"), ("y12", "y12"), ("k_on", "kon"), ("vx", "vx"), ("_", "_")])
def test_names_become_letters_with_indices(name, text):
    assert linear(f"<a>{mathml.symbol(name)}</a>") == text


def test_names_with_markup_stay_text():
    markup = mathml.value("<b onclick='x()'>&", sympy.Integer(1))
    assert "<b" not in markup
    assert {element.tag for element in parsed(markup).iter()} <= KNOWN


def test_brackets_stand_only_where_they_must(tmp_path):
    file = tmp_path / "bracketed.toml"
    file.write_text(
        'spec = 1\nname = "bracketed"\ntitle = "B"\nsuite = "nonstiff"\n[source]\ncitation = "none"\n'
        "[time]\nt0 = 0\nt1 = 1\nsave = { times = [1] }\n[parameters]\na = 2\n[states]\nx = { initial = 1 }\n"
        '[equations]\nx = "(x + a)*(x - 1)/(a + 1) + sqrt(x**2 + 1) - (x + a)**2 - exp(-x)"\n',
        encoding="utf-8",
    )
    text = linear(mathml.equation(load_problem(file), "x"))
    assert "(a+x)2" in text
    assert "e−x" in text
    assert "((" not in text


def test_what_is_too_long_to_be_read_is_left_to_its_text(monkeypatch):
    monkeypatch.setattr(mathml, "MAX_NODES", 3)
    problem = catalog.load("robertson")
    assert mathml.equation(problem, "y1") is None
