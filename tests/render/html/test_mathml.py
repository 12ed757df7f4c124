"""Equations as presentation MathML: well formed for every problem of the catalog, and what a reader expects."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
import sympy

from sciml_bench.render.html import mathml
from sciml_bench.spec import catalog
from sciml_bench.spec.load import load_problem

KNOWN = {
    "math",
    "mrow",
    "mi",
    "mn",
    "mo",
    "mtext",
    "mfrac",
    "msup",
    "msub",
    "msqrt",
    "mroot",
    "munder",
    "mtable",
    "mtr",
    "mtd",
}


def parsed(markup) -> ElementTree.Element:
    return ElementTree.fromstring(str(markup).replace("&nbsp;", " "))


def linear(markup) -> str:
    """What is read, without structure and invisible signs."""
    return re.sub(r"[\s⁢⁡]+", "", "".join(parsed(markup).itertext()))


@pytest.mark.parametrize("name", catalog.equation_names())
def test_every_problem_is_typeset_and_names_what_its_equations_name(name):
    problem = catalog.load(name)
    for state, rhs in {**problem.equations, **problem.algebraic}.items():
        markup = mathml.equation(problem, state)
        assert markup is not None
        root = parsed(markup)
        assert {element.tag for element in root.iter()} <= KNOWN
        text = linear(markup)
        # Values at the boundary are told beside the equations, not in them.
        outside = {symbol for grid in problem.grids for symbol in sympy.sympify(grid.boundary_value).free_symbols}
        for symbol in rhs.free_symbols - outside - {mathml.operators.PERIODIC, mathml.operators.MIRRORED}:
            assert linear(f"<a>{mathml.symbol(symbol.name)}</a>") in text
    for item in problem.declared_definitions:
        assert mathml.definition(problem, item.name, item.expr) is not None


def test_derivatives_of_networks_read_as_such():
    assert linear(mathml.equation(catalog.load("ffjord-2d"), "l")) == "dldt=−∇·f(x,y,t)"
    assert linear(mathml.equation(catalog.load("henon-heiles-hnn"), "p1")) == "dp1dt=−∇H(q1,q2,p1,p2)0"


def test_robertson_reads_as_in_a_book():
    problem = catalog.load("robertson")
    found = [linear(mathml.equation(problem, name)) for name in problem.equations]
    assert found == ["dy1dt=k3y2y3−k1y1", "dy2dt=k1y1−k2y22−k3y2y3", "dy3dt=k2y22"]


def test_fields_have_partial_derivatives():
    assert linear(mathml.equation(catalog.load("heat"), "u")) == "∂u∂t=D∇2u"


@pytest.mark.parametrize(
    ("number", "text"),
    [("0.04", "x=0.04"), ("3e7", "x=3×107"), ("1e4", "x=10000"), ("1e-6", "x=10−6"), ("-2.5", "x=−2.5"),
     ("1/3", "x=13"), ("0", "x=0"), ("123456789012345678901234567890", "x=123456789012345678901234567890")],
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


def test_entities_in_names_stay_as_they_are_written():
    name = sympy.Symbol("&lt;script&gt;&InvisibleTimes;")
    markup = mathml.definition(catalog.load("robertson"), "c", sympy.sin(name) + name**2)
    assert "<script" not in str(markup)
    assert linear(markup).count(name.name) == 2


def typeset(tmp_path, expression: str) -> str:
    """The right-hand side of an equation, with fractions, powers and indices marked."""
    file = tmp_path / "written.toml"
    file.write_text(
        'spec = 1\nname = "written"\ntitle = "W"\nsuite = "nonstiff"\n[source]\ncitation = "none"\n'
        "[time]\nt0 = 0\nt1 = 1\nsave = { times = [1] }\n[parameters]\na = 2\nb = 3\n"
        "[states]\nx = { initial = 1 }\ny = { initial = 1 }\n"
        f'[equations]\nx = "{expression}"\ny = "a*b*x*y"\n',
        encoding="utf-8",
    )
    return marked(parsed(mathml.equation(load_problem(file), "x"))).partition("=")[2]


def marked(element: ElementTree.Element) -> str:
    parts = [marked(part) for part in element]
    sign = {"mfrac": "/", "msup": "^", "msub": "_", "mroot": "√"}.get(element.tag, "")
    text = sign.join(f"{{{part}}}" if sign and len(part) > 1 else part for part in parts) or (element.text or "")
    return re.sub(r"[\s⁢⁡]+", "", f"√({text})" if element.tag == "msqrt" else text)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("(x + a)*(x - 1)/(a + 1)", "{(a+x)(x−1)}/{a+1}"),
        ("a - (x + b)", "a−(b+x)"),
        ("-(x + a)*2", "−2(a+x)"),
        ("(x + a)**2 - sqrt(x**2 + 1)", "{(a+x)}^2−√(x^2+1)"),
        ("a/(1 + exp(-x))", "a/{1+e^{−x}}"),
        ("(x**a)**b", "{(x^a)}^b"),
        ("(1/3)**x", "{(1/3)}^x"),
        ("0.7**x", "{0.7}^x"),
        ("x**(1/3) + x**2.5", "x√3+x^{5/2}"),
        ("1.3*x - 1.8*y", "1.3x−1.8y"),
        ("3e7*x*y - x/2", "3×{10}^7xy−x/2"),
        ("a/b/x", "a/{bx}"),
        ("-a + x", "x−a"),
        ("where(x > a and y < b, x, y) + 1", "({xifx>a∧y<byotherwise)+1"),
        ("abs(x) + tanh(x - a)**2", "{tanh(x−a)}^2+|x|"),
    ],
)
def test_what_is_read_is_what_is_written(tmp_path, written, read):
    assert typeset(tmp_path, written) == read


def test_numbers_side_by_side_are_not_read_as_one():
    product = sympy.Mul(2, sympy.Pow(10, sympy.Symbol("n"), evaluate=False), 3, evaluate=False)
    assert linear(mathml.definition(catalog.load("robertson"), "c", product)).count("×") == 2


def test_networks_read_as_functions_with_components():
    problem = catalog.load("lotka-volterra-ude")
    assert marked(parsed(mathml.equation(problem, "x"))) == "{dx}/{dt}=1.3x+{f(x,y)}_0"


def test_sums_over_pairs_name_what_they_leave_out():
    text = marked(parsed(mathml.equation(catalog.load("pleiades"), "vx")))
    assert text.startswith("{dvx}/{dt}=∑j≠i{(x_j−x_i)m_j}/{")


def test_what_is_too_long_to_be_read_is_left_to_its_text(monkeypatch):
    monkeypatch.setattr(mathml, "MAX_NODES", 3)
    problem = catalog.load("robertson")
    assert mathml.equation(problem, "y1") is None
