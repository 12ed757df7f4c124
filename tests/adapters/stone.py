"""Problems with computed starts, observed losses, and an event that ends the solve, whose gradients are known."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from sciml_bench.adapters.program import Program
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


CONDITIONS = "condition,start,kick\nlow,height,0\nhigh,2*height,1.5\n"


def stone() -> Problem:
    """The problem of one stone."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stone.toml"
        path.write_text(TEXT, encoding="utf-8")
        return load_problem(path)


def two_stones() -> Problem:
    """Two stones as two conditions: one lands, the other is still in the air when it is kicked at t = 2.75."""
    with tempfile.TemporaryDirectory() as folder:
        return load_problem(write_two_stones(Path(folder)))


def write_two_stones(folder: Path) -> Path:
    """Write the problem of two stones, with the table of its conditions."""
    text = TEXT.replace('x = { initial = "height"', 'x = { initial = "start"').replace("{ v = 0 }", '{ v = "kick" }')
    folder.joinpath("conditions.csv").write_text(CONDITIONS, encoding="utf-8")
    path = folder / "stone.toml"
    path.write_text(text + '[conditions]\nfile = "conditions.csv"\n', encoding="utf-8")
    return path


def stone_errors(program: Program, stones: int = 1) -> list[float]:
    """Relative errors of the loss and of its derivatives by g and by the height.

    The first stone lands at t = √(2h/g) with v = -√(2hg); its loss is h - g/8 - g/2 at t = 1/2, and twice landed + v.
    The second one is at 2h - g/8, 2h - 25g/8 and, with a kick of 3/2, 2h - 61g/16 + 3/8 at the three times, with
    v = -g/2, -5g/2 and 3/2 - g/4.
    """
    g, h = theta = np.array([9.81, 20.0])
    inputs = program.prepare(theta, Point(1e-9, 1e-11))
    found = program.read_gradient(program.gradient(inputs))
    landed, speed = np.sqrt(2 * h / g), np.sqrt(2 * h * g)
    first = [h - 5 * g / 8 + 2 * (landed - speed), -5 / 8 - landed / g - speed / g, 1 + landed / h - speed / h]
    by_g = -(1 / 8 + 25 / 8 + 61 / 16 + 1 / 2 + 5 / 2 + 1 / 4)
    second = [6 * h + by_g * g + 15 / 8, by_g, 6]
    exact = first if stones == 1 else np.add(first, second)
    return [float(abs(a / b - 1)) for a, b in zip((found.loss, *found.gradient), exact, strict=True)]
