"""Run in a process of its own: gradients of Diffrax through events, as one JSON object of named findings."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from adapters.cells import event_errors, source_task
from adapters.stone import stone, stone_errors, two_stones

from sciml_bench.adapters.diffrax import events
from sciml_bench.emit import source
from sciml_bench.record.task import Cell, Point
from sciml_bench.spec import catalog
from sciml_bench.spec.model import Problem


def program(problem: str, method: str, sensitivity: str) -> Any:
    """The program of a cell."""
    return program_of(catalog.load(problem), method, sensitivity)


def program_of(loaded: Problem, method: str, sensitivity: str) -> Any:
    """The program of a problem."""
    cell = Cell(loaded.name, "diffrax", method, sensitivity, "compiled")
    return events.build(source_task(source(loaded, "jax"), loaded.numbers(), cell))


def more_events() -> list[int]:
    """Impacts that a solve counts for two restitutions, by one program: the second has more of them."""
    one = program("bouncing-ball", "tsit5", "checkpointed")
    legs = []
    for restitution in (0.8, 0.9):
        inputs = one.prepare(np.array([9.81, restitution]), Point(1e-8, 1e-10))
        solution = one.read_solution(one.solve(inputs))
        legs.append(int(np.sum(np.diff(np.sign(solution.ys[:, 1])) > 0)))
    return legs


if __name__ == "__main__":
    cases = [
        ("bouncing-ball", "tsit5", "forward"), ("thermostat", "tsit5", "checkpointed"),
        ("integrate-and-fire", "kvaerno5-chord", "forward"), ("oral-doses", "tsit5", "discrete"),
        ("stick-slip", "tsit5", "forward"), ("hodgkin-huxley", "tsit5", "forward"),
    ]  # fmt: skip
    errors = {case[0]: event_errors(program(*case), case[0]) for case in cases}
    ways = ("forward", "checkpointed")
    of_stone = {way: stone_errors(program_of(stone(), "tsit5", way)) for way in ways}
    of_stones = {way: stone_errors(program_of(two_stones(), "tsit5", way), stones=2) for way in ways}
    print(json.dumps({"errors": errors, "more_events": more_events(), "stone": of_stone, "stones": of_stones}))
