"""Emitted NumPy source against the scalar form, which is written out by a different path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emit.evaluation import evaluate, sample

from sciml_bench.emit import source
from sciml_bench.problem import catalog
from sciml_bench.problem.model import Problem

LARGE = {"brusselator-2d-16", "brusselator-2d-32"}
#: Networks have no Jacobian; ``test_networks`` is about them.
WITHOUT_NETWORKS = [name for name in catalog.equation_names() if catalog.header(name).suite != "neural"]
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in LARGE else name for name in WITHOUT_NETWORKS]
#: Problems whose components differ by so many decades that a difference quotient of the whole vector says little.
ILL_SCALED = {"robertson-late", "e5-late"}


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
    assert emitted["rhs"](t, y, p).shape == (problem.n_states,)
    if name in ILL_SCALED:
        return
    step = 1e-7
    generator = np.random.default_rng(1)
    direction = generator.normal(size=y.size) * np.array(problem.numbers().atol_scale)
    ahead, behind = (emitted["rhs"](t, y + sign * step * direction, tuple(p)) for sign in (1, -1))
    assert relative(emitted["jacobian"](t, y, tuple(p)) @ direction, (ahead - behind) / (2 * step)) < 1e-5
    jacobian = emitted["parameter_jacobian"](t, y, tuple(p))
    assert jacobian.shape == (problem.n_states, problem.n_parameters)
    if p.size:
        direction = generator.normal(size=p.size) * p
        ahead, behind = (emitted["rhs"](t, y, tuple(p + sign * step * direction)) for sign in (1, -1))
        assert relative(jacobian @ direction, (ahead - behind) / (2 * step)) < 1e-5


@pytest.mark.parametrize(
    "name", ["robertson", "arenstorf", "pendulum", "detest-nonstiff-a1", "pollution", "ring-modulator"]
)
def test_all_that_sensitivities_need_at_once(name: str) -> None:
    problem = catalog.load(name)
    emitted = module(problem)
    t, y, p = sample(problem)
    values, by_state, by_parameter = emitted["linearised"](t, y, tuple(p))
    assert relative(np.array(values), emitted["rhs"](t, y, tuple(p))) < 1e-14
    assert relative(by_state.T, emitted["jacobian"](t, y, tuple(p))) < 1e-14
    if problem.n_parameters:
        assert relative(by_parameter.T, emitted["parameter_jacobian"](t, y, tuple(p))) < 1e-14
    else:
        assert by_parameter is None


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
    assert right_hand_side.count("np.sum") == 2
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
