"""Equations that a path drives, which NumPy code is not emitted for: the engine's own form stands in for it."""

from __future__ import annotations

import numpy as np
from stubs.latents import stochastic

from sciml_bench.references.cost import estimate_s
from sciml_bench.references.double_precision import double_solution
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.radau import solve
from sciml_bench.references.engine.trajectory import Settings


def test_double_precision_agrees_with_the_engine_and_the_cost_is_known(tmp_path):
    problem = stochastic(tmp_path)
    case = Case(problem)
    exact = solve(case.dynamics, case.start, problem.t0, problem.save_times, Settings(8, 1e-10, 22)).saved
    found = double_solution(problem, limit_s=30)
    assert np.abs(found.rows - np.array([[float(value) for value in row] for row in exact])).max() < 1e-9
    assert min(found.digits) > 8
    assert 0.01 < estimate_s(case) < 600


def test_each_trajectory_follows_its_own_path(tmp_path):
    first, second = (Case(trajectory) for trajectory in stochastic(tmp_path, 2).trajectories())
    half = [case.dynamics.in_doubles()[3](0.45, np.array([1.0, 0.0, 0.5]), _p(case)) for case in (first, second)]
    assert half[0][:2] != half[1][:2]
    assert half[0][2] == half[1][2] == -0.5


def _p(case: Case) -> np.ndarray:
    return np.array([float(value) for value in case.start.p])
