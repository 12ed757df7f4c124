"""Mistakes of well-known harnesses that the reference must not repeat.

The number is that of the list of mistakes in the methodology.
"""

from __future__ import annotations

import math

import pytest
from flint import arb

from sciml_bench.references.confirmation.differences import central_differences
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.numbers import matching_digits, precision
from sciml_bench.references.engine.objective import ComponentAt
from sciml_bench.references.engine.radau import solve
from sciml_bench.references.engine.trajectory import Settings
from sciml_bench.spec.model import Problem


@pytest.mark.parametrize("step", [1e-3, 1e-6, 1e-9, 1e-12])
def test_mistake_7_a_fixed_difference_step_in_working_precision_is_no_truth(step: float):
    """d cos(w t)/dw in double precision: the step is too wide or what is left is rounding, whatever it is."""
    w, t = 1.7, 3.0
    found = (math.cos((w + step) * t) - math.cos((w - step) * t)) / (2 * step)
    exact = -t * math.sin(w * t)
    assert abs(found / exact - 1) > 1e-12


def test_mistake_7_the_reference_differentiates_in_high_precision(orbit: Problem):
    case = Case(orbit)
    trajectory = solve(case.dynamics, case.start, orbit.t0, orbit.save_times, Settings(20, 1e-18), keep_steps=True)
    objective = ComponentAt(0, len(orbit.save_times) - 1)
    found = central_differences(case.dynamics, trajectory, case.start, case.unit_directions(), objective)
    with precision(160):
        w, t = arb("1.7"), arb(3)
        assert matching_digits(found[0].value / case.theta_sizes[0], -t * (w * t).sin()) > 19
