"""Run in a process of its own: right-hand sides in array operations against NumPy's, and derivatives by autograd.

Prints for each problem its name, whether it could be written in arrays, and the largest relative error. Arguments:
names of the catalog, or ``random:FIRST:END``.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from emit import random_problems

from sciml_bench.emit import source
from sciml_bench.emit.arrays.array_writer import ArrayWriter
from sciml_bench.emit.arrays.scalar_problems import by_numbers
from sciml_bench.emit.context import Context
from sciml_bench.emit.symbolic.elementary import in_elementary_functions
from sciml_bench.emit.symbolic.forms import NotArrays
from sciml_bench.emit.targets import TARGETS
from sciml_bench.spec import catalog, load_problem
from sciml_bench.spec.model import Problem

BATCH = 3


def problems(words: list[str]) -> Iterator[tuple[str, Problem]]:
    """The problems that the arguments name."""
    for word in words:
        if not word.startswith("random:"):
            yield word, in_elementary_functions(catalog.load(word))
            continue
        first, end = map(int, word.split(":")[1:])
        for seed in range(first, end):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "random.toml"
                path.write_text(random_problems.text(seed), encoding="utf-8")
                yield f"random:{seed}", in_elementary_functions(load_problem(path))


def main(words: list[str]) -> None:
    """Print a line a problem."""
    for name, problem in problems(words):
        whole = module(source(problem, "numpy"))
        numbers = problem.numbers()
        generator = np.random.default_rng(1)
        p = np.array(numbers.p) * generator.uniform(0.8, 1.2, len(numbers.p))
        size = np.abs(numbers.y0[: problem.n_states]) + np.array(numbers.atol_scale[: problem.n_states])
        ys = [size * generator.uniform(0.2, 1.2, problem.n_states) for _ in range(BATCH)]
        context = Context.of(problem, TARGETS["torch-arrays"])
        batched = Context.of(problem, TARGETS["torch-arrays"].for_batch())
        errors = [single(by_numbers(context), whole, ys[0], p), batch(by_numbers(batched), whole, ys, p)]
        try:
            errors.append(single(ArrayWriter(context).text(), whole, ys[0], p))
            arrays = "arrays"
        except NotArrays:
            arrays = "numbers"
        with suppress(NotArrays):
            errors.append(batch(ArrayWriter(batched).text(), whole, ys, p))
        print(name, arrays, f"{max(errors):.1e}", flush=True)


def module(text: str) -> dict[str, Any]:
    """What an emitted module defines."""
    namespace: dict[str, Any] = {}
    exec(compile("import numpy as np\nimport torch\n" + text, "emitted", "exec"), namespace)
    return namespace


def single(text: str, theirs: dict[str, Any], y: np.ndarray, p: np.ndarray) -> float:
    """The error of the right-hand side of one state, and of its derivatives by y and p."""
    ours, t = module(text), torch.tensor(0.37, dtype=torch.float64)

    def rhs(y: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
        # Whatever has no derivative is no constant of autograd's.
        return ours["rhs"](t, y, ours["prepared"](p)) + 0 * (y.sum() + p.sum())

    inputs = (torch.tensor(y), torch.tensor(p))
    expected = theirs["rhs"](0.37, y, tuple(p))
    by_y, by_p = torch.autograd.functional.jacobian(rhs, inputs)
    found = ours["rhs"](t, inputs[0], ours["prepared"](inputs[1]))
    with np.errstate(all="ignore"):
        errors = [error(found, expected), error(by_y, theirs["jacobian"](0.37, y, tuple(p)))]
        if p.size:
            errors.append(error(by_p, theirs["parameter_jacobian"](0.37, y, tuple(p))))
    return max(errors)


def batch(text: str, theirs: dict[str, Any], ys: list[np.ndarray], p: np.ndarray) -> float:
    """The error of the right-hand sides of several states at once."""
    ours = module(text)
    found = ours["rhs"](
        torch.tensor(0.37, dtype=torch.float64), torch.tensor(np.stack(ys)), ours["prepared"](torch.tensor(p))
    )
    return max(error(row, theirs["rhs"](0.37, y, tuple(p))) for row, y in zip(found, ys, strict=True))


def error(found: torch.Tensor, expected: np.ndarray) -> float:
    """The largest error over the largest value; shapes and types must be those that are expected."""
    values = found.detach().numpy()
    if values.dtype != np.float64 or values.shape != np.shape(expected):
        raise TypeError(f"{values.dtype} {values.shape} instead of float64 {np.shape(expected)}")
    if not np.all(np.isfinite(expected)):
        raise ValueError("the point is not one at which the equations are finite")
    return float(np.max(np.abs(values - expected), initial=0.0) / max(np.max(np.abs(expected), initial=0.0), 1e-30))


main(sys.argv[1:])
