"""What a certified reference would cost, before it is computed."""

from __future__ import annotations

import time

import numpy as np
from flint import arb_mat

from sciml_bench.reference.case import Case
from sciml_bench.reference.certificate import RANDOM_DIRECTIONS, SINGLE_DIRECTIONS, opening_settings
from sciml_bench.reference.double import emitted_numpy, integrate
from sciml_bench.reference.failure import ReferenceFailure
from sciml_bench.reference.newton import StepFailure, factorise
from sciml_bench.reference.numbers import exact, precision
from sciml_bench.reference.tableau import radau

_PILOT_S = 5.0
_PILOT = ("Radau", 1e-6, 1e-8)
#: Evaluations of SciPy's Radau at 1e-6 per step of an engine with many stages, over the catalog.
_EVALUATIONS_PER_STEP = 6.0
#: Newton iterations of a step, matrices that they factorise, and runs of a certificate with its repetitions.
_ITERATIONS, _FACTORISATIONS, _RUNS = 5.0, 3.0, 6.0
#: Sweeps over the stages for each direction of the central differences.
_SWEEPS_PER_DIRECTION = 10.0


def estimate_s(case: Case) -> float:
    """Seconds that a certified reference would take, right to a factor of three or so; infinite if it cannot be told.

    A pilot solution in double precision says how many steps there are; one evaluation and one factorisation of the
    engine, how long each takes.
    """
    problem = case.problem
    try:
        evaluations = integrate(problem, emitted_numpy(problem), *_PILOT, time.process_time() + _PILOT_S)[1]
    except ReferenceFailure:
        return float("inf")
    settings = opening_settings(case)[1]
    s, n = settings.stages, problem.n_states
    with precision(settings.bits):
        segment, t = case.dynamics.segments()[0], exact(problem.t0)
        tableau = radau(s, settings.bits)
        began = time.process_time()
        rows = [segment.rhs(t, case.start.y0, case.start.p) for _ in range(s)]
        _ = (tableau.a * arb_mat(rows)).mid()
        sweep_s = time.process_time() - began
        began = time.process_time()
        y = np.array([[float(value)] * s for value in case.start.y0])
        entries = segment.jacobian(np.full(s, float(t)), y, np.array([float(value) for value in case.start.p]))
        try:
            factorise(tableau, 0.0, np.nan_to_num(entries), segment, n)
        except StepFailure:
            return float("inf")
        matrix_s = time.process_time() - began
    theta = len(case.theta_sizes)
    directions = theta if theta <= SINGLE_DIRECTIONS else RANDOM_DIRECTIONS
    step_s = _RUNS * (_ITERATIONS * sweep_s + _FACTORISATIONS * matrix_s) + directions * _SWEEPS_PER_DIRECTION * sweep_s
    return max(evaluations / _EVALUATIONS_PER_STEP, len(problem.save_times)) * step_s
