"""The neural suite: data against the equations that made them, weights against their hashes, frameworks' own draws."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from sciml_bench.spec import catalog
from sciml_bench.spec.model import Problem

NAMES = sorted(name for name in catalog.names() if catalog.path(name).parent.name == "neural")
Array = np.ndarray


def spiral(t: float, u: Array) -> Array:
    """The cubic spiral."""
    return np.array([[-0.1, -2.0], [2.0, -0.1]]) @ u**3


def lotka_volterra(t: float, u: Array) -> Array:
    """Prey and predators of the universal differential equations paper."""
    x, y = u
    return np.array([1.3 * x - 0.9 * x * y, 0.8 * x * y - 1.8 * y])


def of_catalog(name: str) -> Callable[[float, Array], Array]:
    """The right-hand side of another problem of the catalog."""
    from stubs.catalog_solver import emitted

    problem = catalog.load(name)
    module, p = emitted(problem), np.array(problem.numbers().p)
    return lambda t, y: module.rhs(t, y, p)


#: The equations behind the data, from the initial states of the problems.
TRUTHS: dict[str, Callable[[], Callable[[float, Array], Array]]] = {
    "spiral-node": lambda: spiral,
    "spiral-node-long": lambda: spiral,
    "lotka-volterra-ude": lambda: lotka_volterra,
    "robertson-node": lambda: of_catalog("robertson"),
    "robertson-ude": lambda: of_catalog("robertson"),
    "pollution-node": lambda: of_catalog("pollution"),
    "fisher-kpp-upde": lambda: of_catalog("fisher-kpp"),
    "henon-heiles-hnn": lambda: of_catalog("henon-heiles"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_problem_says_what_it_is(name: str) -> None:
    problem = catalog.load(name)
    assert problem.suite == "neural"
    assert problem.networks
    assert problem.source.citation
    assert f'sha256 = "{problem.networks[0].sha256}"' in catalog.path(name).read_text(encoding="utf-8")


def test_data_are_told_of() -> None:
    with_data = {name for name in NAMES if catalog.load(name).loss.data}
    assert with_data == set(TRUTHS) | {"lynx-hare-ude"}


@pytest.mark.parametrize("name", TRUTHS)
def test_data_are_the_solution_of_their_equations(name: str) -> None:
    problem = catalog.load(name)
    numbers, rhs = problem.numbers(), TRUTHS[name]()
    found = solve_ivp(
        rhs, (0, numbers.t1), numbers.y0, "Radau", numbers.save_times, rtol=1e-9, atol=1e-11 * np.array(_scale(problem))
    )
    error = np.abs(found.y.T - np.array(problem.loss.data)) / np.array(_scale(problem))
    assert float(np.max(error)) < 1e-6


def _scale(problem: Problem) -> tuple[float, ...]:
    return tuple(value for state in problem.states for value in state.scale)


def test_pelts_are_those_of_the_hudson_bay() -> None:
    problem = catalog.load("lynx-hare-ude")
    assert problem.y0 == (30, 4)
    assert problem.loss.data[0] == (47.2, 6.1)
    assert problem.loss.data[-1] == (24.7, 8.6)
    assert np.sum(problem.loss.data, axis=0) == pytest.approx([685.7, 419.5], rel=1e-12)
