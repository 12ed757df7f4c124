"""One solution of a problem by the reference engine, and the gradient of its loss on the same mesh."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sciml_bench.references.engine.adjoint import Derivatives, gradient
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.numbers import precision
from sciml_bench.references.engine.radau import solve
from sciml_bench.references.engine.trajectory import Settings, Trajectory
from sciml_bench.references.progress import Watch


@dataclass(frozen=True)
class Computation:
    """One trajectory, its gradient by the adjoint, and the time each took."""

    settings: Settings
    trajectory: Trajectory
    solve_s: float
    derivatives: Derivatives
    adjoint_s: float

    def described(self) -> dict[str, object]:
        """Method, settings and counts, for the evidence of a certificate."""
        settings, trajectory = self.settings, self.trajectory
        return {
            "method": "Radau IIA", "stages": settings.stages, "tail": settings.tail,
            "arithmetic_digits": settings.digits, "floor": settings.floor, "negligible": settings.negligible,
            "steps": trajectory.n_steps, "rejected_steps": trajectory.n_rejected,
            "newton_iterations": trajectory.n_iterations,
        }  # fmt: skip


def compute(case: Case, settings: Settings, watch: Watch, gradients: bool) -> Computation:
    """One solution, and the gradient of the loss by the adjoint on its mesh."""
    problem, name = case.problem, f"{settings.stages} stages"
    began = time.process_time()
    trajectory = solve(
        case.dynamics, case.start, problem.t0, problem.save_times, settings, gradients, watch.during(f"{name}, t"),
        case.events,
    )  # fmt: skip
    solved = time.process_time()
    if gradients:
        adjoint = watch.during(f"{name}, adjoint, t")
        derivatives = gradient(trajectory, case.start, case.objective, adjoint, case.events)
    else:
        with precision(settings.bits):
            derivatives = Derivatives(case.objective.value(trajectory.saved, case.start.p), (), ())
    return Computation(settings, trajectory, solved - began, derivatives, time.process_time() - solved)
