"""Emitted Numba source of vectors and fields against NumPy's, point by point and in any order of the points."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from cases import others_slow
from emit.evaluation import evaluate, sample
from needs import skip_without

from sciml_bench.emit import source
from sciml_bench.errors import UsageError
from sciml_bench.spec import catalog, load_problem
from sciml_bench.spec.language.locality import MOST_TERMS, why_not_local
from sciml_bench.spec.model import Problem

skip_without("numba")

HEAD = 'spec = 1\nname = "own"\ntitle = "Own"\n[time]\nt1 = 1\n'
ARRAYS = [
    name
    for name in catalog.equation_names()
    if not (problem := catalog.load(name)).all_scalar and not problem.networks and not problem.latent
]
LOCAL = [name for name in ARRAYS if not why_not_local(catalog.load(name))]

LINE = '[grids.x]\npoints = {n}\nfirst = 0\nlast = 1\nboundary = "{boundary}"\n'
TUBE = '[grids.x]\npoints = 3\nfirst = 0\nlast = 1\nboundary = "periodic"\n[grids.y]\npoints = 5\nfirst = 0\nlast = 2\n'
OWN = {
    "a mirror in a mirror": LINE.format(n=6, boundary="neumann")
    + '[parameters]\na = 2\n[states]\nu = { grid = ["x"], initial = "x", scale = 1 }\n'
    '[definitions]\nw = "laplacian(u)*u"\n[equations]\nu = "a*laplacian(w) - gradient(u*w) + shift(u, 2)"\n',
    "a value outside that changes": LINE.format(n=5, boundary="dirichlet")
    + 'boundary_value = "a*sin(t)"\n[parameters]\na = 2\nb = 3\n[states]\n'
    + 'u = { grid = ["x"], initial = "x", scale = 1 }\nv = { grid = ["x"], initial = 1, scale = 1 }\n'
    '[equations]\nu = "laplacian(u*v) + where(u > 0.3, b, x)"\n'
    'v = "laplacian(laplacian(v)) + exp(-b*u) - shift(u, -3)"\n',
    "a ring of three, around which one gets": LINE.format(n=3, boundary="periodic")
    + '[parameters]\na = 2\n[states]\nu = { grid = ["x"], initial = "x", scale = 1 }\n'
    '[equations]\nu = "a*laplacian(u**2)*shift(u, 2) + laplacian(laplacian(u)) - shift(u, -1)**2"\n',
    "edges of two kinds": TUBE + 'boundary = "dirichlet"\nboundary_value = "a"\n[parameters]\na = 2\n'
    '[states]\nu = { grid = ["x", "y"], initial = "x + y", scale = 1 }\n'
    '[equations]\nu = "laplacian(u)*(x - y) + a*gradient(u, y)*gradient(u, x)"\n',
    "two values outside": TUBE.replace("periodic", "dirichlet")
    + 'boundary = "dirichlet"\nboundary_value = "a"\n[parameters]\na = 2\nD = 0.1\n'
    '[states]\nu = { grid = ["x", "y"], initial = "x + y", scale = 1 }\n'
    '[equations]\nu = "D*laplacian(u) - u**3 + a"\n',
    "names of its own": LINE.format(n=4, boundary="neumann")
    + "[parameters]\n"
    + "".join(
        f"{name} = 1.5\n" for name in ("at_1", "by_0", "same_0", "c0", "u_at_1", "s_u_at_0", "last", "points", "AT")
    )
    + '[states]\nu = { grid = ["x"], initial = "x", scale = 1 }\nown = { grid = ["x"], initial = 1, scale = 1 }\n'
    '[equations]\nu = "at_1*laplacian(u) + by_0*u**2 + same_0 + (c0 + u_at_1)*own"\n'
    'own = "s_u_at_0*last*u + points*AT*gradient(own)"\n',
    "elements of vectors, and points on one side": LINE.format(n=5, boundary="neumann")
    + '[parameters]\nD = [2, 3]\n[states]\nu = { grid = ["x"], initial = "x", scale = 1 }\n'
    'v = { grid = ["x"], initial = 1, scale = 1 }\n[definitions]\nsource = "where(t >= 0.2 and x > 0.4, D[1], 0)"\n'
    '[equations]\nu = "D[0]*laplacian(u) + gradient(source*v)"\nv = "D[1]*laplacian(v)/(1 + u**2)"\n',
    "nothing of its states": LINE.format(n=4, boundary="neumann")
    + '[parameters]\na = 2\n[states]\nu = { grid = ["x"], initial = "x", scale = 1 }\n[equations]\nu = "a*x"\n',
    "the initial state": "[states]\n"
    "y = { size = 7, initial = [1, 2, 3, 4, 5, 6, 7], scale = 1 }\n[equations]\n"
    'y = "shift(y, 1)*y - shift(y, -1)**3"\n',
}


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], Problem]:
    """Loads a problem from what follows its head, or that of the catalog."""

    def load_text(text: str) -> Problem:
        if "\n" not in text:
            return catalog.load(text)
        path = tmp_path / "own.toml"
        path.write_text(HEAD + text, encoding="utf-8")
        return load_problem(path)

    return load_text


def module(problem: Problem, target: str) -> ModuleType:
    made = ModuleType(problem.name)
    exec(compile(source(problem, target), problem.name, "exec"), made.__dict__)
    return made


class Stored:
    """A module for Numba with its points in a random order; takes and gives values in the problem's order."""

    def __init__(self, problem: Problem):
        self.source = source_of = module(problem, "numba")
        species, n_points = source_of.SPECIES, source_of.POINTS
        order = np.random.default_rng(3).permutation(n_points)
        begin = species * np.argsort(order)[source_of.AT[:, order]].T
        self.points = np.ascontiguousarray(np.hstack([order[:, None], begin[:, 1:]]), dtype=np.int64)
        self.order = (order[:, None] + n_points * np.arange(species)).ravel()
        to, by, where = source_of.COUPLED.T
        self.rows = (species * np.arange(n_points)[:, None] + to).ravel()
        self.columns = (begin[:, where] + by).ravel()
        self.n = problem.n_states

    def derivative(self, t: float, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        out = np.full(self.n, np.nan)
        self.source.derivative(t, y[self.order], out, p, self.points)
        return self.natural(out)

    def augmented(self, t: float, z: np.ndarray, p: np.ndarray, first: int) -> np.ndarray:
        """Of z (1 + columns, n)."""
        out = np.full(z.size, np.nan)
        self.source.augmented(t, z[:, self.order].ravel(), out, p, first, self.points)
        return self.natural(out.reshape(z.shape))

    def jacobian(self, t: float, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        out = np.full((self.n, self.n), 7.0)
        out[:] = 0.0
        # What stands there from before must not matter.
        out[self.rows, self.columns] = 7.0
        places = (self.rows * self.n + self.columns)[None]
        self.source.jacobian(t, y[self.order], out.reshape(-1), p, self.points, places)
        return self.natural(self.natural(out).T).T

    def coupling(self, t: float, z: np.ndarray, p: np.ndarray, first: int) -> np.ndarray:
        """(columns, n, n)."""
        out = np.zeros((len(z) - 1, self.n, self.n))
        starts = self.n * self.n * np.arange(len(out))[:, None]
        places = starts + self.rows * self.n + self.columns
        self.source.coupling(t, z[:, self.order].ravel(), out.reshape(-1), p, first, self.points, places)
        return self.natural(np.swapaxes(self.natural(out), 1, 2)).swapaxes(1, 2)

    def natural(self, stored: np.ndarray) -> np.ndarray:
        return stored[..., np.argsort(self.order)]


COMPILED: dict[str, tuple[Problem, Stored]] = {}


def stored(text: str, load: Callable[[str], Problem]) -> tuple[Problem, Stored]:
    """A problem and what is compiled of it, once for all tests."""
    if text not in COMPILED:
        problem = load(text)
        COMPILED[text] = problem, Stored(problem)
    return COMPILED[text]


CASES = [
    *others_slow(LOCAL, ("brusselator-1d", "medical-akzo-nobel", "brusselator-2d", "kuramoto-sivashinsky")),
    *(pytest.param(text, id=name) for name, text in OWN.items()),
]


def linearised(problem: Problem, t: float, y: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """NumPy's right-hand side and both Jacobians, the second of no columns where there are none."""
    theirs = module(problem, "numpy")
    f, jacobian = np.asarray(theirs.rhs(t, y, p)), theirs.jacobian(t, y, p)
    dense = jacobian.toarray() if hasattr(jacobian, "toarray") else np.asarray(jacobian)
    return f, dense, np.asarray(theirs.parameter_jacobian(t, y, p))


@pytest.mark.parametrize("text", CASES)
def test_every_function_says_what_numpy_says(text: str, load: Callable[[str], Problem]) -> None:
    problem, ours = stored(text, load)
    t, y, p = sample(problem)
    f, by_state, by_parameter = linearised(problem, t, y, p)
    size = np.abs(by_state) @ np.abs(y) + np.abs(f)
    assert np.all(np.abs(ours.derivative(t, y, p) - f) <= 1e-13 * (size + np.max(np.abs(f))))
    np.testing.assert_allclose(ours.jacobian(t, y, p), by_state, rtol=1e-13, atol=1e-14 * np.max(np.abs(by_state)))
    m = len(problem.numbers().theta)
    s = np.random.default_rng(5).normal(size=(m, problem.n_states))
    expected = s @ by_state.T + (by_parameter.T if problem.wrt == "parameters" else 0.0)
    bound = np.abs(s) @ np.abs(by_state).T + np.abs(expected)
    # All at once, and any that follow each other; the state comes first each time.
    for first, last in {(0, m), (0, 1), (m - 1, m), (m // 2, m)}:
        found = ours.augmented(t, np.vstack([y, s[first:last]]), p, first)
        assert np.all(np.abs(found[0] - f) <= 1e-13 * (size + np.max(np.abs(f))))
        assert np.all(np.abs(found[1:] - expected[first:last]) <= 1e-12 * bound[first:last] + 1e-300)


@pytest.mark.parametrize("text", CASES)
def test_the_coupling_is_the_derivative_of_the_sensitivity_equations(text: str, load: Callable[[str], Problem]) -> None:
    """Along random directions, of all sensitivities and of the last one, by central differences."""
    problem, ours = stored(text, load)
    t, y, p = sample(problem)
    m, random = len(problem.numbers().theta), np.random.default_rng(6)
    s, direction = random.normal(size=(m, len(y))), random.normal(size=len(y))
    step = 1e-6
    for first in {0, m - 1}:
        moved = [ours.augmented(t, np.vstack([y + h * direction, s[first:]]), p, first)[1:] for h in (step, -step)]
        difference = (moved[0] - moved[1]) / (2 * step)
        found = ours.coupling(t, np.vstack([y, s[first:]]), p, first) @ direction
        # What the differences cannot resolve is measured by what they are taken of.
        noise = 1e-15 / step * np.max(np.abs(moved[0]))
        np.testing.assert_allclose(found, difference, rtol=1e-6, atol=1e-6 * np.max(np.abs(found)) + 10 * noise)


@pytest.mark.parametrize("text", OWN.values(), ids=OWN)
def test_own_problems_are_what_they_are_component_by_component(text: str, load: Callable[[str], Problem]) -> None:
    """Not only NumPy's emission, which might misread an edge in the same way."""
    problem, ours = stored(text, load)
    t, y, p = sample(problem)
    np.testing.assert_allclose(ours.derivative(t, y, p), evaluate(problem, t, y, p), rtol=1e-12, atol=1e-12)


def test_there_are_problems_of_every_suite_with_fields() -> None:
    assert {"brusselator-1d", "medical-akzo-nobel", "brusselator-2d-32", "detest-nonstiff-c4"} <= set(LOCAL)
    assert set(ARRAYS) - set(LOCAL) == {"beam", "pleiades"}


def test_the_code_does_not_grow_with_the_grid(load: Callable[[str], Problem]) -> None:
    texts = [
        source(load(OWN["a mirror in a mirror"].replace("points = 6", f"points = {n}")), "numba") for n in (6, 600)
    ]
    assert abs(len(texts[1]) - len(texts[0])) < 200
    assert texts[0].count("\n") == texts[1].count("\n")


def test_the_code_is_what_one_would_write_by_hand() -> None:
    text = source(catalog.load("brusselator-1d"), "numba")
    assert "    same_1 = _SPACING_0*alpha\n    for point in range(POINTS):\n        own = 2*point\n" in text
    assert "out[block + own + 1] = by_3*s_u_at_0 - by_4*s_v_at_0 + by_0*(s_v_at_1 + s_v_at_2)\n" in text


GRID = LINE.format(n=4, boundary="periodic")
FIELD = 'u = { grid = ["x"], initial = "x", scale = 1 }\n'
REFUSED: dict[str, tuple[str, Any]] = {
    "single elements": (f'{GRID}[states]\n{FIELD}[equations]\nu = "u*u[0]"\n', "single elements"),
    "a sum": (f'{GRID}[states]\n{FIELD}[equations]\nu = "u*sum(u)"\n', "over all points"),
    "a sum in a definition": (
        f'{GRID}[states]\n{FIELD}[definitions]\nmean = "dot(u, u)"\n[equations]\nu = "u*mean"\n', "over all points",
    ),
    "a number beside the field": (
        f'{GRID}[states]\n{FIELD}c = {{ initial = 1, scale = 1 }}\n[equations]\nu = "u*c"\nc = "-c"\n', "as well as",
    ),
    "two shapes": (
        f'{GRID}[states]\n{FIELD}w = {{ size = 3, initial = 1, scale = 1 }}\n[equations]\nu = "u"\nw = "-w"\n',
        "several shapes: 3, 4",
    ),
    "a vector of parameters": (
        '[parameters]\nk = [1, 2, 3]\n[states]\ny = { size = 3, initial = 1, scale = 1 }\n[equations]\ny = "k*y"\n',
        "parameter k is used as a whole",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_of_near_points_is_refused(text: str, reason: str, load: Callable[[str], Problem]) -> None:
    problem = load(text)
    assert reason in why_not_local(problem)
    with pytest.raises(UsageError, match=f"^'own' is not emitted for numba, .* point by point: .*{reason}"):
        source(problem, "numba")


def test_operators_in_operators_without_end_are_refused(load: Callable[[str], Problem]) -> None:
    """Written out they would be as long as the number of ways through the grid, though the file is short."""
    deep = "u"
    for _ in range(9):
        deep = f"laplacian({deep})"
    problem = load(f'{GRID}[states]\n{FIELD}[equations]\nu = "{deep}"\n')
    assert why_not_local(problem) == f"an equation at one point has {3**9} terms"
    assert 3**9 > MOST_TERMS
    with pytest.raises(UsageError, match="terms"):
        source(problem, "numba")
