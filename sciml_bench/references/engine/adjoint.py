"""The exact gradient of the discrete solution: one backward sweep over the steps of a trajectory.

For each step the transposed stage equations μ_j − h J_jᵀ Σ_i a_ij μ_i = δ_js λ are solved to the working precision
by iterative refinement: products with Jᵀ in ball arithmetic, corrections from a double-precision factorisation. The
adjoint state before the step is Σ μ_j.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat

from sciml_bench.references.engine.event_functions import Events
from sciml_bench.references.engine.numbers import precision
from sciml_bench.references.engine.objective import Objective
from sciml_bench.references.engine.step import ROUNDING, StepFailure, newton_matrix, to_balls, to_doubles
from sciml_bench.references.engine.trajectory import Start, Step, Trajectory
from sciml_bench.references.failures import ReferenceFailure

MAX_REFINEMENTS = 12
_GUARD_DIGITS = 8
#: Adjoints below this, and above its inverse, are scaled before they become doubles.
_SMALL = 1e-100


@dataclass(frozen=True)
class Derivatives:
    """The objective and its derivatives with respect to the initial state and the parameters.

    Where the initial state follows from the parameters, theirs include what comes through it. ``lost`` where something
    fell below what doubles hold on the way: a derivative that is zero may then be one that is not.
    """

    value: arb
    y0: tuple[arb, ...]
    p: tuple[arb, ...]
    lost: bool = False


def gradient(
    trajectory: Trajectory,
    start: Start,
    objective: Objective,
    progress: Callable[[float], object] | None = None,
    events: Events | None = None,
) -> Derivatives:
    """Differentiate an objective of a trajectory whose steps were kept.

    Raises:
        ReferenceFailure: the transposed stage equations of some step cannot be solved.
    """
    settings = trajectory.settings
    with precision(settings.bits):
        value = objective.value(trajectory.saved, start.p)
        last = len(trajectory.saved) - 1
        adjoint = [arb(0)] * len(start.y0)
        parameters = [arb(0)] * len(start.p)
        lost, jumps = False, list(trajectory.jumps)
        functions = None if events is None else events.compiled()
        for place, step in reversed(list(enumerate(trajectory.steps, start=1))):
            while functions is not None and jumps and jumps[-1][0] == place:
                adjoint, share = functions.pull(jumps.pop()[1], adjoint, start.p)
                parameters = [(a + b).mid() for a, b in zip(parameters, share, strict=True)]
            if step.saved is not None:
                slope = objective.slope(trajectory.saved[step.saved], step.saved, last, start.p)
                if slope is not None:
                    adjoint = [(a + b).mid() for a, b in zip(adjoint, slope, strict=True)]
            if any(x != 0 for x in adjoint):
                adjoint, share, less = _scaled_backward(step, adjoint, start, 10.0 ** (_GUARD_DIGITS - settings.digits))
                parameters = [(a + b).mid() for a, b in zip(parameters, share, strict=True)]
                lost |= less
            if progress is not None:
                progress(float(step.place.t))
        shares = [objective.direct(trajectory.saved, start.p)]
        shares += [] if start.around is None else [start.around.pull_start(start.p, adjoint)]
        for share in shares:
            parameters = parameters if share is None else [
                (a + b).mid() for a, b in zip(parameters, share, strict=True)
            ]  # fmt: skip
        return Derivatives(value, tuple(adjoint), tuple(parameters), lost)


def _scaled_backward(
    step: Step, adjoint: list[arb], start: Start, tolerance: float
) -> tuple[list[arb], list[arb], bool]:
    """One step, in units in which the adjoint is of a size that doubles hold."""
    size = arb(0)
    for value, scale in zip(adjoint, step.scale, strict=True):
        size = max(size, abs(value * arb(float(scale))).mid())
    if _SMALL < float(size) < 1 / _SMALL:
        return _backward(step, adjoint, start, tolerance)
    mantissa, exponent = size.man_exp()
    unit = arb(2) ** (int(exponent) + int(mantissa).bit_length())
    before, shares, lost = _backward(step, [(value / unit).mid() for value in adjoint], start, tolerance)
    return [(value * unit).mid() for value in before], [(value * unit).mid() for value in shares], lost


def _backward(step: Step, adjoint: list[arb], start: Start, tolerance: float) -> tuple[list[arb], list[arb], bool]:
    place, p = step.place, start.p
    s, n = place.tableau.stages, len(adjoint)
    states = (arb_mat(s, n, list(step.y) * s) + step.z).mid().entries()
    times = place.times
    h_a = (place.tableau.a * place.h).transpose()
    dual = 1.0 / step.scale
    try:
        matrix = newton_matrix(place, states, np.array([float(x) for x in p]), step.scale)
        source = arb_mat(s, n, [arb(0)] * ((s - 1) * n) + adjoint)
        mu = to_balls(matrix.solve(to_doubles(source, dual), transposed=True), dual, s)
        first, pulled, residual = np.inf, [], source
        for _ in range(MAX_REFINEMENTS):
            nu = (h_a * mu).mid().entries()
            pulled = [
                place.segment.pullback(times[j], states[j * n : j * n + n], p, nu[j * n : j * n + n]) for j in range(s)
            ]
            residual = source + arb_mat([state for state, _ in pulled]) - mu
            correction = matrix.solve(to_doubles(residual.mid(), dual), transposed=True)
            mu = (mu + to_balls(correction, dual, s)).mid()
            size = float(np.max(np.abs(correction)))
            reference = float(np.max(np.abs(to_doubles(mu, dual))))
            contraction = size / first if first < np.inf else 1e-6
            if size * contraction <= tolerance * reference or (contraction > 0.1 and size < ROUNDING * reference):
                break
            if not np.isfinite(size) or contraction > 0.5:
                raise StepFailure("iterative refinement does not converge")
            first = size
    except StepFailure as failure:
        raise ReferenceFailure(f"the adjoint stops at t = {float(place.t):.12g}: {failure}") from failure
    entries = mu.entries()
    before = [sum(entries[i::n], arb(0)).mid() for i in range(n)]
    shares = [sum((share[k] for _, share in pulled), arb(0)) for k in range(len(p))]
    missed = zip(residual.entries(), to_doubles(residual.mid(), dual).tolist(), strict=True)
    return before, shares, any(x.mid() != 0 and x_d == 0.0 for x, x_d in missed)
