"""Run in a process of its own: networks in one framework's emitted source against the scalar form, neuron by neuron.

Prints one line for each case: its name and the relative error. So it does for what is computed around a solve.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from emit import around
from emit.evaluation import evaluate
from emit.networks import RUN, module, problems
from stubs import doses
from stubs.latents import TEXTS, controlled, latent
from stubs.measured import measured

from sciml_bench.spec.tables.control import INTERPOLATIONS

T = 0.37


def main(target: str) -> None:
    """All cases of a target, alone and as a batch."""
    if target == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
    for batched in (False, True):
        if batched and target == "numpy":
            continue
        for name, problem in problems(batched).items():
            numbers = problem.numbers()
            p, ys = np.array(numbers.p), np.reshape(numbers.y0, (numbers.batch, -1))
            expected = np.stack([evaluate(problem, T, y, p) for y in ys])
            given, wanted = (ys, expected) if batched else (ys[0], expected[0])
            found = RUN[target](module(problem, target), T, given, p)
            if found.dtype != np.float64 or found.shape != wanted.shape:
                raise TypeError(f"{name}: {found.dtype} {found.shape} instead of float64 {wanted.shape}")
            error = np.max(np.abs(found - wanted)) / np.max(np.abs(wanted))
            print(f"{name}{'-batch' * batched} {error:.1e}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in TEXTS:
            for size in (1, 3) if target != "numpy" and name != "parameters" else (1,):
                error = around.error(latent(Path(folder), name, size), target)
                print(f"{name}{'-batch' * (size > 1)} {error:.1e}", flush=True)
        print(f"measured {around.error(measured(Path(folder)), target):.1e}", flush=True)
        if target != "numpy":
            print(f"measured-batch {around.error(doses.made(Path(folder)), target):.1e}", flush=True)
        if target == "jax":
            for interpolation in INTERPOLATIONS:
                error = around.controlled_error(controlled(Path(folder), interpolation))
                print(f"{interpolation} {error:.1e}", flush=True)


main(sys.argv[1])
