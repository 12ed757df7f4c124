"""Run in a process of its own: what the Julia adapter does, as one JSON object of named findings."""

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

from adapters.cells import build, catalog_task, lotka_volterra_error, robertson_errors, source_task
from adapters.stone import stone, stone_errors, two_stones

from sciml_bench.adapters.julia import ADAPTER
from sciml_bench.adapters.program import Program
from sciml_bench.emit import source
from sciml_bench.host.processes.process import Clock
from sciml_bench.measure.sampling import solve_call, timed
from sciml_bench.record.outcome import SolverFailure
from sciml_bench.record.task import Cell, Numbers, Point
from sciml_bench.references.truth import truth
from sciml_bench.spec import catalog
from sciml_bench.spec.model import Problem

# y' = p y^2 is infinite at t = 1.
BLOW_UP = """
using StaticArrays: SVector
const N_STATES = 1
const N_PARAMETERS = 1
const HAS_BRANCHES = false
const STENCILS = nothing
rhs(y, p, t) = SVector(p[1]*y[1]^2)
function rhs!(dy, y, p, t)
    dy[1] = p[1]*y[1]^2
    return nothing
end
loss(ys) = sum(y -> sum(abs2, y), ys)
"""
WRONG = BLOW_UP.replace("dy[1] = p[1]*y[1]^2", "dy[1] = no_such_name").replace("p[1]*y[1]^2", "no_such_name")
SYNTAX = BLOW_UP.replace("return nothing", "return (")
NUMBERS = Numbers((1.0,), (1.0,), 0.0, 2.0, (0.5, 2.0), (), (1.0,), "parameters")


def cell(method: str, sensitivity: str = "forward", mode: str = "compiled") -> Cell:
    """A cell of the adapter."""
    return Cell("any", "julia", method, sensitivity, mode)


def how_it_ends(text: str, which: Cell) -> list[str]:
    """Outcome and message of a solve, or the type of another exception and its message."""
    try:
        program = build(source_task(text, NUMBERS, which))
        program.read_solution(program.solve(program.prepare(np.array([1.0]), Point(1e-6, 1e-8))))
    except SolverFailure as failed:
        return [str(failed.outcome), str(failed)]
    except Exception as error:
        return [type(error).__name__, str(error)]
    return ["ok", ""]


def gradient_errors(problem: str, method: str, sensitivity: str, rtol: float) -> float:
    """How far a gradient is off the certified one, each derivative in units of its parameter."""
    loaded = catalog.load(problem)
    reference = truth(loaded)
    assert reference is not None
    assert reference.gradient is not None
    program = build(catalog_task(problem, "julia", method, sensitivity, "compiled"))
    theta, expected = np.array(loaded.numbers().theta), np.array(reference.gradient)
    found = program.read_gradient(program.gradient(program.prepare(theta, Point(rtol, rtol * 1e-2)))).gradient
    return float(np.linalg.norm(theta * (found - expected)) / np.linalg.norm(theta * expected))


def bridge() -> dict[str, Any]:
    """What a call looks like from both sides, and what it compiled."""
    task = catalog_task("lotka-volterra", "julia", "tsit5", "forward", "compiled")
    program = build(task)
    call = solve_call(program, task, Point(1e-6, 1e-8))
    theta = np.array(task.numbers.theta)
    samples = [timed(call, (1 + 0.01 * k) * theta, Clock())[1] for k in range(3)]
    inside = [sample.inside for sample in samples]
    assert all(one is not None for one in inside)
    return {
        "outside_ns": [sample.ns for sample in samples],
        "inside_ns": [one.ns for one in inside if one is not None],
        "compile_ns": [one.compile_ns for one in inside if one is not None],
        "traces": program.trace_count(),
        "phases": program.phases_ns(),
        "versions": program.versions(),
    }


def of_one_saved_time() -> list[list[float]]:
    """The solution of y' = p y^2 at the one time that is asked for."""
    program = build(source_task(BLOW_UP, replace(NUMBERS, t1=0.5, save_times=(0.5,)), cell("tsit5")))
    return program.read_solution(program.solve(program.prepare(np.array([1.0]), Point(1e-8, 1e-10)))).ys.tolist()


def of_problem(problem: Problem) -> Program:
    """The program of a problem with forward gradients."""
    return build(source_task(source(problem, "julia"), problem.numbers(), cell("tsit5")))


def findings() -> dict[str, Any]:
    """Everything, by name."""
    forward = "forward"
    return {
        "bridge": bridge(),
        "lotka_volterra": {s: lotka_volterra_error(cell("vern9", s), 1e-9) for s in (forward, "gauss-reversediff")},
        "robertson_components": robertson_errors(cell("rodas5p"), 1e-6, 1e-8),
        "robertson_gradient": gradient_errors("robertson", "rodas5p", forward, 1e-8),
        "events": {
            "bouncing-ball": gradient_errors("bouncing-ball", "tsit5", forward, 1e-8),
            "hodgkin-huxley": gradient_errors("hodgkin-huxley", "tsit5", forward, 1e-8),
            "oral-doses": gradient_errors("oral-doses", "vern9", forward, 1e-8),
        },
        "stone": stone_errors(of_problem(stone())),
        "stones": stone_errors(of_problem(two_stones()), stones=2),
        "algebraic": {
            "robertson-dae": gradient_errors("robertson-dae", "rodas5p", forward, 1e-8),
            "diode-rectifier": gradient_errors("diode-rectifier", "fbdf", forward, 1e-8),
        },
        "brusselator_gradient": gradient_errors("brusselator-2d", "rodas5p", forward, 1e-6),
        "blow_up": {name: how_it_ends(BLOW_UP, cell(name)) for name in ("tsit5", "rodas5p", "fbdf")},
        "one_saved_time": of_one_saved_time(),
        "wrong": how_it_ends(WRONG, cell("tsit5")),
        "syntax": how_it_ends(SYNTAX, cell("tsit5")),
        "zygote_on_a_field": _zygote_on_a_field(),
        "methods": [method.name for method in ADAPTER.methods],
    }


def _zygote_on_a_field() -> list[str]:
    try:
        build(catalog_task("brusselator-2d", "julia", "tsit5", "gauss-zygote", "compiled"))
    except SolverFailure as failed:
        return [str(failed.outcome), str(failed)]
    return ["ok", ""]


if __name__ == "__main__":
    print(json.dumps(findings()))
