"""Run in a process of its own: right-hand sides of fields with a matrix against NumPy's, and derivatives by autograd.

Prints for each problem the largest relative error of the right-hand side and of both Jacobians. Arguments: names of
the catalog or problem files.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch

from sciml_bench.emit import source
from sciml_bench.spec import catalog, load_problem

T = 0.37


def main(words: list[str]) -> None:
    """Print a line a problem."""
    for word in words:
        problem = load_problem(word) if word.endswith(".toml") else catalog.load(word)
        ours, theirs = module(source(problem, "torch-arrays")), module(source(problem, "numpy"))
        numbers = problem.numbers()
        generator = np.random.default_rng(1)
        p = np.array(numbers.p, dtype=float) * generator.uniform(0.8, 1.2, len(numbers.p))
        y = np.array(numbers.y0, dtype=float) + generator.uniform(0.1, 0.5, problem.n_states)
        print(word, f"{max(errors(ours, theirs, y, p)):.1e}", flush=True)


def module(text: str) -> dict[str, Any]:
    """What an emitted module defines."""
    namespace: dict[str, Any] = {}
    exec(compile(text, "emitted", "exec"), namespace)
    return namespace


def errors(ours: dict[str, Any], theirs: dict[str, Any], y: np.ndarray, p: np.ndarray) -> list[float]:
    """Errors of the right-hand side and of its derivatives by y and p, relative to the largest value of each."""
    t = torch.tensor(T, dtype=torch.float64)

    def rhs(y: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        return ours["rhs"](t, y, ours["prepared"](p)) + 0 * (y.sum() + p.sum())

    inputs = (torch.tensor(y), torch.tensor(p))
    by_y, by_p = torch.autograd.functional.jacobian(rhs, inputs)
    found = [error(rhs(*inputs), theirs["rhs"](T, y, p)), error(by_y, dense(theirs["jacobian"](T, y, p)))]
    return [*found, error(by_p, dense(theirs["parameter_jacobian"](T, y, p)))] if p.size else found


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


def error(found: torch.Tensor, expected: np.ndarray) -> float:
    """The largest error over the largest value."""
    values = found.detach().numpy()
    assert values.dtype == np.float64, values.dtype
    assert values.shape == np.shape(expected), (values.shape, np.shape(expected))
    return float(np.max(np.abs(values - expected)) / max(np.max(np.abs(expected)), 1e-30))


main(sys.argv[1:])
