"""Run in a process of its own: one framework's emitted source against NumPy's. Prints one line a problem."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from emit.evaluation import sample

from sciml_bench.emit import source
from sciml_bench.spec import catalog, load_problem

DATA = Path(__file__).parent / "data"

Arrays = tuple[np.ndarray, ...]


def run_jax(namespace: dict[str, Any], name: str, *arguments: np.ndarray) -> np.ndarray:
    """One function of a JAX module, compiled."""
    import jax

    return np.asarray(jax.jit(namespace[name])(*arguments))


def run_torch(namespace: dict[str, Any], name: str, *arguments: np.ndarray) -> np.ndarray:
    """One function of a PyTorch module."""
    import torch

    return namespace[name](*(torch.tensor(argument) for argument in arguments)).numpy()


def run_tensorflow(namespace: dict[str, Any], name: str, *arguments: np.ndarray) -> np.ndarray:
    """One function of a TensorFlow module, as a graph."""
    import tensorflow as tf

    function = tf.function(namespace[name], autograph=False)
    return function(*(tf.constant(argument) for argument in arguments)).numpy()


RUN = {"jax": run_jax, "torch": run_torch, "tensorflow": run_tensorflow}


def main(target: str, names: list[str]) -> None:
    """Print the name of every problem and the relative errors of right-hand side, loss, Jacobian and split.

    A name that ends in .toml is a file, of the data if it has no folder, any other a problem of the catalog.
    """
    if target == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
    for name in names:
        problem = load_problem(DATA / name) if name.endswith(".toml") else catalog.load(name)
        theirs: dict[str, Any] = {}
        ours: dict[str, Any] = {}
        exec(compile(source(problem, target), name, "exec"), theirs)
        exec(compile(source(problem, "numpy"), name, "exec"), ours)
        t, y, p = sample(problem)
        inputs: Arrays = (np.array(t), y, p)
        errors = [_error(RUN[target](theirs, "rhs", *inputs), ours["rhs"](t, y, tuple(p)))]
        errors.append(_error(RUN[target](theirs, "loss", np.stack([y, 2 * y])), ours["loss"](np.stack([y, 2 * y]))))
        if "jacobian" in theirs:
            errors.append(_error(RUN[target](theirs, "jacobian", *inputs), ours["jacobian"](t, y, tuple(p))))
        if "implicit_terms" in theirs:
            parts = [RUN[target](theirs, part, *inputs) for part in ("explicit_terms", "implicit_terms")]
            errors.append(_error(parts[0] + parts[1], ours["rhs"](t, y, tuple(p))))
        print(name, *(f"{error:.1e}" for error in errors), flush=True)


def _error(theirs: np.ndarray, ours: np.ndarray) -> float:
    if theirs.dtype != np.float64 or theirs.shape != np.shape(ours):
        raise TypeError(f"{theirs.dtype} {theirs.shape} instead of float64 {np.shape(ours)}")
    return float(np.max(np.abs(theirs - ours)) / np.max(np.abs(ours)))


main(sys.argv[1], sys.argv[2:])
