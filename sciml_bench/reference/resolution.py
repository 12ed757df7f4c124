"""Detection of changes in the right-hand side between the stages of a step.

A pulse that is narrow against the distance of the stages leaves no trace in their values. It does in the complex
plane: a function that is smooth over an interval stays of moderate size in a disk around it, one with a narrow feature
does not (it has a pole there, or grows like exp(r²/w²)). So the right-hand side is evaluated on disks around pieces of
the step, in complex ball arithmetic, along the step's polynomial. A piece is smooth if the enclosure over it shrinks
with the piece as a polynomial's would; other pieces are halved. At smooth pieces the slope of the polynomial must be
the right-hand side, within the step's tail.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import flint
import numpy as np
from flint import acb, arb, arb_mat

from sciml_bench.emit.flint import FlintSource
from sciml_bench.reference import moments
from sciml_bench.reference.dynamics import FloatArray, compiled
from sciml_bench.reference.numbers import exact, precision
from sciml_bench.reference.step import Place
from sciml_bench.reference.tableau import Tableau, radau

_BITS = 64
_CONSTANT_BITS = 128
#: A disk half as wide must enclose values at least so many times closer: a polynomial of degree 4 is 16 times closer.
_SMOOTH = 20.0
#: What a slope may differ by from the right-hand side, in tails of the step: of a component's size per step, and of
#: that size times the Jacobian.
_DEFECT = 1e4
#: Pieces shorter than this share of a step hold a singular point; at its ends it is on the mesh.
_DEEPEST = 48
_MOST_PIECES = 3000
#: Enclosures this small against what moves the solution are nothing.
_NOTHING = 1e-24


class Resolution:
    """Checks the steps of one segment."""

    def __init__(self, source: FlintSource):
        with precision(_CONSTANT_BITS):
            constants = {name: acb(exact(value)) for name, value in source.constants.items()}
        self._rhs: Callable[..., list[Any]] = compiled(source, _DISKS | constants)["rhs"]

    def unresolved(
        self,
        place: Place,
        y: Sequence[arb],
        z: arb_mat,
        f: arb_mat,
        p: Sequence[arb],
        scale: FloatArray,
        tail: float,
    ) -> float | None:
        """The first place in a step (0 … 1) at which its polynomial misses the right-hand side; ``None`` if it follows
        it.

        Args:
            place: the step.
            y: the state at its start, (n,).
            z: increments at the stages, (s × n).
            f: right-hand sides at the stages, (s × n).
            p: the parameters.
            scale: size of each component over the step.
            tail: what the step's polynomial may leave, relative to that size.

        Raises:
            StepFailure: a condition on the state changes within the step.
        """
        with np.errstate(all="ignore"):
            return _Step(self._rhs, place, y, z, f, p, scale, tail).search()


class _Step:
    def __init__(
        self,
        rhs: Callable[..., list[Any]],
        place: Place,
        y: Sequence[arb],
        z: arb_mat,
        f: arb_mat,
        p: Sequence[arb],
        scale: FloatArray,
        tail: float,
    ):
        self.rhs, self.place, self.p = rhs, place, [acb(value) for value in p]
        self.exact = y, z, f, p
        n, self.h = len(scale), float(place.h)
        self.nodes = _nodes(place.tableau)
        self.start = np.array([float(value) for value in y])
        self.increments = _array(z, n)
        self.slopes = _array(f, n)
        self.speed = np.max(np.abs(self.slopes), axis=0)
        self.scale = scale
        states = (self.start + self.increments).T
        entries = place.segment.jacobian(np.array([float(t) for t in place.times]), states, _floats(p))
        rate = np.zeros((n, states.shape[1]))
        np.add.at(rate, place.segment.rows, np.abs(entries) * scale[place.segment.columns, None])
        self.allowed = _DEFECT * tail * (scale / self.h + np.max(rate, axis=1))

    def search(self) -> float | None:
        """Pieces from the first to the last, so that the first finding is nearest to the start."""
        if not (np.all(np.isfinite(self.speed)) and np.all(np.isfinite(self.allowed))):
            return 0.5
        waiting = [(0, 0)]
        count = 0
        while waiting:
            depth, index = waiting.pop()
            width = 0.5**depth
            centre = (index + 0.5) * width
            count += 1
            if count > _MOST_PIECES:
                return centre
            if depth > _DEEPEST:
                if index in (0, 2**depth - 1):
                    continue
                return centre
            halves = (index + 0.25) * width, (index + 0.75) * width
            if not self._smooth(centre, halves, width):
                waiting += [(depth + 1, 2 * index + 1), (depth + 1, 2 * index)]
                continue
            for middle in halves:
                if not self._follows(middle):
                    return middle
        return None

    def _smooth(self, centre: float, halves: tuple[float, float], width: float) -> bool:
        whole = self._spread(centre, width / 2)
        if not np.all(np.isfinite(whole)):
            return False
        least = _NOTHING * self.scale / self.h
        if np.all(whole <= least):
            return True
        closer = np.maximum(*(self._spread(middle, width / 4) for middle in halves))
        return bool(np.all(whole <= _SMOOTH * closer + least))

    def _spread(self, centre: float, radius: float) -> FloatArray:
        """Return how far the right-hand side may be from its value at a centre, over the disk around it, (n,)."""
        far = radius * self.h
        state = self._state(centre)
        disks = [_disk(value, far * speed) for value, speed in zip(state, self.speed, strict=True)]
        with precision(_BITS):
            time = self.place.t + self.place.h * centre
            values = self.rhs(acb(time + arb(0, far), arb(0, far)), disks, self.p)
        return np.array([_radius(value) for value in values])

    def _follows(self, at: float) -> bool:
        """Return whether the polynomial's slope equals the right-hand side at a point, at the precision of the step."""
        y, z, f, p = self.exact
        n = len(y)
        weights = _exact_weights(self.place.tableau.stages, at, flint.ctx.prec)
        increments = (weights[0] * z).entries()
        state = [(a + b).mid() for a, b in zip(y, increments, strict=True)]
        slopes = (weights[1] * f).entries()
        found = self.place.segment.rhs((self.place.t + self.place.h * arb(at)).mid(), state, p)
        defect = np.array([abs(float(found[i] - slopes[i])) for i in range(n)])
        return bool(np.all(defect <= self.allowed))

    def _state(self, at: float) -> FloatArray:
        weights = _weights(np.append(0.0, self.nodes), at)
        return self.start + weights[1:] @ self.increments


def _nodes(tableau: Tableau) -> FloatArray:
    return np.array([float(c) for c in tableau.nodes])


def _weights(nodes: FloatArray, at: float) -> FloatArray:
    """Values at a point of the polynomials that are 1 at one node and 0 at the others."""
    gaps = at - nodes
    near = int(np.argmin(np.abs(gaps)))
    if gaps[near] == 0.0:
        return np.eye(len(nodes))[near]
    differences = nodes[:, None] - nodes[None, :]
    np.fill_diagonal(differences, 1.0)
    terms = 1.0 / (np.prod(4.0 * differences, axis=1) * gaps)
    return terms / terms.sum()


@cache
def _exact_weights(stages: int, at: float, bits: int) -> tuple[arb_mat, arb_mat]:
    """Rows of the weights of increments (which are zero at the start) and of slopes at the stages, at a point."""
    with precision(bits):
        nodes = list(radau(stages, bits).nodes)
        return _lagrange([arb(0), *nodes], at, 1), _lagrange(nodes, at, 0)


def _lagrange(nodes: list[arb], at: float, first: int) -> arb_mat:
    point, row = arb(at), []
    for i, own in enumerate(nodes):
        if i >= first:
            terms = [(point - other) / (own - other) for j, other in enumerate(nodes) if j != i]
            row.append(math.prod(terms, start=arb(1)))
    return arb_mat([row]).mid()


def _array(matrix: arb_mat, n: int) -> FloatArray:
    return np.array([float(x) for x in matrix.entries()]).reshape(-1, n)


def _floats(values: Sequence[arb]) -> FloatArray:
    return np.array([float(value) for value in values])


def _disk(centre: float, radius: float) -> acb:
    return acb(arb(centre, radius), arb(0, radius))


def _radius(value: Any) -> float:
    if not isinstance(value, acb):
        return 0.0
    spread = math.hypot(float(value.real.rad()), float(value.imag.rad()) + abs(float(value.imag.mid())))
    return spread if math.isfinite(spread) and math.isfinite(float(value.real.mid())) else math.inf


_NONE = acb("nan")


def _sign(x: acb) -> acb:
    return acb(1) if x.real > 0 else acb(-1) if x.real < 0 else acb(0) if x == 0 else _NONE


def _above(x: acb, or_at: bool) -> acb:
    return acb(1) if x.real > 0 else acb(0) if x.real < 0 else acb(int(or_at)) if x == 0 else _NONE


def _choice(test: acb, a: acb, b: acb) -> acb:
    return a if test.real > 0 else b if test.real <= 0 else _NONE


def _maximum(a: acb, b: acb) -> acb:
    return a if (a - b).real > 0 else b if (a - b).real < 0 else _NONE


def _chosen(a: acb, b: acb) -> acb:
    return acb(1) if (a - b).real > 0 else acb(0) if (a - b).real < 0 else _NONE


def _power(x: acb, exponent: acb) -> acb:
    return acb(0) if x == 0 else x**exponent


def _root(x: acb) -> acb:
    # A disk that crosses the branch cut holds values of two branches; one that holds zero has a singular slope.
    return _NONE if x.real.contains(0) and x.imag.contains(0) and x != 0 else x.sqrt()


_DISKS: dict[str, Any] = {
    "sin": acb.sin, "cos": acb.cos, "tan": acb.tan, "asin": acb.asin, "acos": acb.acos, "atan": acb.atan,
    "sinh": acb.sinh, "cosh": acb.cosh, "tanh": acb.tanh, "exp": acb.exp, "log": acb.log, "sqrt": _root,
    "expm1": acb.expm1, "log1p": acb.log1p, **moments.DISKS,
    "absolute": lambda x: x * _sign(x), "signum": _sign, "sign": lambda x, _: _sign(x), "power": _power,
    "above": lambda x, _: _above(x, or_at=False), "above_or_at": lambda x, _: _above(x, or_at=True), "choose": _choice,
    "max": _maximum, "min": lambda a, b: -_maximum(-a, -b),
    "chosen_max": _chosen, "chosen_min": lambda a, b: _chosen(-a, -b),
}  # fmt: skip
