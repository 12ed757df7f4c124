"""A problem with measurements whose noise has formulas, and the value of its loss from SciPy's distributions."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sciml_bench.spec import load_problem
from sciml_bench.spec.model import Problem

TEXT = """
spec = 1
name = "measured"
title = "Measured with noise"
[time]
t1 = 4
[parameters]
k = 0.5
x0 = 2
sd = 0.2
[states]
x = { initial = "x0", scale = 1 }
y = { initial = 0, scale = 1 }
[definitions]
total = "x + 2*y"
twice = "2*total"
[equations]
x = "-k*x"
y = "k*x - 0.1*y*x0"
[[observables]]
of = "total*(1 + 0.1*t)"
times = [0, 1, 2.5]
values = [1.9, 1.2, 0.6]
sigma = "sd"
[[observables]]
of = "exp(x0*y)"
times = [1, 4]
values = [1, 1.3]
sigma = "sd*(1 + twice**2)"
distribution = "log10-normal"
[[observables]]
of = "x"
times = [1, 2.5, 4]
values = [1, 0.3, 0.2]
sigma = [0.1, 0.2, 0.3]
distribution = "laplace"
[[observables]]
of = "x**2 + 1"
times = [2.5, 3]
values = [1.5, 1.25]
sigma = 0.5
distribution = "log-laplace"
"""
TIMES = (1, 2.5, 3, 4)


def measured(folder: Path, text: str = TEXT) -> Problem:
    """The problem, written into a folder."""
    path = folder / "measured.toml"
    path.write_text(text, encoding="utf-8")
    return load_problem(path)


def negative_log_likelihood(ys: np.ndarray, p: np.ndarray) -> float:
    """The loss for states at :data:`TIMES`, (4, 2), without its part at t0."""
    from scipy import stats

    (_, x0, sd), at = p, dict(zip(TIMES, ys, strict=True))
    total = 0.0
    for t, value in ((1, 1.2), (2.5, 0.6)):
        total += stats.norm.logpdf(value, (at[t] @ [1, 2]) * (1 + 0.1 * t), sd)
    for t, value in ((1, 1.0), (4, 1.3)):
        sigma = sd * (1 + (2 * at[t] @ [1, 2]) ** 2)
        total += stats.lognorm.logpdf(value, sigma * np.log(10), scale=np.exp(x0 * at[t][1]))
    for t, value, sigma in ((1, 1.0, 0.1), (2.5, 0.3, 0.2), (4, 0.2, 0.3)):
        total += stats.laplace.logpdf(value, at[t][0], sigma)
    for t, value in ((2.5, 1.5), (3, 1.25)):
        total += stats.laplace.logpdf(np.log(value), np.log(at[t][0] ** 2 + 1), 0.5) - np.log(value)
    return -float(total)


def negative_log_likelihood_at_start(p: np.ndarray) -> float:
    """The part of the loss at t0."""
    from scipy import stats

    return -float(stats.norm.logpdf(1.9, p[1], p[2]))
