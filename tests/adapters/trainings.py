"""Trainings for the frameworks to agree on; used inside a framework's own process and by the test that judges."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from adapters.cells import build, one_state, source_task

from sciml_bench.adapters import registry
from sciml_bench.emit import source
from sciml_bench.host.processes.process import Clock
from sciml_bench.measure.phases import Phases
from sciml_bench.measure.training import train
from sciml_bench.record.codec import encode
from sciml_bench.record.task import Cell, Training
from sciml_bench.record.training import Trained
from sciml_bench.spec.load import load_problem

SPIRAL = """\
spec = 1
name = "spiral"
title = "A spiral with a network"
[time]
t1 = 0.5
save = { spacing = "linear", count = 3 }
[parameters]
k = 0.5
[networks.f]
inputs = 2
layers = [4, 2]
activation = "tanh"
seed = 1
[states]
u = { initial = [2, 0] }
[equations]
u = "f(u**3) - k*u"
[loss]
target = [1, 0.5]
"""

STEPS = 20

# Epsilon is large, so that it matters where it stands.
OPTIMISERS = {
    "adam": Training("adam", 0.05, STEPS, 1e-10, 1e-10, beta1=0.9, beta2=0.999, epsilon=1e-2),
    "adamw": Training("adamw", 0.05, STEPS, 1e-10, 1e-10, beta1=0.8, beta2=0.99, epsilon=1e-2, weight_decay=0.3),
    "rmsprop": Training("rmsprop", 0.05, STEPS, 1e-10, 1e-10, decay=0.9, epsilon=1e-2),
    "sgd": Training("sgd", 0.05, STEPS, 1e-10, 1e-10),
}

Apply = Callable[[Training, np.ndarray, list[np.ndarray]], np.ndarray]
"""From the first theta to that after steps with these gradients, by a framework's optimiser."""


def gradients() -> list[np.ndarray]:
    """Made-up gradients of very different sizes."""
    generator = np.random.default_rng(3)
    return [generator.normal(size=12) * 10.0 ** generator.integers(-5, 3, 12) for _ in range(STEPS)]


def first_theta() -> np.ndarray:
    """Where they are applied first."""
    return np.random.default_rng(4).normal(size=12)


def pinned(training: Training, theta: np.ndarray, gradients: list[np.ndarray]) -> np.ndarray:
    """The formulas of :class:`~sciml_bench.record.task.Training`, written out."""
    rate, name = training.learning_rate, training.optimiser
    m, v = np.zeros_like(theta), np.zeros_like(theta)
    for t, g in enumerate(gradients, start=1):
        if name == "sgd":
            theta = theta - rate * g
        elif name == "rmsprop":
            v = training.number("decay") * v + (1 - training.number("decay")) * g**2
            theta = theta - rate * g / (np.sqrt(v) + training.number("epsilon"))
        else:
            beta1, beta2 = training.number("beta1"), training.number("beta2")
            m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
            if name == "adamw":
                theta = theta - rate * training.number("weight_decay") * theta
            corrected = m / (1 - beta1**t), v / (1 - beta2**t)
            theta = theta - rate * corrected[0] / (np.sqrt(corrected[1]) + training.number("epsilon"))
    return theta


def trained(program: Any, settings: Training, size: int) -> Trained:
    """What comes of a training in this process."""
    told: list[Trained] = []
    phases = Phases(Clock(), lambda _event: None)
    train(settings, size, program, phases, lambda result, complete: told.append(result) if complete else None, 300.0)
    return told[-1]


def findings(cell: Cell, apply: Apply, runaway: str) -> dict[str, Any]:
    """What one framework does: by formula, on the spiral, and where the first step leads far away.

    ``runaway`` is source of y' = p y whose loss is minus the sum of squares: a huge step lets y overflow at once.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "spiral.toml"
        path.write_text(SPIRAL, encoding="utf-8")
        problem = load_problem(path)
    text, numbers = source(problem, registry.adapter(cell.adapter).target_of(cell)), problem.numbers()
    spiral = trained(build(source_task(text, numbers, cell)), OPTIMISERS["adam"], len(numbers.theta))
    huge = Training("sgd", 1e6, STEPS, 1e-6, 1e-6)
    gone = trained(build(source_task(runaway, one_state(), cell)), huge, 1)
    return {
        "formulas": {name: list(apply(known, first_theta(), gradients())) for name, known in OPTIMISERS.items()},
        "spiral": encode(spiral),
        "diverging": encode(gone),
    }
