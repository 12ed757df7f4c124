"""What the exact solution keeps, and how far a solve drifts from it."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from stubs.latents import stochastic

from sciml_bench.emit import invariants_source
from sciml_bench.measure.scoring.invariants import Invariants
from sciml_bench.spec import catalog, load_problem
from sciml_bench.spec.model import Problem


def drifts(problem: Problem, ys: Any) -> Any:
    task: Any = SimpleNamespace(numbers=problem.numbers(), invariants=invariants_source(problem))
    return Invariants(task).drifts(np.asarray(ys))


def saved(problem: Problem) -> np.ndarray:
    """The initial state at every saved time, which keeps whatever there is to keep."""
    numbers = problem.numbers()
    return np.tile(numbers.y0, (len(numbers.save_times), 1))


def test_what_stays_where_it_was_drifts_nowhere():
    problem = catalog.load("pleiades")
    found = drifts(problem, saved(problem))
    assert list(found) == ["momentum_x", "momentum_y", "angular_momentum"]
    assert all(told["drift"] == 0 for told in found.values())
    # m = 1..7 in the order of the file, and only bodies 4 to 7 move.
    assert found["angular_momentum"]["initial"] == pytest.approx(109.0)


def test_the_largest_change_over_the_saved_times_counts():
    problem = catalog.load("henon-heiles")
    ys = saved(problem)
    labels = problem.state_labels
    ys[3, labels.index("p1")] += 0.5
    ys[5, labels.index("p1")] -= 0.1
    p1 = ys[0, labels.index("p1")]
    change = max(abs((p1 + 0.5) ** 2 - p1**2), abs((p1 - 0.1) ** 2 - p1**2)) / 2
    assert drifts(problem, ys)["energy"]["drift"] == pytest.approx(change)


def test_a_learned_energy_is_evaluated_with_the_weights_of_its_network():
    problem = catalog.load("henon-heiles-hnn")
    (network,) = problem.networks
    x, weights = np.array(problem.numbers().y0), np.array(network.weights)
    for layer in network.layers:
        w, b, weights = np.split(weights, [layer.outputs * layer.inputs, layer.size])
        x = w.reshape(layer.outputs, layer.inputs) @ x + b
        x = np.tanh(x) if layer.activation == "tanh" else x
    found = drifts(problem, saved(problem))
    assert found["energy"] == {"initial": pytest.approx(float(x[0])), "drift": 0.0}


CIRCLES = """\
spec = 1
name = "circles"
title = "Circles"
[time]
t1 = 1
save = { times = [0.5, 1] }
[parameters]
w = 2
[states]
x = 1
y = 0
[equations]
x = "-w*y"
y = "w*x"
[invariants]
radius = "sqrt(x**2 + y**2)*w"
[batch]
size = 3
spread = 0.1
"""


def test_of_a_batch_the_worst_trajectory_counts(tmp_path):
    (tmp_path / "circles.toml").write_text(CIRCLES, encoding="utf-8")
    problem = load_problem(tmp_path / "circles.toml")
    ys = saved(problem)
    ys[1, 4] *= 1.25
    x, y = problem.numbers().y0[4:]
    change = 2 * (math.hypot(1.25 * x, y) - math.hypot(x, y))
    assert drifts(problem, ys)["radius"] == {"initial": 2.0, "drift": pytest.approx(change)}


def test_a_solution_that_is_not_finite_has_no_drift():
    problem = catalog.load("henon-heiles")
    ys = saved(problem)
    ys[-1, 0] = math.nan
    assert drifts(problem, ys)["energy"]["drift"] is None


def test_problems_without_invariants_have_no_source(tmp_path):
    assert invariants_source(catalog.load("spiral-node")) == ""
    problem = stochastic(tmp_path)
    # Where the initial state may be computed, there is nothing certain to start from.
    assert invariants_source(dataclasses.replace(problem, invariants={"u": problem.equations["u"]})) == ""
