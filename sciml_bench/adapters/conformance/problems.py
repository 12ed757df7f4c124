"""Small problems with known answers, on which adapters are checked. All declare a split, for methods that need one.

The numbers are good to 9 digits: double-precision results at a relative tolerance of 1e-12 on which two methods agree
(DOP853 and Radau IIA; Radau IIA and BDF for the stiff problem). The solution of the switched problem is a closed form.
"""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sciml_bench.spec import Problem


@dataclass(frozen=True)
class Expected:
    """A problem's solution (n_times, n_states) and the gradient of its loss (n_theta,); ``None`` if it has none."""

    solution: tuple[tuple[float, ...], ...] | None = None
    gradient: tuple[float, ...] | None = None


@dataclass(frozen=True)
class KnownProblem:
    """A problem file's text with its expected results."""

    text: str
    expected: Expected

    def load(self) -> Problem:
        """The problem, read by the same code as every problem file."""
        from sciml_bench.spec import load_problem

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "problem.toml"
            path.write_text(self.text, encoding="utf-8")
            return load_problem(path)


def _switched(t: float, k: float = 2.0, drive: float = 100.0) -> float:
    """y' = -k y, and from t = 1 on y' = -k y + drive, with y(0) = 1."""
    decay = math.exp(-k * t)
    return decay if t <= 1 else decay + drive / k * (1 - math.exp(-k * (t - 1)))


_HEAD = """
spec = 1
name = "{name}"
title = "Adapter conformance: {name}"
description = "A small problem with a known answer."

[source]
citation = "made for this check"
"""

NONSTIFF = KnownProblem(
    _HEAD.format(name="conformance-nonstiff")
    + """
[time]
t0 = 0
t1 = 5
save = { times = [0.5, 1, 2.5, 5] }

[parameters]
a = 1.5
b = 1
c = 3
d = 1

[states]
x = 1
y = 1

[equations]
x = "a*x - b*x*y"
y = "-c*y + d*x*y"

[implicit]
x = "a*x"
y = "-c*y"
""",
    Expected(
        solution=(
            (1.53123077970, 0.410155174253),
            (2.77285090184, 0.258710878142),
            (2.17834517381, 4.36923227868),
            (6.09849467597, 0.628137902187),
        ),
        gradient=(113.999324641, -52.0661597406, 60.7071073182, -89.7063556973),
    ),
)

STIFF = KnownProblem(
    _HEAD.format(name="conformance-stiff")
    + """
[time]
t0 = 0
t1 = 40
save = { times = [0.4, 4, 40] }

[parameters]
k1 = 0.04
k2 = 3e7
k3 = 1e4

[states]
y1 = 1
y2 = { initial = 0, scale = 1e-5, atol_scale = 1e-6 }
y3 = 0

[equations]
y1 = "-k1*y1 + k3*y2*y3"
y2 = "k1*y1 - k3*y2*y3 - k2*y2**2"
y3 = "k2*y2**2"

[implicit]
y1 = "k3*y2*y3"
y2 = "-k3*y2*y3 - k2*y2**2"
y3 = "k2*y2**2"
""",
    Expected(
        solution=(
            (0.985172113862, 3.38639537898e-5, 0.0147940221852),
            (0.905518678595, 2.24047568769e-5, 0.0944589166489),
            (0.715827068741, 9.18553476541e-6, 0.284163745724),
        ),
        gradient=(345.651253524, -5.05788984808e-7, -4.32046449998e-4),
    ),
)

SWITCHED = KnownProblem(
    _HEAD.format(name="conformance-switched")
    + """
[time]
t0 = 0
t1 = 2
save = { times = [0.5, 1, 1.5, 2] }
breakpoints = [1]

[parameters]
k = 2
drive = 100

[states]
y = 1

[equations]
y = "-k*y + where(t >= 1, drive, 0)"

[implicit]
y = "-k*y"
""",
    Expected(solution=tuple((_switched(t),) for t in (0.5, 1.0, 1.5, 2.0)), gradient=(-1710.86566178, 57.4083819817)),
)

# The solution 1/(2 exp(-t) - 1) is infinite at t = log 2: no method can report success at t = 2.
BLOW_UP = KnownProblem(
    _HEAD.format(name="conformance-blow-up")
    + """
[time]
t0 = 0
t1 = 2
save = { times = [0.5, 2] }

[parameters]
k = 1

[states]
y = 1

[equations]
y = "k*y**2 + k*y"

[implicit]
y = "k*y"
""",
    Expected(),
)
