"""Vectors and fields that Numba compiles for SciPy: their order, their bands, and that they solve as NumPy's do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from adapters.cells import catalog_task
from adapters.test_scipy_matrices import full
from cases import others_slow
from needs import imported

from sciml_bench.adapters.base import ProblemTraits, Recipe
from sciml_bench.adapters.scipy import ADAPTER
from sciml_bench.adapters.scipy.point_order import arrangement
from sciml_bench.adapters.scipy.program import SciPyProgram
from sciml_bench.cli.main import main
from sciml_bench.planning.problems import entries
from sciml_bench.planning.selection import Selection
from sciml_bench.record.task import Cell, Point
from sciml_bench.spec import catalog

numba = imported("numba")


def scipy_program(problem: str, method: str, mode: str) -> Any:
    return SciPyProgram(catalog_task(problem, "scipy", method, "forward", mode))


def theta_of(problem: str) -> np.ndarray:
    return np.array(catalog.load(problem).numbers().theta)


@pytest.mark.parametrize(
    ("problem", "width"),
    [
        # A line of points, rings that are folded flat with one and two species, a fourth-order ring.
        ("heat", 1), ("burgers", 2), ("brusselator-1d", 4), ("kuramoto-sivashinsky", 4),
        # Two species on a line; a chain; a torus of 16 x 16, two of whose sides are walked at once.
        ("medical-akzo-nobel", 2), ("detest-nonstiff-c4", 1), ("brusselator-2d-16", 64),
    ],
)  # fmt: skip
def test_points_are_in_the_order_of_a_narrow_band(problem: str, width: int) -> None:
    program = scipy_program(problem, "odeint", "compiled")
    state = program.prepare(theta_of(problem), Point(1e-6, 1e-8))[0].state
    assert (state.options["lband"], state.options["uband"]) in [(w, w) for w in range(width + 1)]
    arranged = arrangement(program._source.AT, program._source.COUPLED, program._source.SPECIES)
    n = len(arranged.order)
    assert sorted(arranged.order) == list(range(n))
    # The band holds the Jacobian of the problem.
    numbers = catalog.load(problem).numbers()
    plain = scipy_program(problem, "radau", "eager")._source.jacobian(0.3, np.array(numbers.y0), list(numbers.p))
    expected = full(plain, {})
    stored = np.empty(n)
    stored[state.place] = numbers.y0
    found = full(state.options["jac"](0.3, stored), state.options)[np.ix_(state.place, state.place)]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13 * np.max(np.abs(expected)))


def test_a_ring_is_folded_and_points_that_do_not_meet_stay() -> None:
    ring = np.arange(7)
    source = SimpleNamespace(
        POINTS=7, SPECIES=1, AT=np.stack([ring, (ring + 1) % 7]), COUPLED=np.array([[0, 0, 0], [0, 0, 1]])
    )
    found: Any = arrangement(source.AT, source.COUPLED, source.SPECIES)
    assert np.max(np.abs(found.shape.rows - found.shape.columns)) == 2
    source.AT, source.COUPLED = ring[None], np.empty((0, 3), dtype=np.int64)
    alone: Any = arrangement(source.AT, source.COUPLED, source.SPECIES)
    assert list(alone.order) == list(ring)
    assert len(alone.shape.rows) == 0


CELLS = [
    *(("brusselator-1d", method) for method in ("odeint", "lsoda", "bdf", "radau", "rk45", "dop853")),
    *((name, "odeint") for name in ("heat", "allen-cahn", "burgers", "fisher-kpp")),
    *((name, "odeint") for name in ("brusselator-2d", "medical-akzo-nobel", "detest-nonstiff-c1")),
    *((name, "odeint") for name in ("detest-nonstiff-c4", "detest-stiff-a4")),
    ("fisher-kpp", "bdf"), ("detest-nonstiff-c4", "radau"),
]  # fmt: skip


QUICK = [
    ("brusselator-1d", "odeint"), ("brusselator-1d", "radau"), ("brusselator-1d", "rk45"), ("heat", "odeint"),
    ("brusselator-2d", "odeint"), ("detest-nonstiff-c4", "radau"),
]  # fmt: skip


@pytest.mark.parametrize(("problem", "method"), others_slow(CELLS, QUICK))
def test_what_is_compiled_solves_and_differentiates_as_numpy_does(problem: str, method: str) -> None:
    """The same method takes nearly as many steps, with parameters that it was not compiled for."""
    theta = theta_of(problem) * 1.01
    # Few digits where a gradient is of many columns.
    point = Point(1e-7, 1e-9) if len(theta) < 10 else Point(1e-6, 1e-8)
    ours, theirs = (scipy_program(problem, method, mode) for mode in ("compiled", "eager"))
    solutions = [program.read_solution(program.solve(program.prepare(theta, point))) for program in (ours, theirs)]
    most = 2.0 if method in ("odeint", "lsoda") else 1.1
    size = np.max(np.abs(solutions[1].ys), axis=0) + 1e-3
    np.testing.assert_array_less(np.abs(solutions[0].ys - solutions[1].ys) / size, 1e-3 if method == "rk45" else 1e-4)
    # Where LSODA changes from Adams' methods to BDF follows the roundings.
    steps = [solution.statistics["n_accepted"] for solution in solutions]
    assert 1 / most < steps[0] / steps[1] < most
    gradients = [program.read_gradient(program.gradient(program.prepare(theta, point))) for program in (ours, theirs)]
    bound = 1e-4 * np.max(np.abs(theta * gradients[1].gradient)) + 1e-12
    np.testing.assert_allclose(theta * gradients[0].gradient, theta * gradients[1].gradient, rtol=0, atol=bound)
    assert gradients[0].loss == pytest.approx(gradients[1].loss, rel=1e-5)


def test_each_function_is_compiled_once_and_only_those_that_are_called() -> None:
    program, theta = scipy_program("brusselator-1d", "odeint", "compiled"), theta_of("brusselator-1d")
    program.solve(program.prepare(theta, Point(1e-4, 1e-6)))
    assert program.trace_count() == 2
    for factor in (1.0, 1.01):
        program.gradient(program.prepare(factor * theta, Point(1e-6, 1e-8)))
    # Right-hand side, sensitivities and Jacobian; the coupling is left out of so many states.
    assert program.trace_count() == 3


@pytest.mark.parametrize("problem", ["brusselator-1d", "heat", "beam"])
def test_the_compiled_cell_is_recommended_first_for_fields(problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Where it can be had; the plan says in words why not."""
    facts = next(entry.facts for entry in entries(Selection(problems=(problem,))))
    cell = Cell(problem, "scipy", "odeint", "forward", "compiled")
    best = next(recipe for recipe in ADAPTER.recipes(facts) if not refused(problem, facts, recipe))
    assert (best.method, best.sensitivity) == ("odeint", "forward")
    assert best.mode == ("eager" if problem == "beam" else "compiled")
    assert ("point by point: it has single elements" in (ADAPTER.refusal(cell, facts) or "")) == (problem == "beam")
    assert main(["plan", "--problem", problem, "--adapter", "scipy", "--profile", "quick"]) == 0
    planned = capsys.readouterr().out
    (line,) = [line for line in planned.splitlines() if "idiomatic, best" in line]
    assert f"/odeint/forward/{best.mode}/" in line


def refused(problem: str, facts: ProblemTraits, recipe: Recipe) -> bool:
    cell = Cell(problem, "scipy", recipe.method, recipe.sensitivity, recipe.mode)
    return ADAPTER.refusal(cell, facts) is not None
