"""Detection of changes in the right-hand side between the stages of a step.

A pulse that is narrow against the distance of the stages leaves no trace in their values. It does in the complex
plane: a function that is smooth over an interval stays of moderate size in a disk around it, one with a narrow feature
does not (it has a pole there, or grows like exp(r²/w²)). So the right-hand side is evaluated on disks around pieces of
the step, in complex ball arithmetic, along the step's polynomial. A piece is smooth if the enclosure over it shrinks
with the piece as a polynomial's would; other pieces are halved. At smooth pieces the slope of the polynomial must be
the right-hand side, within the step's tail.

A gradient also depends on the derivatives of the right-hand side, which may do something where the solution sees
nothing: a dose of size zero, say. For gradients they are looked at in the same way, a random combination of the rows of
the Jacobians; at smooth pieces they must be what the stages alone say of them.
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
from sciml_bench.references.confirmation import moments
from sciml_bench.references.engine.dynamics import FloatArray, compiled
from sciml_bench.references.engine.numbers import exact, precision
from sciml_bench.references.engine.step import Place
from sciml_bench.references.engine.tableau import Tableau, radau

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
#: What the stages may miss of the derivatives, relative to their size over the step: what doubles resolve of it.
_MISSED = 1e-12
#: Derivatives are not followed below this share of their largest earlier value, nor where doubles lose digits.
_FAINT, _FAINTEST = 1e-20, 1e-200
_SEED = 11


class Resolution:
    """Checks the steps of one segment, for ``gradients`` also of the derivatives of its right-hand side."""

    def __init__(self, source: FlintSource, gradients: bool = False):
        with precision(_CONSTANT_BITS):
            constants = {name: acb(exact(value)) for name, value in source.constants.items()}
        functions = compiled(source, _DISKS | constants)
        self._rhs: Callable[..., list[Any]] = functions["rhs"]
        self._pullback: Callable[..., Any] | None = functions["pullback"] if gradients else None
        self._largest: FloatArray | float = 0.0

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
            step = _Step(self._rhs, self._pullback, place, y, z, f, p, scale, tail, self._largest)
            self._largest = np.maximum(self._largest, step.sizes)
            return step.search()


class _Step:
    def __init__(
        self,
        rhs: Callable[..., list[Any]],
        pullback: Callable[..., Any] | None,
        place: Place,
        y: Sequence[arb],
        z: arb_mat,
        f: arb_mat,
        p: Sequence[arb],
        scale: FloatArray,
        tail: float,
        largest: FloatArray | float,
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
        self.pullback = pullback
        self.seeds = np.random.default_rng(_SEED).uniform(0.5, 1.0, n) / np.maximum(scale, _FAINTEST)
        self.derivatives = np.zeros((0, 0))
        #: Their sizes over the step, and how much of them the error of the state leaves unknown.
        self.sizes = self.unknown = np.zeros(0)
        if pullback is not None:
            rows = (arb_mat(len(self.nodes), n, list(y) * len(self.nodes)) + z).mid().entries()
            times = place.times
            self.derivatives = np.array([
                self._derivatives_at(times[j], rows[j * n : j * n + n], p) for j in range(len(self.nodes))
            ])  # fmt: skip
            self.sizes = np.maximum(np.max(np.abs(self.derivatives), axis=0), _FAINT * largest + _FAINTEST)
            self.unknown = self._spread(0.5, 0.0, _DEFECT * tail * scale)[n:]
            # A derivative that is singular near the state is left to the other tests.
            self.unknown = np.where(np.isfinite(self.unknown), self.unknown, 0.0)

    def _derivatives_at(self, t: arb, state: Sequence[arb], p: Sequence[arb]) -> FloatArray:
        """The combined derivatives by the state, in units of its size, and by the parameters."""
        by_state, by_parameter = self.place.segment.pullback(t, state, p, [arb(float(seed)) for seed in self.seeds])
        scaled = [float(value) * size for value, size in zip(by_state, self.scale, strict=True)]
        return np.array([*scaled, *(float(value) for value in by_parameter)])

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
                if not (self._follows(middle) and self._derivatives_follow(middle)):
                    return middle
        return None

    def _smooth(self, centre: float, halves: tuple[float, float], width: float) -> bool:
        whole = self._spread(centre, width / 2)
        if not np.all(np.isfinite(whole)):
            return False
        least = np.concatenate([_NOTHING * self.scale / self.h, np.maximum(_MISSED * self.sizes, self.unknown)])
        if np.all(whole <= least):
            return True
        closer = np.maximum(*(self._spread(middle, width / 4) for middle in halves))
        return bool(np.all(whole <= _SMOOTH * closer + least))

    def _spread(self, centre: float, radius: float, error: FloatArray | float = 0.0) -> FloatArray:
        """Return how far values may be from those at a centre, over the disk around it: the right-hand side, (n,), and
        for gradients its derivatives. The state may also be wrong by an ``error``.
        """
        far = radius * self.h
        state = self._state(centre)
        disks = [_disk(value, radius) for value, radius in zip(state, far * self.speed + error, strict=True)]
        with precision(_BITS):
            time = self.place.t + self.place.h * centre
            times = acb(time + arb(0, far), arb(0, far))
            radii = [_radius(value) for value in self.rhs(times, disks, self.p)]
            if self.pullback is None:
                return np.array(radii)
            by_state, by_parameter = self.pullback(times, disks, self.p, [acb(float(seed)) for seed in self.seeds])
            radii += [_radius(value) * size for value, size in zip(by_state, self.scale, strict=True)]
            return np.array([*radii, *map(_radius, by_parameter)])

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

    def _derivatives_follow(self, at: float) -> bool:
        """Return whether the derivatives at a point are the values there of the polynomials through their stages."""
        if self.pullback is None:
            return True
        y, z, _, p = self.exact
        weights = _exact_weights(self.place.tableau.stages, at, flint.ctx.prec)
        state = [(a + b).mid() for a, b in zip(y, (weights[0] * z).entries(), strict=True)]
        here = self._derivatives_at((self.place.t + self.place.h * arb(at)).mid(), state, p)
        stages = _weights(self.nodes, at) @ self.derivatives
        allowed = np.maximum(_MISSED * np.maximum(self.sizes, np.abs(here)), self.unknown)
        return bool(np.all(np.abs(here - stages) <= allowed))

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
