"""A problem as the engine sees it: emitted functions on balls and on doubles, segment by segment."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from types import CodeType
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray
from sympy import Basic, Expr

from sciml_bench.emit.flint import ChangesInside, FlintSource, flint_source
from sciml_bench.emit.symbolic.scalar import ScalarSystem
from sciml_bench.references.confirmation import moments
from sciml_bench.references.engine.numbers import exact
from sciml_bench.references.engine.sides import Sides, choose
from sciml_bench.spec.discontinuities.roots import Span
from sciml_bench.spec.model import to_double

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
#: No more pieces between moved switches than this, over the number of equations: each is emitted on its own.
MOST_PIECES = 2_000
ComplexFunction = Callable[[Any, Any, Any], list[Any]]


def _smooth(
    system: ScalarSystem, spans: Iterable[Span], parameters: Sequence[Expr]
) -> Iterator[tuple[Expr, FlintSource]]:
    """The smooth pieces of spans, each with its end: more than the spans where parameters move a condition's times."""
    left, more = list(spans)[::-1], max(1, MOST_PIECES // len(system.outputs))
    while left:
        span = left.pop()
        try:
            yield span.end, flint_source(system, span, parameters)
        except ChangesInside as change:
            more -= len(change.times)
            if more < 0:
                raise
            parts = [Span(a, b) for a, b in pairwise((span.start, *change.times, span.end))]
            left += parts[::-1]


@dataclass(frozen=True)
class Segment:
    """The smooth right-hand side between two breakpoints.

    ``rhs(t, y, p)`` → list of n balls; ``pullback(t, y, p, v)`` → (v·∂f/∂y, v·∂f/∂p) as lists of balls;
    ``jacobian(t, y, p)`` → the entries at ``rows``, ``columns`` of ∂f/∂y in double precision, where t and each y[i]
    are arrays over points: shape (entries, points).
    """

    end: Expr
    rhs: Callable[[arb, Sequence[arb], Sequence[arb]], list[arb]]
    pullback: Callable[[arb, Sequence[arb], Sequence[arb], Sequence[arb]], tuple[list[arb], list[arb]]]
    jacobian: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]


class Dynamics:
    """The right-hand side of a problem on each of its segments; ``at(bits)`` compiles it for one precision."""

    def __init__(
        self,
        system: ScalarSystem,
        t0: Expr,
        t1: Expr,
        breakpoints: Sequence[Expr] = (),
        parameters: Sequence[Expr] = (),
        unsettled: str | None = None,
    ):
        """Emit every segment.

        Args:
            system: the right-hand side.
            t0: start of the time span.
            t1: its end.
            breakpoints: the times between them at which it is not smooth. Times that depend on parameters are added.
            parameters: the parameters' exact values, where conditions on the time depend on them.
            unsettled: conditions that depend on more than the time may not change along a solution; what is said of
                them where one does. ``None`` where there is no solution to follow.

        Raises:
            UnsupportedExpression: the right-hand side has no high-precision counterpart.
        """
        self.n_states, self.n_parameters, self.n_outputs = len(system.y), len(system.p), len(system.outputs)
        spans = (Span(a, b) for a, b in pairwise((t0, *breakpoints, t1)))
        self.ends, self.sources = zip(*_smooth(system, spans, parameters), strict=True)
        self.operations = max(source.operations for source in self.sources)
        self.unsettled = unsettled
        self._parameters = frozenset[Basic](system.p)

    def segments(self) -> tuple[Segment, ...]:
        """The segments, with their constants at the current precision.

        Conditions that depend on the state must stay the same from one end of the time span to the other: if one
        changes, a step fails.
        """
        sides = Sides(self.unsettled, self._parameters)
        return tuple(_segment(source, end, sides) for source, end in zip(self.sources, self.ends, strict=True))

    def between(self, start: arb, end: arb) -> Dynamics:
        """Return a copy with the segments between two times alone."""
        ends = [exact(each) for each in self.ends]
        first = next(k for k, each in enumerate(ends) if each > start)
        last = next((k for k, each in enumerate(ends) if each >= end), len(ends) - 1)
        part = copy.copy(self)
        part.ends, part.sources = self.ends[first : last + 1], self.sources[first : last + 1]
        return part

    def in_doubles(self) -> tuple[Callable[[float, FloatArray, FloatArray], list[float]], ...]:
        """The right-hand sides of the segments, in double precision."""
        return tuple(_doubles(source)["rhs"] for source in self.sources)

    def in_complex(self) -> tuple[ComplexFunction, ...]:
        """The right-hand sides of the segments on complex arrays; functions that are not analytic follow the real
        parts.
        """
        return tuple(
            compiled(source, _COMPLEX | {name: to_double(value) for name, value in source.constants.items()})["rhs"]
            for source in self.sources
        )


def _doubles(source: FlintSource) -> dict[str, Any]:
    return compiled(source, _ARRAYS | {name: to_double(value) for name, value in source.constants.items()})


def _segment(source: FlintSource, end: Expr, sides: Sides) -> Segment:
    balls = compiled(
        source,
        BALLS | sides.functions(source.conditions) | {name: exact(value) for name, value in source.constants.items()},
    )
    entries = _doubles(source)["jacobian"]

    def jacobian(t: FloatArray, y: FloatArray, p: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            values = entries(t, y, p)
        out = np.empty((len(values), len(t)))
        for row, value in zip(out, values, strict=True):
            row[:] = value
        return out

    pattern = np.array(source.pattern, dtype=np.intp).reshape(-1, 2)
    return Segment(end, balls["rhs"], balls["pullback"], jacobian, pattern[:, 0], pattern[:, 1])


def compiled(source: FlintSource, namespace: dict[str, Any]) -> dict[str, Any]:
    """The functions of an emitted module. Its text is printed from a checked graph; no text of a file reaches it."""
    exec(_code(source.text), namespace)
    return namespace


@lru_cache(maxsize=64)
def _code(text: str) -> CodeType:
    """The code of a module; a batch needs it again for each of its trajectories and precisions."""
    return compile(text, "<emitted for the reference engine>", "exec")


def _ball_power(x: arb, exponent: arb) -> arb:
    return arb(0) if x == 0 else x**exponent


def _chosen_max(a: Any, b: Any) -> Any:
    return a * 0 + (a >= b)


def _chosen_min(a: Any, b: Any) -> Any:
    return a * 0 + (a <= b)


BALLS: dict[str, Any] = {
    "sin": arb.sin, "cos": arb.cos, "tan": arb.tan, "asin": arb.asin, "acos": arb.acos, "atan": arb.atan,
    "sinh": arb.sinh, "cosh": arb.cosh, "tanh": arb.tanh, "exp": arb.exp, "log": arb.log, "sqrt": arb.sqrt,
    "expm1": arb.expm1, "log1p": arb.log1p, **moments.BALLS,
    "absolute": abs, "signum": arb.sgn, "choose": choose, "power": _ball_power, "min": arb.min, "max": arb.max,
    "chosen_min": lambda a, b: arb(int(a.mid() <= b.mid())), "chosen_max": lambda a, b: arb(int(a.mid() >= b.mid())),
}  # fmt: skip
_ARRAYS: dict[str, Any] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "exp": np.exp, "log": np.log, "sqrt": np.sqrt,
    "expm1": np.expm1, "log1p": np.log1p, **moments.ARRAYS,
    "absolute": np.abs, "signum": np.sign, "power": np.power, "min": np.minimum, "max": np.maximum,
    "chosen_min": _chosen_min, "chosen_max": _chosen_max, "choose": lambda x, a, b: np.where(x > 0.5, a, b),
    "sign": lambda x, _: np.sign(x), "above": lambda x, _: (x > 0) + 0.0 * x,
    "above_or_at": lambda x, _: (x >= 0) + 0.0 * x,
}  # fmt: skip
_COMPLEX: dict[str, Any] = _ARRAYS | {
    "absolute": lambda x: x * np.sign(np.real(x)), "signum": lambda x: np.sign(np.real(x)),
    "sign": lambda x, _: np.sign(np.real(x)), "above": lambda x, _: (np.real(x) > 0) + 0.0 * x,
    "above_or_at": lambda x, _: (np.real(x) >= 0) + 0.0 * x,
    "choose": lambda x, a, b: np.where(np.real(x) > 0.5, a, b),
    "min": lambda a, b: np.where(np.real(a) <= np.real(b), a, b),
    "max": lambda a, b: np.where(np.real(a) >= np.real(b), a, b),
}  # fmt: skip
