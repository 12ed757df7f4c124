"""Data of the trajectories of catalog problems: where they come from, and that every number of them is that."""

from __future__ import annotations

import csv
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from sciml_bench.emit import source
from sciml_bench.spec import catalog
from sciml_bench.spec.model import Problem


def quantity(problem: Problem, name: str) -> np.ndarray:
    """The values of all trajectories, (batch, …)."""
    given = next(given for given in problem.given if given.name == name)
    return np.array(given.rows).reshape(len(given.rows), *given.shape)


def test_digits_are_the_first_of_the_data_of_the_conventional_track():
    folder = catalog.folder()
    with (folder / "data" / "digits.csv").open(encoding="utf-8") as file:
        label, *pixels = next(rows := csv.reader(file))
        assert (label, pixels[0], pixels[-1]) == ("label", "p0", "p63")
        first = [next(rows) for _ in range(256)]
    with (folder / "neural" / "digits.csv").open(encoding="utf-8") as file:
        header, *ours = csv.reader(file)
    assert header == [*(f"x[{i}]" for i in range(64)), "label"]
    assert ours == [[*row[1:], row[0]] for row in first]


def test_spirals_are_those_of_the_formula_with_the_noise_of_their_seed():
    problem = catalog.load("latent-ode")
    times = np.array(problem.numbers().save_times)
    random = np.random.RandomState(7)
    starts = random.uniform(2, 14, 20)
    noise = 0.3 * random.standard_normal((20, len(times), 2))
    eps = random.standard_normal((20, 4))
    theta = starts[:, None] + times
    turned = 6 * math.pi + 1 - theta
    clockwise = np.stack([15 / turned * np.cos(turned) - 5, 15 / turned * np.sin(turned)], axis=-1)
    counter = np.stack([0.3 * theta * np.cos(theta) + 5, 0.3 * theta * np.sin(theta)], axis=-1)
    even = (np.arange(20) % 2 == 0)[:, None, None]
    # Written with four decimals.
    assert quantity(problem, "x") == pytest.approx(np.where(even, clockwise, counter) + noise, abs=5.1e-5)
    assert quantity(problem, "eps") == pytest.approx(eps, abs=5.1e-5)


def test_turning_paths_are_decaying_spirals_with_their_time():
    problem = catalog.load("neural-cde")
    x, label = quantity(problem, "x"), quantity(problem, "label")
    (control,) = problem.controls
    t = np.array([float(time) for time in control.times])
    starts = np.random.RandomState(17).uniform(0, 2 * np.pi, 8)[:, None]
    angle = starts + np.where(label[:, None] == 1, -2, 2) * t
    expected = np.stack(
        [np.broadcast_to(t, angle.shape), np.exp(-0.3 * t) * np.cos(angle), np.exp(-0.3 * t) * np.sin(angle)]
    )
    assert np.moveaxis(x, -1, 0) == pytest.approx(expected, abs=5.1e-5)
    assert np.array_equal(quantity(problem, "first"), x[:, 0])
    assert list(label) == [0, 1] * 4


def test_observations_of_the_pendulum_are_of_its_own_motion():
    """Runge and Kutta's method between the kinks of the paths, where the equation is smooth."""
    problem = catalog.load("neural-sde")
    w = quantity(problem, "W_values")
    parts, h = 4, 2 / 64

    def slope(z: np.ndarray, dw: np.ndarray) -> np.ndarray:
        x, v = z.T
        return np.stack([v, -np.sin(x) - 0.25 * v + 0.5 * dw[:, 0] + 0.4 * x * dw[:, 1]], axis=-1)

    z, found = np.tile([1.0, 0.0], (4, 1)), []
    for dw in np.moveaxis(np.diff(w, axis=1), 1, 0) / h:
        for _ in range(parts):
            step = h / parts
            k1 = slope(z, dw)
            k2 = slope(z + step / 2 * k1, dw)
            k3 = slope(z + step / 2 * k2, dw)
            k4 = slope(z + step * k3, dw)
            z = z + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        found.append(z)
    assert np.moveaxis(quantity(problem, "x"), 1, 0) == pytest.approx(np.array(found[7::8]), abs=5.1e-5)
    assert problem.controls[0].brownian is not None
    assert 'sha256 = "3eee' in catalog.path("neural-sde").read_text(encoding="utf-8")


def test_moons_are_two_half_circles_with_the_noise_of_their_seed():
    problem = catalog.load("ffjord-moons")
    random = np.random.RandomState(72)
    angle, noise = random.uniform(0, np.pi, 16), 0.1 * random.standard_normal((16, 2))
    upper = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    lower = np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], axis=-1)
    expected = np.where((np.arange(16) % 2 == 0)[:, None], upper, lower) + noise
    assert np.stack([quantity(problem, name) for name in ("x0", "y0")], axis=-1) == pytest.approx(expected, abs=5.1e-5)


def test_the_loss_of_the_moons_is_the_negative_log_likelihood_of_their_flow():
    """Without a flow it is that of the normal distribution itself."""
    problem = catalog.load("ffjord-moons")
    module: dict[str, Any] = {}
    exec(source(problem, "numpy"), module)
    places = np.stack([quantity(problem, name) for name in ("x0", "y0")], axis=-1)
    ends = np.concatenate([places, np.zeros((16, 1))], axis=-1)
    data = zip(*(quantity(problem, name) for name in ("x0", "y0")), strict=True)
    arguments = module["arguments"](np.array(problem.numbers().p))
    losses = [module["loss"](np.array([end]), *given, *arguments) for end, given in zip(ends, data, strict=True)]
    assert sum(losses) == pytest.approx(-np.mean(norm.logpdf(places).sum(axis=-1)), rel=1e-12)
    # Where the flow spreads points by a factor e, their density was a factor e larger than where they end.
    ends[:, 2] = 1
    data = zip(*(quantity(problem, name) for name in ("x0", "y0")), strict=True)
    spread = [module["loss"](np.array([end]), *given, *arguments) for end, given in zip(ends, data, strict=True)]
    assert sum(spread) == pytest.approx(sum(losses) - 1, rel=1e-12)
