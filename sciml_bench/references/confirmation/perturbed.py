"""The truth for perturbed parameters, on which the stability of solvers is tried.

Each parameter is multiplied by 2**u, u uniform on [-1, 1), which is log-uniform within a factor of two. Two runs of
the reference engine with different stages, meshes and arithmetic make the truth: its digits are the common ones, and
if these are few it is discarded.
"""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Callable

import numpy as np
from sympy import Rational

from sciml_bench.record.task import Draw, Reference
from sciml_bench.references.attempts import opening_settings
from sciml_bench.references.confirmation.agreement import COMPARE_BITS, compare
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.numbers import precision
from sciml_bench.references.engine.radau import solve
from sciml_bench.references.failures import LimitReached, ReferenceFailure, StepFailure
from sciml_bench.spec.model import Problem

#: More digits than these are of no use: workers compare in double precision. Fewer than the others are no truth.
DIGITS = 15.0
LEAST_DIGITS = 10.0
_LARGEST_FACTOR_LOG2 = 1.0


def draws(problem: Problem, count: int, seed: int, limit_s: float, announce: Callable[[str], object]) -> list[Draw]:
    """Up to ``count`` perturbed parameter vectors with their solutions; empty for a problem without parameters, or a
    batch.

    A draw whose solution the engine cannot follow, or on which its two runs disagree, is left out. Draws after
    ``limit_s`` seconds of processor time are left out too; both are announced.
    """
    if problem.wrt != "parameters" or problem.batch.size > 1:
        return []
    until_s = time.process_time() + limit_s
    found: list[Draw] = []
    for index in range(count):
        if time.process_time() > until_s:
            announce(
                f"stability of {problem.name}: {len(found)} of {count} perturbed references within {limit_s:g} s of"
                " processor time"
            )
            break
        theta = _perturbed(problem, seed, index)
        try:
            found.append(Draw(theta, _solution(problem, theta, until_s)))
        except (ReferenceFailure, StepFailure) as failure:
            announce(f"stability of {problem.name}: perturbation {index + 1} is left out: {failure}")
    return found


def _perturbed(problem: Problem, seed: int, index: int) -> tuple[float, ...]:
    digest = hashlib.sha256(f"stability/{seed}/{problem.name}/{index}".encode()).digest()
    generator = np.random.default_rng(list(digest))
    theta = np.array(problem.numbers().theta)
    exponents = generator.uniform(-_LARGEST_FACTOR_LOG2, _LARGEST_FACTOR_LOG2, theta.shape)
    return tuple((theta * 2.0**exponents).tolist())


def _solution(problem: Problem, theta: tuple[float, ...], until_s: float) -> Reference:
    case = Case(_with_parameters(problem, theta))

    def progress(at: float, _steps: int) -> None:
        if time.process_time() > until_s:
            raise LimitReached(f"its limit of processor time struck at t = {at:.6g}")

    first, second = (
        solve(
            case.dynamics, case.start, problem.t0, problem.save_times, settings, progress=progress, events=case.events
        )
        for settings in opening_settings(case)
    )
    with precision(COMPARE_BITS):
        negligible = 10 * (second.settings.negligible * second.largest + case.smallest * case.scale)
        digits = compare(first.saved, second.saved, negligible).min(axis=0)
    if not digits.min() >= LEAST_DIGITS:
        label = problem.state_labels[int(digits.argmin())]
        raise ReferenceFailure(f"two runs agree to only {digits.min():.1f} digits, in {label}")
    return Reference(
        kind="engine",
        rows=tuple(range(len(problem.save_times))),
        solution=tuple(tuple(float(value) for value in row) for row in second.saved),
        solution_digits=tuple(float(value) for value in np.minimum(digits, DIGITS)),
    )


def _with_parameters(problem: Problem, theta: tuple[float, ...]) -> Problem:
    """The problem with these parameters, as exact as the doubles are."""
    values = iter(theta)
    parameters = tuple(
        dataclasses.replace(
            parameter, values=tuple(Rational(*next(values).as_integer_ratio()) for _ in parameter.values)
        )
        for parameter in problem.parameters
    )
    networks = tuple(
        dataclasses.replace(network, weights=tuple(next(values) for _ in network.weights))
        for network in problem.networks
    )
    return dataclasses.replace(problem, parameters=parameters, networks=networks, exact={}, invariants={}, published=())
