"""Run in a process of its own: what the compiler of ``ADAPTER`` tells in its mode ``MODE``, as one JSON object."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from adapters.cells import build, one_state, source_task

from sciml_bench.record.task import Cell, Point

POINT = Point(1e-5, 1e-5)
SOURCES = {
    "diffrax": """
import jax.numpy as jnp
def rhs(t, y, p): return -y * jnp.sum(p)
def loss(ys): return jnp.sum(ys**2)
""",
    "torchdiffeq": """
import torch
def rhs(t, y, p): return -y * torch.sum(p)
def loss(ys): return torch.sum(ys**2)
""",
    "tensorflow": """
import tensorflow as tf
def rhs(t, y, p): return -y * tf.reduce_sum(p)
def loss(ys): return tf.reduce_sum(ys**2)
""",
}
METHODS = {
    "diffrax": ("tsit5", "checkpointed"),
    "torchdiffeq": ("dopri5", "discrete"),
    "tensorflow": ("dormand_prince", "backsolve"),
}


def findings(adapter: str, mode: str) -> dict[str, Any]:
    """Trace counts over calls with the same and with other shapes, and phases before and after each kind of call."""
    program = build(source_task(SOURCES[adapter], one_state(), Cell("any", adapter, *METHODS[adapter], mode)))
    phases = [dict(program.phases_ns())]
    program.synchronise(program.gradient(program.prepare(np.ones(1), POINT)))
    phases.append(dict(program.phases_ns()))
    traces = [program.trace_count()]
    for theta in (np.ones(1), np.full(1, 1.1), np.full(1, 0.9), np.ones(2), np.full(2, 0.5)):
        program.synchronise(program.solve(program.prepare(theta, POINT)))
        traces.append(program.trace_count())
        phases.append(dict(program.phases_ns()))
    return {"traces": traces, "phases": phases, "cache_hits": program.cache_hits()}


if __name__ == "__main__":
    print(json.dumps(findings(os.environ["ADAPTER"], os.environ["MODE"])))
