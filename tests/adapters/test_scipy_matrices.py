"""SciPy's Newton matrices: what they hold, how they are stored, and in which pieces a large system is solved."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from adapters.cells import source_task
from cases import others_slow
from needs import lacking, skip_without
from scipy.sparse import issparse

from sciml_bench.adapters.scipy import ADAPTER, layout, newton
from sciml_bench.adapters.scipy.program import SciPyProgram
from sciml_bench.adapters.scipy.structure import Structure, groups, narrowest, structure
from sciml_bench.emit import source
from sciml_bench.emit.arrays import scalar_jacobian
from sciml_bench.emit.symbolic import variation
from sciml_bench.record.task import Cell, Numbers, Point
from sciml_bench.spec import catalog

POINT = Point(1e-6, 1e-8)


def scipy_program(problem: str, method: str, mode: str = "eager") -> Any:
    cell = Cell(problem, "scipy", method, "forward", mode)
    loaded = catalog.load(problem)
    return SciPyProgram(source_task(source(loaded, ADAPTER.target_of(cell)), loaded.numbers(), cell))


def prepared(program: Any, problem: str) -> Any:
    (inputs,) = program.prepare(np.array(catalog.load(problem).numbers().theta), POINT)
    return inputs


def full(matrix: Any, options: dict[str, Any]) -> np.ndarray:
    """A Newton matrix as a full one, also of a band."""
    if "lband" not in options:
        return matrix.toarray() if issparse(matrix) else np.asarray(matrix)
    lower, upper, n = options["lband"], options["uband"], matrix.shape[1]
    return np.array(
        [[matrix[upper + i - k, k] if -upper <= i - k <= lower else 0.0 for k in range(n)] for i in range(n)]
    )


CASES = [
    *((problem, method, "eager") for problem in ("robertson", "hires", "lorenz") for method in ("radau", "odeint")),
    *((problem, method, "compiled") for problem in ("robertson", "hires") for method in ("lsoda", "odeint", "bdf")),
    ("pollution", "radau", "eager"), ("pollution", "odeint", "compiled"),
    ("pollution", "odeint", "eager"), ("brusselator-1d", "radau", "eager"), ("medical-akzo-nobel", "radau", "eager"),
    ("detest-stiff-a1", "odeint", "eager"), ("detest-stiff-a1", "odeint", "compiled"),
    ("fisher-kpp", "odeint", "eager"), ("fisher-kpp", "odeint", "compiled"), ("fisher-kpp", "bdf", "compiled"),
    ("detest-nonstiff-c2", "lsoda", "compiled"), ("detest-nonstiff-c4", "odeint", "compiled"),
    ("brusselator-1d", "radau", "compiled"), ("medical-akzo-nobel", "radau", "compiled"),
]  # fmt: skip


SHOWN_AGAIN = {
    *((problem, method, "compiled") for problem in ("robertson", "hires") for method in ("lsoda", "bdf")),
    ("fisher-kpp", "bdf", "compiled"), ("detest-stiff-a1", "odeint", "compiled"), ("lorenz", "radau", "eager"),
    ("lorenz", "odeint", "eager"),
}  # fmt: skip


@pytest.mark.parametrize(("problem", "method", "mode"), others_slow(CASES, set(CASES) - SHOWN_AGAIN))
def test_the_newton_matrix_is_the_jacobian_of_the_whole_system(problem: str, method: str, mode: str) -> None:
    """Against central differences of Z' along random directions, in the order in which the solver has the values."""
    if mode == "compiled":
        skip_without("numba")
    program = scipy_program(problem, method, mode)
    numbers = catalog.load(problem).numbers()
    random = np.random.default_rng(0)
    for system in prepared(program, problem).augmented:
        n, size = len(numbers.y0), len(system.start)
        rows = size // n
        natural = np.concatenate([np.array(numbers.y0) + 0.1, random.normal(size=size - n)])
        place = np.arange(size) if system.place is None else system.place
        z = np.empty(size)
        z[place] = natural
        jac = system.options["jac"]
        # Another one before, as one array may serve all calls.
        jac(0.1, z + 1.0, *system.args)
        matrix = full(jac(0.3, z, *system.args), system.options)
        for block in range(rows):
            # A step that suits one block row by row: states and sensitivities have other sizes.
            direction = np.zeros(size)
            direction[place[block * n : (block + 1) * n]] = random.normal(size=n)
            step = 1e-5
            ahead, behind = (np.array(system.rhs(0.3, z + s * step * direction, *system.args)) for s in (1, -1))
            difference = (ahead - behind) / (2 * step)
            product = matrix @ direction
            np.testing.assert_allclose(product, difference, rtol=1e-4, atol=1e-5 * np.max(np.abs(difference)))


@pytest.mark.parametrize("problem", ["robertson", "detest-nonstiff-b2"])
def test_number_by_number_and_by_matrices_are_the_same(problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is compiled is the same again."""
    monkeypatch.setattr(scalar_jacobian, "UNROLLED_UP_TO", 1000)
    programs = [scipy_program(problem, "radau")]
    assert hasattr(programs[0]._source, "augmented")
    monkeypatch.setattr(scalar_jacobian, "UNROLLED_UP_TO", 0)
    programs.append(scipy_program(problem, "radau"))
    assert not hasattr(programs[1]._source, "augmented")
    if not lacking("numba"):
        programs.append(scipy_program(problem, "radau", "compiled"))
    systems = [prepared(program, problem).augmented[0] for program in programs]
    z = np.abs(np.random.default_rng(1).normal(size=len(systems[0].start)))
    values = [np.array(system.rhs(0.2, z, *system.args)) for system in systems]
    matrices = [full(system.options["jac"](0.2, z, *system.args), {}) for system in systems]
    for value, matrix in zip(values[1:], matrices[1:], strict=True):
        np.testing.assert_allclose(value, values[0], rtol=1e-12, atol=1e-12 * np.max(np.abs(values[0])))
        np.testing.assert_allclose(matrix, matrices[0], rtol=1e-12, atol=1e-12 * np.max(np.abs(matrices[0])))


def test_sparse_dense_and_banded_layouts_hold_the_same() -> None:
    source_of = scipy_program("pollution", "bdf")._source
    numbers = catalog.load("pollution").numbers()
    shape, columns, z = structure(source_of, numbers), slice(2, 5), np.random.default_rng(0).normal(size=80)
    found = narrowest(shape)
    made = []
    for chosen in (layout.dense(shape, 3), layout.sparse(shape, 3), layout.banded(shape, 3, found)):
        entries = np.zeros(chosen.stored)
        newton.written_out(source_of.second_derivatives, chosen, list(numbers.p), 20, columns)(0.0, z, entries)
        options = {} if chosen.lower is None else {"lband": chosen.lower, "uband": chosen.upper}
        matrix = full(chosen.matrix(entries), options)
        order = np.arange(80) if chosen.order is None else chosen.order
        natural = np.zeros((80, 80))
        natural[np.ix_(order, order)] = matrix
        made.append(natural)
    for matrix in made[1:]:
        np.testing.assert_array_equal(matrix, made[0])


@pytest.mark.parametrize(("problem", "method"), [("brusselator-1d", "bdf"), ("brusselator-2d", "radau")])
def test_fields_leave_the_coupling_out(problem: str, method: str) -> None:
    program = scipy_program(problem, method)
    numbers = catalog.load(problem).numbers()
    inputs = prepared(program, problem)
    blocks = 1 + len(numbers.theta)
    z = np.tile(np.array(numbers.y0) + 0.1, blocks)
    block = full(inputs.state.options["jac"](0.3, z[: len(numbers.y0)], *inputs.state.args), {})
    (augmented,) = inputs.augmented
    np.testing.assert_array_equal(augmented.options["jac"](0.3, z).toarray(), np.kron(np.eye(blocks), block))


@pytest.mark.parametrize("problem", ["brusselator-1d", "medical-akzo-nobel"])
def test_lsoda_has_fields_on_a_line_as_a_narrow_band(problem: str) -> None:
    """Two fields lie one after the other, and one of them is a ring."""
    program = scipy_program(problem, "odeint")
    numbers = catalog.load(problem).numbers()
    inputs = prepared(program, problem)
    (augmented,) = inputs.augmented
    assert inputs.state.options["lband"] <= 5
    assert augmented.options["lband"] <= 5
    blocks, n = 1 + len(numbers.theta), len(numbers.y0)
    z = np.tile(np.array(numbers.y0) + 0.1, blocks)
    placed = np.empty_like(z)
    placed[augmented.place] = z
    matrix = full(augmented.options["jac"](0.3, placed), augmented.options)
    natural = matrix[np.ix_(augmented.place, augmented.place)]
    one = program._source.jacobian(0.3, z[:n], list(numbers.p))
    np.testing.assert_array_equal(natural, np.kron(np.eye(blocks), one.toarray() if issparse(one) else one))


def test_a_band_is_found_in_any_order_of_the_states() -> None:
    order = np.random.default_rng(3).permutation(30)
    chain = np.arange(29)
    rows, columns = np.concatenate([chain, chain + 1, order]), np.concatenate([chain + 1, chain, order])
    found = narrowest(Structure(30, order[rows], order[columns]))
    assert found.width == 1
    np.testing.assert_array_equal(found.place[found.order], np.arange(30))


def test_a_structure_is_found_by_looking_where_the_module_does_not_say() -> None:
    jacobian = np.diag([1.0, 2.0, 3.0, 4.0]) + np.diag([5.0, 6.0, 7.0], -1) + np.diag([8.0, 9.0], 2)
    module = ModuleType("source")
    setattr(module, "jacobian", lambda _t, _y, _p: jacobian)  # noqa: B010 - a module has no such attribute to type
    shape = structure(module, Numbers((1.0,) * 4, (), 0.0, 1.0, (1.0,), (), (1.0,) * 4, "initial_state"))
    assert set(zip(shape.rows.tolist(), shape.columns.tolist(), strict=True)) == set(
        zip(*np.nonzero(jacobian), strict=True)
    )


def test_columns_of_one_group_share_no_row() -> None:
    program = scipy_program("pollution", "radau")
    shape = structure(program._source, catalog.load("pollution").numbers())
    group, n_groups = groups(shape)
    for index in range(n_groups):
        rows = shape.rows[group[shape.columns] == index]
        assert len(rows) == len(set(rows.tolist()))
    assert n_groups < shape.n


def test_a_large_system_is_solved_in_shares() -> None:
    """Of all components of theta, each once, and the gradient is that of one system."""
    program, whole = scipy_program("pollution", "odeint"), scipy_program("pollution", "bdf")
    inputs, theta = prepared(program, "pollution"), np.array(catalog.load("pollution").numbers().theta)
    shares = [range(25)[system.columns] for system in inputs.augmented]
    assert [component for share in shares for component in share] == list(range(25))
    assert max(len(system.start) for system in inputs.augmented) <= 100
    assert len(prepared(whole, "pollution").augmented) == 1
    (ours,), (theirs,) = program.gradient([inputs]), whole.gradient(whole.prepare(theta, Point(1e-8, 1e-10)))
    np.testing.assert_allclose(
        theta * ours.gradient, theta * theirs.gradient, atol=1e-5 * np.max(np.abs(theta * theirs.gradient))
    )
    # The counts are of all of them.
    assert ours.counts.n_accepted > len(shares) * 100


@pytest.mark.parametrize("problem", others_slow(["hires", "robertson"], ["robertson"]))
@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_too_many_second_derivatives_are_not_written_out(
    problem: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Newton matrix then comes by differences, ours or the solver's."""
    if mode == "compiled":
        skip_without("numba")
    theta = np.array(catalog.load(problem).numbers().theta)
    whole = scipy_program(problem, "bdf")
    expected = theta * whole.gradient([prepared(whole, problem)])[0].gradient
    monkeypatch.setattr(variation, "SECOND_DERIVATIVES", 0)
    for method in ("bdf", "odeint"):
        program = scipy_program(problem, method, mode)
        assert not hasattr(program._source, "second_derivatives")
        assert not hasattr(program._source, "augmented_jacobian")
        found = theta * program.gradient([prepared(program, problem)])[0].gradient
        np.testing.assert_allclose(found, expected, atol=1e-5 * np.max(np.abs(expected)))
