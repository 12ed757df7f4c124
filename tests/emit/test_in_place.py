"""The emitted function of Python's own numbers against NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emit.evaluation import sample

from sciml_bench.emit import source
from sciml_bench.errors import UsageError
from sciml_bench.spec import catalog


def module(name: str, target: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(compile(source(catalog.load(name), target), name, "exec"), namespace)
    return namespace


# Kinetics, fractional powers, an equation of time, conditions on it and no parameters, a state called y.
@pytest.mark.parametrize("name", ["robertson", "arenstorf", "prothero-robinson", "detest-nonstiff-a1", "lorenz"])
def test_it_says_what_numpy_says_with_plain_lists(name: str) -> None:
    problem = catalog.load(name)
    theirs, ours = module(name, "python"), module(name, "numpy")
    t, y, p = sample(problem)
    dy: list[float] = [0.0] * problem.n_states
    theirs["f"](dy, y.tolist(), p.tolist(), t)
    np.testing.assert_allclose(dy, ours["rhs"](t, y, tuple(p)), rtol=1e-14, atol=0)
    ys = np.stack([y, 2 * y])
    assert theirs["loss"](ys) == ours["loss"](ys)


def test_each_state_is_read_once_and_each_derivative_written_once() -> None:
    text = source(catalog.load("robertson"), "python")
    assert "def f(dy, y, p, t):\n    k1, k2, k3 = p\n    y1, y2, y3 = y\n" in text
    assert text.count("dy[") == 3


@pytest.mark.parametrize("name", ["heat", "pleiades", "spiral-node"])
def test_fields_vectors_and_networks_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="number by number"):
        source(catalog.load(name), "python")
