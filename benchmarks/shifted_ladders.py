"""How far a time at equal accuracy moves when other tolerances are measured, and whether the stated error holds that.

    python benchmarks/shifted_ladders.py

The cost is the number of right-hand sides that SciPy's solvers evaluate, which has no noise: what moves is the ladder
alone. For five problems, five methods, ladders with a point in each decade or every second one, shifted by quarters of
a decade, and four to seven digits it prints the standard deviation of log cost over the ladders, and in which share of
readings their mean lies within the stated 95 % interval. Exit code 1 when that is less than 90 %.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sciml_bench.stats.axis_error import AxisError, axis_error
from sciml_bench.stats.front import WorkPoint, time_at
from sciml_bench.stats.student import critical_t

Floats = NDArray[np.float64]

LOOSEST, QUARTERS = 1e-3, 29
SPACINGS = {"a decade": 4, "two decades": 8}
DIGITS = (4.0, 5.0, 6.0, 7.0)
BOUND = 0.90
EXPLICIT, STIFF = ("RK45", "DOP853", "LSODA", "Radau"), ("LSODA", "BDF", "Radau")


class Problem(NamedTuple):
    """A right-hand side f(t, y), where it starts, how far it goes, and how absolute tolerances follow relative ones."""

    f: Callable[[float, Floats], list[float]]
    y0: tuple[float, ...]
    t1: float
    methods: tuple[str, ...] = EXPLICIT
    atol: float = 1.0


def robertson(t: float, y: Floats) -> list[float]:
    slow, back, fast = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return [-slow + back, slow - back - fast, fast]


PROBLEMS = {
    "lotka-volterra": Problem(lambda t, y: [1.5 * y[0] - y[0] * y[1], -3 * y[1] + y[0] * y[1]], (1.0, 1.0), 10.0),
    "van der pol": Problem(lambda t, y: [y[1], 5 * (1 - y[0] ** 2) * y[1] - y[0]], (2.0, 0.0), 20.0),
    "pendulum": Problem(lambda t, y: [y[1], -math.sin(y[0])], (1.0, 0.0), 20.0),
    "brusselator": Problem(
        lambda t, y: [1 + y[0] ** 2 * y[1] - 4 * y[0], 3 * y[0] - y[0] ** 2 * y[1]], (1.5, 3.0), 20.0
    ),
    "robertson": Problem(robertson, (1.0, 0.0, 0.0), 1e3, STIFF, 1e-3),
}


def points(problem: Problem, method: str) -> Iterator[WorkPoint]:
    """Digits and evaluations at tolerances a quarter of a decade apart, from the loosest on."""
    times = np.linspace(0.0, problem.t1, 20)[1:]

    def solved(method: str, rtol: float):
        return solve_ivp(problem.f, (0.0, problem.t1), problem.y0, method, times, rtol=rtol, atol=rtol * problem.atol)

    reference = solved("Radau" if problem.methods is STIFF else "DOP853", 1e-13).y
    scale = 1e-3 * np.abs(reference).max(axis=1, keepdims=True) + np.abs(reference)
    for quarter in range(QUARTERS):
        found = solved(method, LOOSEST * 10 ** (-quarter / 4))
        error = math.sqrt(float(np.mean(((found.y - reference) / scale) ** 2)))
        yield WorkPoint(-math.log10(error), float(found.nfev))


def readings(measured: list[WorkPoint], spacing: int, digits: float) -> list[tuple[float, AxisError]]:
    """Log cost and its stated error on each of the shifted ladders that can be read."""
    found: list[tuple[float, AxisError]] = []
    for shift in range(spacing):
        ladder = measured[shift::spacing]
        reading, error = time_at(ladder, digits), axis_error(ladder, digits)
        if reading.time is not None and not reading.at_most and error is not None:
            found.append((math.log(reading.time), error))
    return found


def main() -> int:
    moved: dict[str, list[float]] = {name: [] for name in SPACINGS}
    stated: dict[str, list[float]] = {name: [] for name in SPACINGS}
    held: dict[str, list[bool]] = {name: [] for name in SPACINGS}
    for problem in PROBLEMS.values():
        for method in problem.methods:
            measured = list(points(problem, method))
            for name, spacing in SPACINGS.items():
                for digits in DIGITS:
                    found = readings(measured, spacing, digits)
                    if len(found) < 3:
                        continue
                    mean = statistics.fmean(log for log, _ in found)
                    moved[name].append(statistics.stdev(log for log, _ in found))
                    stated[name] += [error.sd for _, error in found]
                    held[name] += [abs(log - mean) <= critical_t(0.95, error.df) * error.sd for log, error in found]
    good = True
    print(f"{'a point in':<13}{'fronts':>7}{'moved (median, rms, most)':>28}{'stated (median)':>17}{'held':>8}")
    for name in SPACINGS:
        sds, share = moved[name], sum(held[name]) / len(held[name])
        good = good and share >= BOUND
        told = f"{statistics.median(sds):.3f}, {math.sqrt(statistics.fmean(sd * sd for sd in sds)):.3f}, {max(sds):.3f}"
        print(f"{name:<13}{len(sds):>7}{told:>28}{statistics.median(stated[name]):>17.3f}{100 * share:>7.1f}%")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
