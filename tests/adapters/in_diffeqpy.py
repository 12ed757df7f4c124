"""Run in a process of its own: what the diffeqpy adapter does, as one JSON object of named findings."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

# Julia comes before NumPy and all else.
import juliacall  # noqa: F401
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from adapters.cells import build, one_state, source_task

from sciml_bench.adapters import registry
from sciml_bench.emit import source
from sciml_bench.record.outcome import SolverFailure
from sciml_bench.record.task import Cell, Numbers, Point
from sciml_bench.references.truth import truth
from sciml_bench.spec import catalog

PYTHON = "import math\n\n\ndef f(dy, y, p, t):\n    dy[0] = {}\n"
JULIA = "function rhs!(dy, y, p, t)\n    dy[1] = {}\n    return nothing\nend\n"
#: y' = p before t = 1 and -p after it: exact for any step that does not cross the jump.
JUMP = Numbers((0.0,), (3.0,), 0.0, 2.0, (0.5, 2.0), (1.0,), (1.0,), "parameters")


def cell(method: str, mode: str) -> Cell:
    """A cell of the adapter."""
    return Cell("any", "diffeqpy", method, "none", mode)


def worst_error(problem: str, which: Cell) -> float:
    """The largest mixed error of a solution over all saved times, each state in units of its own scale."""
    loaded = catalog.load(problem)
    reference = truth(loaded)
    assert reference is not None
    numbers = loaded.numbers()
    program = build(source_task(source(loaded, registry.adapter("diffeqpy").target_of(which)), numbers, which))
    ys = program.read_solution(program.solve(program.prepare(np.array(numbers.theta), Point(1e-8, 1e-10)))).ys
    expected, scale = np.array(reference.solution), np.array(numbers.atol_scale)
    assert ys.shape == expected.shape
    return float(np.max(np.abs(ys - expected) / (scale + np.abs(expected))))


def solved(text: str, numbers: Numbers, which: Cell) -> list[Any]:
    """The states at the saved times and the counts, or outcome and message of the failure."""
    try:
        program = build(source_task(text, numbers, which))
        found = program.read_solution(program.solve(program.prepare(np.array(numbers.p), Point(1e-6, 1e-6))))
    except SolverFailure as failed:
        return [str(failed.outcome), str(failed)]
    return [found.ys.tolist(), dict(found.statistics)]


def refused() -> list[str]:
    """How a gradient ends."""
    program = build(source_task(PYTHON.format("y[0]"), one_state(), cell("tsit5", "eager")))
    try:
        program.gradient(None)
    except SolverFailure as failed:
        return [str(failed.outcome), str(failed)]
    return ["ok", ""]


def main() -> dict[str, Any]:
    """Everything, by name."""
    eager, compiled = cell("tsit5", "eager"), cell("tsit5", "compiled")
    return {
        "lotka_volterra": {mode: worst_error("lotka-volterra", cell("vern9", mode)) for mode in ("eager", "compiled")},
        "robertson": {mode: worst_error("robertson", cell("rodas5p", mode)) for mode in ("eager", "compiled")},
        "jump": {
            "eager": solved(PYTHON.format("p[0] if t < 1.0 else -p[0]"), JUMP, eager),
            "compiled": solved(JULIA.format("t < 1.0 ? p[1] : -p[1]"), JUMP, compiled),
        },
        "blow_up": {
            "eager": solved(PYTHON.format("p[0]*y[0]*y[0]"), one_state(), eager),
            "compiled": solved(JULIA.format("p[1]*y[1]^2"), one_state(), compiled),
        },
        "no_value": solved(PYTHON.format("math.exp(1e6*(1.0 + y[0]))"), one_state(), eager),
        "one_saved_time": solved(PYTHON.format("-p[0]*y[0]"), replace(one_state(), save_times=(2.0,)), eager)[0],
        "refused": refused(),
        "versions": build(source_task(PYTHON.format("y[0]"), one_state(), eager)).versions(),
    }


if __name__ == "__main__":
    print(json.dumps(main()))
