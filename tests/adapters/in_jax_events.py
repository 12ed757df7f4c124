"""Run in a process of its own: gradients of Diffrax through events, as one JSON object of named findings."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from adapters.cells import event_errors, source_task
from adapters.stone import stone_errors, two_stones

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
    return events.EventProgram(source_task(source(loaded, "jax"), loaded.numbers(), cell))


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
    at_length = "AT_LENGTH" in os.environ
    cases = [
        ("thermostat", "tsit5", "checkpointed"), ("hodgkin-huxley", "tsit5", "forward"),
        ("integrate-and-fire", "kvaerno5-chord", "forward"), ("stick-slip", "tsit5", "forward"),
    ] if at_length else [("bouncing-ball", "tsit5", "forward"), ("oral-doses", "tsit5", "discrete")]  # fmt: skip
    found: dict[str, Any] = {"errors": {case[0]: event_errors(program(*case), case[0]) for case in cases}}
    if not at_length:
        found["more_events"] = more_events()
        found["stones"] = {
            way: stone_errors(program_of(two_stones(), "tsit5", way), stones=2) for way in ("forward", "checkpointed")
        }
    print(json.dumps(found))
