"""Run in a process of its own: how the Diffrax adapter trains, as one JSON object of named findings."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jax
import jax.numpy as jnp
import optax
from adapters.trainings import findings

from sciml_bench.adapters.diffrax.training import optimiser_of
from sciml_bench.record.task import Cell, Training

RUNAWAY = """
import jax.numpy as jnp
def rhs(t, y, p): return p[0]*y
def loss(ys): return -jnp.sum(ys**2)
"""


def apply(training: Training, theta: np.ndarray, gradients: list[np.ndarray]) -> np.ndarray:
    """Steps of Optax's optimiser."""
    jax.config.update("jax_enable_x64", True)
    optimiser = optimiser_of(training)
    values = jnp.asarray(theta)
    state = optimiser.init(values)
    for gradient in gradients:
        updates, state = optimiser.update(jnp.asarray(gradient), state, values)
        values = jnp.asarray(optax.apply_updates(values, updates))
    return np.asarray(values)


if __name__ == "__main__":
    print(json.dumps(findings(Cell("any", "diffrax", "tsit5", "checkpointed", "compiled"), apply, RUNAWAY)))
