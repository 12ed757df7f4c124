"""Run in a process of its own: what the torchode adapter does, as one JSON object of named findings."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from adapters.cells import build, lotka_volterra_error, one_state, outcome, source_task

from sciml_bench.adapters.program import Program
from sciml_bench.record.outcome import SolverFailure
from sciml_bench.record.task import Cell, Numbers, Point

SOURCE = """
import torch
def rhs(t, y, p): return torch.stack([p[0]*y[..., 0]*y[..., 1], torch.zeros_like(y[..., 1])], dim=-1)
def loss(ys): return torch.sum(ys**2)
"""
BLOW_UP = """
import torch
def rhs(t, y, p): return p[0]*y**2
def loss(ys): return torch.sum(ys**2)
"""
TIME_OF_VECTORS = BLOW_UP.replace("p[0]*y**2", "p[0]*t*y")
RATES = (-1.0, -50.0)


def cell(method: str = "dopri5") -> Cell:
    """A cell of the adapter."""
    return Cell("any", "torchode", method, "discrete", "eager")


def pair(text: str = SOURCE, states: tuple[float, ...] = (1.0, RATES[0], 1.0, RATES[1])) -> Program:
    """Two decays, each at a rate of its own that is a state which does not change."""
    numbers = Numbers(states, (1.0,), 0.0, 2.0, (0.5, 2.0), (), (1.0,) * len(states), "parameters", batch=2)
    return build(source_task(text, numbers, cell()))


def own_steps() -> dict[str, Any]:
    """Steps of both decays together, and of each alone."""
    point, theta = Point(1e-6, 1e-8), np.ones(1)
    program = pair()
    together = program.read_solution(program.solve(program.prepare(theta, point)))
    gradient = program.read_gradient(program.gradient(program.prepare(theta, point)))
    alone = []
    for rate in RATES:
        numbers = Numbers((1.0, rate), (1.0,), 0.0, 2.0, (0.5, 2.0), (), (1.0, 1.0), "parameters")
        single = build(source_task(SOURCE, numbers, cell()))
        alone.append(single.read_solution(single.solve(single.prepare(theta, point))).statistics["n_steps"])
    trajectories = together.trajectories
    assert trajectories is not None
    return {
        "ys": together.ys.tolist(),
        "statistics": together.statistics,
        "trajectories": dataclasses.asdict(trajectories),
        "alone": alone,
        "gradient": gradient.gradient.tolist(),
    }


def failing_batch() -> dict[str, Any]:
    """y' = y² from 1, infinite at t = 1, beside one that stays at 0."""
    program = pair(BLOW_UP, (1.0, 0.0))
    try:
        program.read_solution(program.solve(program.prepare(np.ones(1), Point(1e-6, 1e-6))))
    except SolverFailure as raised:
        failed = () if raised.trajectories is None else raised.trajectories.failed
        return {"outcome": raised.outcome, "failed": failed, "message": str(raised)}
    return {}


def refused() -> list[str]:
    """A right-hand side that multiplies vectors by the time, for a batch."""
    try:
        pair(TIME_OF_VECTORS)
    except SolverFailure as raised:
        return [raised.outcome, str(raised)]
    return []


def findings() -> dict[str, Any]:
    """Everything, by name."""
    assert one_state().batch == 1
    return {
        "errors": {method: lotka_volterra_error(cell(method), 1e-7) for method in ("tsit5", "dopri5")},
        "own": own_steps(),
        "failing": failing_batch(),
        "refused": refused(),
        "blow_up": outcome(BLOW_UP, cell()),
    }


if __name__ == "__main__":
    print(json.dumps(findings()))
