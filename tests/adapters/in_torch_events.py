"""Run in a process of its own: gradients of torchdiffeq through events, as one JSON object of named findings."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from adapters.cells import event_errors, source_task
from adapters.stone import stone, stone_errors, two_stones

from sciml_bench.adapters.torchdiffeq import events
from sciml_bench.emit import source
from sciml_bench.record.task import Cell, Point
from sciml_bench.spec import catalog
from sciml_bench.spec.model import Problem


def program(problem: str, sensitivity: str = "discrete") -> Any:
    """The program of a cell."""
    return program_of(catalog.load(problem), sensitivity)


def program_of(loaded: Problem, sensitivity: str = "discrete") -> Any:
    """The program of a problem."""
    cell = Cell(loaded.name, "torchdiffeq", "dopri5", sensitivity, "eager")
    return events.EventProgram(source_task(source(loaded, "torch-arrays"), loaded.numbers(), cell))


def thermostat() -> list[float]:
    """The gradient at the parameters of the catalog."""
    one = program("thermostat")
    inputs = one.prepare(np.array(catalog.load("thermostat").numbers().theta), Point(1e-8, 1e-10))
    return one.read_gradient(one.gradient(inputs)).gradient.tolist()


if __name__ == "__main__":
    errors = {name: event_errors(program(name), name) for name in ("bouncing-ball", "oral-doses")}
    stones = {way: stone_errors(program_of(two_stones(), way), stones=2) for way in ("discrete", "backsolve")}
    found = {"errors": errors, "thermostat": thermostat(), "stone": stone_errors(program_of(stone())), "stones": stones}
    print(json.dumps(found))
