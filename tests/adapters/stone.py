"""A problem with a computed start, an observed loss, and an event that ends the solve, whose gradient is known."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from sciml_bench.adapters.base import Program
from sciml_bench.record.task import Point
from sciml_bench.spec import load_problem
from sciml_bench.spec.model import Problem

TEXT = """
spec = 1
name = "stone"
title = "A stone that falls until it hits the ground"

[time]
t1 = 3
save = { times = [0.5, 2.5, 3] }

[parameters]
g = 9.81
height = 20

[states]
x = { initial = "height", scale = 1 }
v = { initial = 0, scale = 1 }
landed = { initial = 0, scale = 1 }

[equations]
x = "v"
v = "-g"
landed = 0

[events.ground]
when = "x"
direction = "falling"
reset = { landed = "t" }
end = true

[events.later]
at = [2.75]
reset = { v = 0 }

[loss]
kind = "sum"
of = "landed + x + v"
"""


def stone() -> Problem:
    """The problem."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stone.toml"
        path.write_text(TEXT, encoding="utf-8")
        return load_problem(path)


def stone_errors(program: Program) -> list[float]:
    """Relative errors of the loss and of its derivatives by g and by the height.

    The stone lands at t = √(2h/g) with v = -√(2hg); the loss is h - g/8 - g/2 at t = 1/2, and twice landed + v.
    """
    g, h = theta = np.array([9.81, 20.0])
    inputs = program.prepare(theta, Point(1e-9, 1e-11))
    found = program.read_gradient(program.gradient(inputs))
    landed, speed = np.sqrt(2 * h / g), np.sqrt(2 * h * g)
    exact = [
        h - 5 * g / 8 + 2 * (landed - speed),
        -5 / 8 - landed / g - speed / g,
        1 + landed / h - speed / h,
    ]
    return [float(abs(a / b - 1)) for a, b in zip((found.loss, *found.gradient), exact, strict=True)]
