"""Emitted NumPy source against the scalar form, which is written out by a different path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import others_slow
from emit.evaluation import evaluate, sample
from needs import skip_without

from sciml_bench.emit import source
from sciml_bench.emit.arrays import scalar_jacobian
from sciml_bench.emit.symbolic.elementary import filled, in_elementary_functions
from sciml_bench.spec import catalog, load_problem
from sciml_bench.spec.model import Problem

LARGE = {"brusselator-2d-16", "brusselator-2d-32"}
#: Networks have no Jacobian; ``test_networks`` is about them.
WITHOUT_NETWORKS = [name for name in catalog.equation_names() if catalog.header(name).suite != "neural"]
LONG = {*LARGE, "transistor-amplifier", "hodgkin-huxley"}
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in WITHOUT_NETWORKS]
#: Problems whose components differ by so many decades that a difference quotient of the whole vector says little.
ILL_SCALED = {"robertson-late", "e5-late"}

SCALAR = [name for name in WITHOUT_NETWORKS if name != "brusselator-5x5" and catalog.load(name).all_scalar]

SLIDER = """
spec = 1
name = "slider"
title = "A mass with dry friction"
suite = "stiff"
[time]
t0 = 0
t1 = 1
save = { times = [0.5, 1] }

[states]
x = { initial = 0.3, scale = 1 }
v = { initial = -0.2, scale = 1 }

[parameters]
k = 2
c = 0.5
f = 0.1

[equations]
x = "v"
v = "-k*x*abs(x) - c*v - f*sign(v)"
"""

#: Two states, two parameters and a definition under names of one's own.
NAMED = """
spec = 1
name = "named"
title = "Two states under any names"
suite = "stiff"
[time]
t0 = 0
t1 = 1
save = {{ times = [0.5, 1] }}

[states]
{0} = {{ initial = 0.3, scale = 1 }}
{1} = {{ initial = 0.2, scale = 1 }}

[parameters]
{2} = 0.3
{3} = 0.7

[definitions]
{4} = "{2}*{0}*{1}**2"

[equations]
{0} = "{4} - {3}*{0}*exp({1})"
{1} = "{3}*{0}*exp({1}) - {4}*{4}"
"""
AWKWARD = ("out", "s0", "by0", "c0", "d_c0")


def module(problem: Problem) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(compile(source(problem, "numpy"), problem.name, "exec"), namespace)
    return namespace


def relative(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.max(np.abs(a - b)) / np.max(np.abs(b)))


@pytest.mark.parametrize("name", NAMES)
def test_the_right_hand_side_and_its_jacobians(name: str) -> None:
    problem = catalog.load(name)
    emitted = module(problem)
    t, y, p = sample(problem)
    assert relative(emitted["rhs"](t, y, tuple(p)), evaluate(problem, t, y, p)) < 1e-13
    assert np.shape(emitted["rhs"](t, y, p)) == (problem.n_states,)
    if name in ILL_SCALED:
        return
    step = 1e-7
    generator = np.random.default_rng(1)
    direction = generator.normal(size=y.size) * np.array(problem.numbers().atol_scale)
    ahead, behind = (np.array(emitted["rhs"](t, y + sign * step * direction, tuple(p))) for sign in (1, -1))
    assert relative(emitted["jacobian"](t, y, tuple(p)) @ direction, (ahead - behind) / (2 * step)) < 1e-5
    jacobian = emitted["parameter_jacobian"](t, y, tuple(p))
    assert jacobian.shape == (problem.n_states, problem.n_parameters)
    if p.size:
        direction = generator.normal(size=p.size) * p
        ahead, behind = (np.array(emitted["rhs"](t, y, tuple(p + sign * step * direction))) for sign in (1, -1))
        assert relative(jacobian @ direction, (ahead - behind) / (2 * step)) < 1e-5


@pytest.mark.parametrize("name", ["pollution", "ring-modulator", "hires", "detest-stiff-b2"])
def test_all_that_sensitivities_need_at_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scalar_jacobian, "UNROLLED_UP_TO", 0)
    problem = catalog.load(name)
    emitted = module(problem)
    t, y, p = sample(problem)
    values, by_state, by_parameter = emitted["linearised"](t, y, tuple(p))
    assert relative(np.array(values), np.array(emitted["rhs"](t, y, tuple(p)))) < 1e-14
    assert relative(by_state.T, emitted["jacobian"](t, y, tuple(p))) < 1e-14
    assert relative(by_parameter.T, emitted["parameter_jacobian"](t, y, tuple(p))) < 1e-14


@pytest.mark.parametrize("name", others_slow(SCALAR, set(SCALAR) - LONG))
def test_the_sensitivity_equations_number_by_number(name: str) -> None:
    """The product of the Jacobian with each sensitivity, and the derivative by its parameter."""
    problem = catalog.load(name)
    emitted = module(problem)
    n, m = problem.n_states, len(problem.numbers().theta)
    if n * (1 + m) > scalar_jacobian.UNROLLED_UP_TO:
        assert "augmented" not in emitted
        return
    t, y, p = sample(problem)
    s = np.random.default_rng(4).normal(size=(m, n))
    found = np.array(emitted["augmented"](t, np.concatenate([y, s.ravel()]), tuple(p))).reshape(1 + m, n)
    jacobian, by_parameter = (emitted[kind](t, y, tuple(p)) for kind in ("jacobian", "parameter_jacobian"))
    np.testing.assert_allclose(found[0], emitted["rhs"](t, y, tuple(p)), rtol=1e-13)
    expected, size = s @ jacobian.T, np.abs(s) @ np.abs(jacobian).T
    if problem.wrt == "parameters":
        expected, size = expected + by_parameter.T, size + np.abs(by_parameter.T)
    # Of what follows from algebraic equations the terms are larger than the derivatives.
    bound = 1e-8 if problem.algebraic else 1e-12
    assert np.all(np.abs(found[1:] - expected) <= bound * size + 1e-300)


def test_a_jump_of_sign_has_no_derivative(tmp_path: Path) -> None:
    """Friction that changes sign with the velocity, and a spring that stiffens with the length of the way out."""
    path = tmp_path / "slider.toml"
    path.write_text(SLIDER)
    emitted = module(load_problem(path))
    y = np.array([0.3, -0.2, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    found = np.array(emitted["augmented"](0.0, y, (2.0, 0.5, 0.1))).reshape(4, 2)
    # x' = v, v' = -k x abs(x) - c v - f sign(v), and its derivatives by hand.
    np.testing.assert_allclose(found[0], [-0.2, -2 * 0.09 + 0.1 + 0.1], rtol=1e-14)
    for row, (x, v), by_parameter in zip(found[1:], y[2:].reshape(3, 2), (-0.09, 0.2, 1.0), strict=True):
        np.testing.assert_allclose(row, [v, -4 * 0.3 * x - 0.5 * v + by_parameter], rtol=1e-13)
    matrix = emitted["augmented_jacobian"](0.0, y, (2.0, 0.5, 0.1))
    step = 1e-6 * np.cos(np.arange(8))
    ahead, behind = (np.array(emitted["augmented"](0.0, y + s * step, (2.0, 0.5, 0.1))) for s in (1, -1))
    np.testing.assert_allclose(matrix @ step, (ahead - behind) / 2, atol=1e-13)


@pytest.mark.parametrize("target", ["numpy", "numba"])
def test_quantities_may_have_the_names_that_the_functions_use(target: str, tmp_path: Path) -> None:
    """Those of tables and loops, of what is shared, of slopes and of sensitivities."""
    if target == "numba":
        skip_without("numba")
    plain, awkward = tmp_path / "plain.toml", tmp_path / "awkward.toml"
    text = NAMED.format("first_state", "second_state", "rate", "other", "shared")
    plain.write_text(text)
    awkward.write_text(NAMED.format(*AWKWARD))
    y = np.linspace(0.2, 1.4, 6)
    values = []
    for path in (plain, awkward):
        names: dict[str, Any] = {}
        exec(compile(source(load_problem(path), target), path.name, "exec"), names)
        if target == "numpy":
            values.append((names["augmented"](0.1, y, (0.3, 0.7)), names["augmented_jacobian"](0.1, y, (0.3, 0.7))))
            continue
        out, matrix = np.empty(6), np.zeros(100)
        p, places = np.array([0.3, 0.7]), np.arange(24).reshape(3, 8)[:, : len(names["ENTRIES"])]
        names["augmented"](0.1, y, out, p, 0)
        names["augmented_jacobian"](0.1, y, matrix, p, 0, places, places[1:] + 40)
        values.append((out, matrix))
    for one, other in zip(*values, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["robertson", "lotka-volterra", "brusselator-1d", "pollution"])
def test_the_gradient_of_the_loss(name: str) -> None:
    problem = catalog.load(name)
    emitted = module(problem)
    generator = np.random.default_rng(2)
    ys = np.array(problem.numbers().y0) + np.abs(generator.normal(size=(4, problem.n_states)))
    direction = generator.normal(size=ys.shape)
    step = 1e-6
    expected = (emitted["loss"](ys + step * direction) - emitted["loss"](ys - step * direction)) / (2 * step)
    assert np.sum(emitted["loss_gradient"](ys) * direction) == pytest.approx(expected, rel=1e-6)


def test_a_large_local_problem_has_a_sparse_jacobian() -> None:
    problem = catalog.load("medical-akzo-nobel")
    t, y, p = sample(problem)
    jacobian = module(problem)["jacobian"](t, y, tuple(p))
    assert jacobian.format == "csc"
    assert jacobian.nnz < 8 * problem.n_states


def test_sums_over_pairs_are_written_once() -> None:
    text = source(catalog.load("pleiades"), "numpy")
    right_hand_side = text[text.index("def rhs") : text.index("def loss")]
    assert right_hand_side.count("np.add.reduce") == 2
    assert len(right_hand_side.splitlines()) < 40


def test_fields_are_array_operations() -> None:
    text = source(catalog.load("brusselator-2d-32"), "jax")
    assert text.count("\n") < 60


@pytest.mark.parametrize("target", ["numpy", "jax", "torch", "tensorflow"])
def test_a_quotient_keeps_its_denominator_together(target: str) -> None:
    text = source(catalog.load("van-der-pol-eps"), "numpy")
    assert "/(eps*eps)" in text
    assert "/eps*eps" not in text.replace("/(eps*eps)", "")
    assert source(catalog.load("van-der-pol-eps"), target)


def test_a_problem_of_elementary_functions_is_emitted_as_it_is():
    problem = catalog.load("robertson")
    assert in_elementary_functions(problem) is problem
    assert filled(problem) is problem


@pytest.mark.parametrize("name", ["hostile-names", "hostile-vectors", "odd-equations"])
def test_names_of_a_file_are_not_those_of_generated_code(name: str) -> None:
    """A parameter ``k_0`` beside a vector ``k``, ``c0`` beside common parts, ``y_`` beside the array ``y``."""
    problem = load_problem(Path(__file__).parent / "data" / f"{name}.toml")
    namespace: dict[str, Any] = {}
    exec(compile(source(problem, "numpy"), name, "exec"), namespace)
    t, y, p = sample(problem)
    truth = evaluate(problem, t, y, p)
    np.testing.assert_allclose(namespace["rhs"](t, y, tuple(p)), truth, rtol=1e-13)
    for k, (function, at) in enumerate((("jacobian", y), ("parameter_jacobian", p))):
        steps = 1e-6 * np.eye(len(at))
        ends = [[evaluate(problem, t, *((at + h, p), (y, at + h))[k]) for h in (s, -s)] for s in steps]
        by = np.array([(ahead - behind) / 2e-6 for ahead, behind in ends]).T
        np.testing.assert_allclose(namespace[function](t, y, tuple(p)), by, atol=1e-7)
