"""Emitted Numba source against NumPy's, and against the function that it hands to solvers in C."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emit.evaluation import sample

from sciml_bench.emit import source
from sciml_bench.errors import UsageError
from sciml_bench.problem import catalog

pytest.importorskip("numba", reason="the extra numba is not installed")

#: Kinetics, fractional powers, an equation of time, conditions on it and no parameters.
NAMES = ["robertson", "arenstorf", "prothero-robinson", "detest-nonstiff-a1"]


def module(name: str, target: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(compile(source(catalog.load(name), target), name, "exec"), namespace)
    return namespace


@pytest.mark.parametrize("name", NAMES)
def test_numba_says_what_numpy_says(name: str) -> None:
    problem = catalog.load(name)
    theirs, ours = module(name, "numba"), module(name, "numpy")
    t, y, p = sample(problem)
    np.testing.assert_allclose(theirs["rhs"](t, y, p), ours["rhs"](t, y, tuple(p)), rtol=1e-13, atol=0)
    in_place = np.empty(problem.n_states)
    theirs["derivative"](t, y, in_place, p)
    np.testing.assert_array_equal(in_place, theirs["rhs"](t, y, p))
    np.testing.assert_allclose(theirs["jacobian"](t, y, p), ours["jacobian"](t, y, tuple(p)), rtol=1e-12, atol=0)
    for found, expected in zip(theirs["linearised"](t, y, p), ours["linearised"](t, y, tuple(p)), strict=True):
        if expected is None:
            assert found is None
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)
    if problem.n_parameters:
        by_parameter = theirs["parameter_jacobian"](t, y, p)
        np.testing.assert_allclose(by_parameter, ours["parameter_jacobian"](t, y, tuple(p)), rtol=1e-12, atol=0)
    ys = np.stack([y, 2 * y])
    assert theirs["loss"](ys) == ours["loss"](ys)
    np.testing.assert_array_equal(theirs["loss_gradient"](ys), ours["loss_gradient"](ys))


def test_the_code_is_written_number_by_number() -> None:
    text = source(catalog.load("robertson"), "numba")
    assert '@njit(error_model="numpy")\ndef derivative(t, y, dy, p):\n    k1 = p[0]\n' in text
    assert "    dy[2] = c2\n" in text
    # Entries that are always zero are not written.
    assert "out[2, 0]" not in text


def test_a_division_by_zero_is_infinite_as_in_numpy() -> None:
    theirs = module("arenstorf", "numba")
    # Both bodies at the origin of one of them: the distance is zero.
    value = theirs["rhs"](0.0, np.array([-1.0, 0.0, 0.0, 0.0]), np.array([1.0]))
    assert not np.all(np.isfinite(value))


@pytest.mark.parametrize("name", ["heat", "pleiades", "spiral-node"])
def test_fields_vectors_and_networks_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="number by number"):
        source(catalog.load(name), "numba")
