"""One adversarial problem: its file, and its truth from a formula or an integrator that is none of the suite's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import mpmath
from mpmath import mp, mpf

#: A number of mpmath, whose type checkers do not know.
Real: TypeAlias = Any

Row = Sequence[Real]
#: Time and theta to the state.
Solution = Callable[[Real, Sequence[Real]], Row]

#: Significant digits that are kept of a truth.
KEPT = 40

WELL, ILL, OUTSIDE = "well", "ill", "outside"


@dataclass(frozen=True)
class Attack:
    """A file and what is known of it.

    ``status``: ``well`` (well posed and to be certified), ``ill`` (no solution, or none that is unique; to be refused),
    ``outside`` (well posed, but a refusal is as good). ``solution`` gives the state at a time for values of theta,
    with the arithmetic at ``digits``; where ``slope`` is given, it is the state's derivative for each component of
    theta (n_theta × n_states) and nothing is differenced. ``loss`` holds the declared loss. ``formula`` is false where
    the truth takes the integrator. ``still`` says that the gradient is zero to the last digit, which rounded values of
    theta would hide.
    """

    name: str
    why: str
    states: Mapping[str, str]
    equations: Mapping[str, str]
    parameters: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    t0: str = "0"
    saved: Sequence[str] = ("1", "2", "5", "10")
    breakpoints: Sequence[str] = ()
    switches: Sequence[str] = ()
    loss: Mapping[str, str] = field(default_factory=dict)
    scales: Mapping[str, str] = field(default_factory=dict)
    solution: Solution | None = None
    slope: Callable[[Real, Sequence[Real]], Sequence[Row]] | None = None
    status: str = WELL
    slow: bool = False
    still: bool = False
    formula: bool = True
    digits: int = 150

    def toml(self) -> str:
        """The text of the problem's file."""
        lines = [
            "spec = 1", f'name = "{self.name}"', f'title = "{self.name}"', 'suite = "nonstiff"',
            'tags = ["adversarial"]', 'tier = "smoke"', f'description = "{self.why}"', "",
            "[time]", f"t0 = {_toml(self.t0)}", f"t1 = {_toml(self.saved[-1])}",
            f"save = {{ times = [{', '.join(_toml(t) for t in self.saved)}] }}",
        ]  # fmt: skip
        if self.breakpoints:
            lines.append(f"breakpoints = [{', '.join(_toml(t) for t in self.breakpoints)}]")
        tables = {"constants": self.constants, "parameters": self.parameters, "states": self.states}
        for title, table in tables.items():
            if table:
                lines += ["", f"[{title}]", *(f"{name} = {self._value(title, name, v)}" for name, v in table.items())]
        lines += ["", "[equations]", *(f'{name} = "{text}"' for name, text in self.equations.items())]
        if self.loss:
            quoted = ("kind", "at")
            lines += ["", "[loss]", *(f'{k} = "{v}"' if k in quoted else f"{k} = {v}" for k, v in self.loss.items())]
        return "\n".join(lines) + "\n"

    def _value(self, table: str, name: str, value: str) -> str:
        if table == "states" and name in self.scales:
            return f"{{ initial = {_toml(value)}, scale = {self.scales[name]} }}"
        return _toml(value)

    @property
    def theta(self) -> list[Real]:
        """The parameters, or the initial state where there are none."""
        return [number(value) for value in (self.parameters or self.states).values()]

    @property
    def times(self) -> list[Real]:
        """The saved times."""
        return [number(value) for value in self.saved]

    def truth(self) -> dict[str, object]:
        """Solution and gradient as decimal strings; only the verdict where there is none."""
        known: dict[str, object] = {"status": self.status, "switches": list(self.switches)}
        if self.slow:
            known["slow"] = True
        if self.solution is None:
            return known
        with mp.workdps(self.digits):
            theta = self.theta
            rows = [list(self.solution(t, theta)) for t in self.times]
            slopes = self._slopes(theta)
            gradient = [self._chain(rows, along) for along in slopes]
            known["solution"] = [[text(value) for value in row] for row in rows]
            known["gradient"] = ["0" if self.still else text(value) for value in gradient]
        return known

    def _slopes(self, theta: list[Real]) -> list[list[Row]]:
        """The derivative of every saved state along every component of theta."""
        assert self.solution is not None
        if self.slope is not None:
            at = [self.slope(t, theta) for t in self.times]
            return [[slopes[i] for slopes in at] for i in range(len(theta))]
        step = mpf(10) ** (-(self.digits // 3))
        found: list[list[Row]] = []
        for i, value in enumerate(theta):
            width = step * (abs(value) if value else 1)
            ahead, behind = ([*theta[:i], value + sign * width, *theta[i + 1 :]] for sign in (1, -1))
            found.append(
                [
                    [
                        (a - b) / (2 * width)
                        for a, b in zip(self.solution(t, ahead), self.solution(t, behind), strict=True)
                    ]
                    for t in self.times
                ]
            )
        return found

    def _chain(self, rows: Sequence[Row], slopes: Sequence[Row]) -> Real:
        """The derivative of the declared loss: sum of phi'((y − target) / scale) y' / scale."""
        kind, target = self.loss.get("kind", "sum_of_squares"), mpf(float(self.loss.get("target", "0")))
        first = len(rows) - 1 if self.loss.get("at") == "end" else 0
        scales = [mpf(float(self.scales.get(name, "1"))) for name in self.states]
        total = mpf(0)
        for row, slope in zip(rows[first:], slopes[first:], strict=True):
            for y, dy, scale in zip(row, slope, scales, strict=True):
                factor = 2 * (y - target) / scale if kind == "sum_of_squares" else mpf(1)
                total += factor * dy / scale
        return total


def number(value: str) -> Real:
    """The number that a text of a file stands for: a decimal, a fraction, or a multiple of pi or a root of two."""
    for name, constant in (("pi", mpmath.pi), ("sqrt(2)", None)):
        if name in value:
            rest = value.replace(name, "1")
            irrational = mpmath.sqrt(2) if constant is None else +constant
            return number(rest) * irrational
    if "/" in value:
        a, b = value.split("/")
        return number(a) / number(b)
    if "*" in value:
        a, b = value.split("*")
        return number(a) * number(b)
    return mpf(value)


def text(value: Real) -> str:
    """A truth as it is kept."""
    return "0" if value == 0 else str(mpmath.nstr(value, KEPT, strip_zeros=False))


def _toml(value: str) -> str:
    try:
        float(value)
    except ValueError:
        return f'"{value}"'
    return value
