"""Solver stability: one untimed solve for each perturbed theta at each tolerance, and how far off it was."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sciml_bench.adapters.program import Program
from sciml_bench.measure.exceptions import explain
from sciml_bench.measure.phases import Phases
from sciml_bench.measure.sampling import solve_call
from sciml_bench.measure.scoring.solution import solve_scores
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.perturbed_solve import PHASE, PerturbedSolve
from sciml_bench.record.task import Task


def try_draws(
    task: Task, program: Program, phases: Phases, tell: Callable[[PerturbedSolve], object], limit_s: float
) -> None:
    """Solve for every draw at every point, telling of each; ends early when ``limit_s`` has passed."""
    until_ns = phases.clock.now_ns() + int(limit_s * 1e9)
    for draw in range(len(task.draws)):
        for point in range(len(task.points)):
            if phases.clock.now_ns() > until_ns:
                return
            # Each trial is a phase, so that the engine's limit is one of a solve, and a hang has a place.
            with phases.phase(PHASE, point):
                trial = _try(task, program, draw, point)
            tell(trial)


def _try(task: Task, program: Program, draw: int, point: int) -> PerturbedSolve:
    numbers, tolerance = task.numbers, task.points[point]
    call = solve_call(program, task, tolerance)
    try:
        output = call.run(call.prepare(np.array(task.draws[draw].theta)))
        call.synchronise(output)
        solution = call.read(output)
        scores, _ = solve_scores(solution.ys, task.draws[draw].reference, numbers.atol_scale, task.error_bound)
    except BaseException as error:
        # Panics of Rust and exits do not derive from Exception.
        return PerturbedSolve(draw, point, explain(error, Outcome.CRASH)[0])
    error = scores.get("trajectory_error")
    return PerturbedSolve(draw, point, Outcome.OK, None if error is None else float(error))
