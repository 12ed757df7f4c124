"""The cost of a certified reference, before it is computed: counted operations, not measured seconds.

The kind of truth of a problem depends on this, so it must not depend on the load of a machine. Counts become seconds
by fixed rates, from one core of 2023.
"""

from __future__ import annotations

import math

import numpy as np

from sciml_bench.references.attempts import opening_settings
from sciml_bench.references.double_precision import EvaluationLimit, emitted_numpy, integrate
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.dynamics import Dynamics
from sciml_bench.references.engine.newton_matrix import DENSE_UNKNOWNS, bandwidth
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.references.gradient_certificate import RANDOM_DIRECTIONS, SINGLE_DIRECTIONS

#: Seconds of one operation on balls, of one term of a product of their matrices, of bringing one number from balls to
#: doubles and back, and of one multiplication in doubles.
_BALL_S, _TERM_S, _ENTRY_S, _DOUBLE_S = 9e-8, 1.2e-8, 4e-7, 2.5e-10
_PILOT = ("Radau", 1e-6, 1e-8)
_PILOT_EVALUATIONS = 30_000
#: Multiplications that the pilot's factorisations may take; it makes one for some three evaluations.
_PILOT_DOUBLES = 1e11
#: Evaluations of SciPy's Radau at 1e-6 per step of the engine, so chosen that costs of the catalog come out right.
_EVALUATIONS_PER_STEP = 30.0
#: Newton iterations of a step, matrices that they factorise, and runs of a certificate with its repetitions.
_ITERATIONS, _FACTORISATIONS, _RUNS = 5.0, 3.0, 4.0
#: Refinements of the adjoint's stages, and operations of a pullback per operation of the right-hand side.
_REFINEMENTS, _PULLBACK = 4.0, 3.0
#: Sweeps over the stages for each direction of the central differences.
_SWEEPS_PER_DIRECTION = 2.5


def estimate_s(case: Case) -> float:
    """Seconds that a certified reference would take, right to a factor of some three; the same whatever the load.

    A pilot solution in double precision gives the number of steps. Infinite if that alone takes too many evaluations.

    Raises:
        ReferenceFailure: the pilot solution fails.
    """
    problem = case.problem
    if case.events is not None:
        raise ReferenceFailure(f"the pilot solution of '{problem.name}' would pass by its events")
    n = problem.n_states
    most = int(min(_PILOT_EVALUATIONS, 3 * _PILOT_DOUBLES / n**3 + 10))
    try:
        evaluations = integrate(problem, emitted_numpy(problem), *_PILOT, math.inf, evaluations=most)[1]
    except EvaluationLimit:
        return math.inf
    steps = max(evaluations / _EVALUATIONS_PER_STEP, len(problem.save_times))
    return steps * _step_s(case.dynamics, opening_settings(case)[1].stages, n, len(case.theta_sizes))


def describe_s(cost_s: float) -> str:
    """A cost in words."""
    return f"about {max(cost_s, 1):.0f} s of processor time" if cost_s < math.inf else "too long to estimate"


def try_estimate_s(case: Case) -> float | None:
    """Return the cost; ``None`` if the pilot solution fails, which says nothing about the engine."""
    try:
        return estimate_s(case)
    except ReferenceFailure:
        return None


def _step_s(dynamics: Dynamics, stages: int, n: int, theta: int) -> float:
    """One step of everything that a certificate needs."""
    sweep_s = stages * dynamics.operations * _BALL_S + stages * stages * n * _TERM_S + stages * n * _ENTRY_S
    newton_s = _ITERATIONS * sweep_s + _FACTORISATIONS * _matrix_doubles(dynamics, stages, n) * _DOUBLE_S
    directions = theta if theta <= SINGLE_DIRECTIONS else RANDOM_DIRECTIONS
    adjoint_s = _REFINEMENTS * _PULLBACK * sweep_s
    return _RUNS * (newton_s + adjoint_s) + (directions + 1) * _SWEEPS_PER_DIRECTION * sweep_s


def _matrix_doubles(dynamics: Dynamics, stages: int, n: int) -> float:
    unknowns = stages * n
    if unknowns <= DENSE_UNKNOWNS:
        return unknowns**3 / 3
    pattern = np.array(dynamics.sources[0].pattern, dtype=np.intp).reshape(-1, 2)
    band = min(bandwidth(pattern[:, 0], pattern[:, 1], n), n)
    return unknowns * float(stages * band) ** 2
