"""The character of a problem, from a second or two in double precision: size and structure of its Jacobian, stiffness
along the solution, and the growth of a perturbation.

Work is limited by counts of evaluations, never by time: every machine finds the same.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from scipy.integrate import LSODA, RK45
from scipy.sparse import csc_matrix, issparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from sciml_bench.record.probe import RTOL as PROBE_RTOL
from sciml_bench.record.probe import Probed
from sciml_bench.record.text import counted
from sciml_bench.references.probe import Span, is_finite, probed, spans
from sciml_bench.spec.language.removable import without_removable_points
from sciml_bench.spec.model import Problem, symbol
from sciml_bench.spec.quantities import Parameter

Vector = NDArray[np.float64]

#: Up to so many states eigenvalues of the Jacobian are affordable.
DENSE = 200
#: States along the solution at which it is found, and tangents that are followed.
_STATES, _TANGENTS = 12, 3
#: Evaluations after which following tangents is given up, and numbers that they may compute together; more of them if
#: an explicit method took at most so many times the evaluations of an implicit one when the problem was probed.
_MOST, _NUMBERS, _MORE_NUMBERS, _QUICK = 50_000, 1_000_000, 4_000_000, 3
#: Up to so many states an implicit method is affordable for that, whose Jacobian is full.
_IMPLICIT = 130
_RTOL = 1e-6
#: The step of a central difference, relative to the size of a component: its error is about that of the rounding.
_STEP = 6e-6
#: The size of a component that stays about zero, in units of the probe's absolute tolerance for it: what the problem
#: calls its scale.
_SCALE = 1 / PROBE_RTOL
_DIGITS = 15.95
"""−log10 of the unit roundoff of doubles."""


@dataclass(frozen=True)
class Character:
    """What was seen. What could not be found is ``None``.

    ``nonzeros`` of the Jacobian are counted anywhere along the solution; ``band`` is the number of diagonals that they
    need below or above the main one, in the best order found. ``stiffness`` is the largest |λ| of an eigenvalue of
    negative real part along the solution, up to where it could be followed, times the length of the time span.
    ``growth`` is the largest factor by which a small perturbation of the initial state has grown at any time, each
    component relative to its size. ``undefined`` are the states whose derivative is not finite at the start, ``cause``
    names the reason.
    """

    n_states: int
    n_theta: int
    n_breakpoints: int
    invariants: tuple[str, ...]
    nonzeros: int | None
    band: int | None
    stiffness: float | None
    growth: float | None
    probed: Probed | None
    undefined: tuple[str, ...] = ()
    cause: str = ""
    n_events: int = 0

    @property
    def digits(self) -> float | None:
        """The most correct digits at the end that double precision allows: rounding grows as any perturbation does."""
        return None if self.growth is None else max(0.0, _DIGITS - max(0.0, math.log10(self.growth)))

    @property
    def lines(self) -> Iterator[str]:
        """The observations, in two lines: the size of the problem, and its demands on a solver; first errors."""
        if self.undefined:
            shown = ", ".join(self.undefined[:_FEW_NAMED]) + (", …" if len(self.undefined) > _FEW_NAMED else "")
            yield (f"NOT DEFINED at the start: the derivative of {shown} is not finite there; {self.cause or _LOOK}")
        size = [counted(self.n_states, "state"), f"gradient of {counted(self.n_theta, 'component')}"]
        if self.nonzeros is not None:
            size.append(f"{self.nonzeros} of {self.n_states**2} entries of the Jacobian")
        if self.band is not None and 3 * self.band < self.n_states:
            size.append(f"in a band of {counted(self.band, 'diagonal')} on each side" if self.band else "all diagonal")
        if self.n_breakpoints:
            size.append(f"{counted(self.n_breakpoints, 'time')} at which the equations jump")
        if self.invariants:
            size.append(f"declared constant: {', '.join(self.invariants)}")
        yield ", ".join(size)
        asks = [] if self.stiffness is None else [f"fastest decay × time span = {self.stiffness:.2g}"]
        if self.probed is not None and self.probed.limit:
            asks.append(self.probed.told)
        if self.growth is not None and self.digits is not None:
            bound = f": at most {self.digits:.0f} digits in double precision" if self.digits < _FEW_DIGITS else ""
            grows = f"grow up to {self.growth:.2g}-fold" if self.growth > _GROWS else "do not grow"
            asks.append(f"small perturbations {grows}{bound}")
        yield "; ".join(asks) or (
            "not integrated in double precision, since its events change the state"
            if self.n_events
            else "nothing could be found by integrating it in double precision"
        )


_LOOK = "look for 0/0 and for log or sqrt of a negative number, and write a limit with where(…)"


def _cause(problem: Problem) -> str:
    """The definition that has no finite value at the start, and the fix; empty if none is found."""
    values: dict[Any, Any] = {symbol("t"): problem.t0}
    for quantity in (*problem.parameters, *problem.states):
        numbers = quantity.values if isinstance(quantity, Parameter) else quantity.initial
        if quantity.shape == ():
            values[symbol(quantity.name)] = numbers[0]
    named = [(f"'{item.name}'", symbol(item.name), item.expr) for item in problem.definitions]
    named += [(f"the equation of {name}", None, expr) for name, expr in problem.equations.items()]
    for name, defined, expr in named:
        value = expr.xreplace(values)
        if value.has(sympy.nan, sympy.zoo, sympy.oo):
            limit = without_removable_points(expr).xreplace(values)
            if limit.is_number and limit.is_finite:
                return f"{name} is 0/0 there: write u/(exp(u) - 1) as 1/exprel(u), and sin(u)/u as sinc(u)"
            return f"{name} divides by zero there, or has a log of it: write a limit with where(…)"
        if defined is not None:
            values[defined] = value
    return ""


_FEW_DIGITS, _GROWS, _FEW_NAMED = 12.0, 1.2, 4


def character(problem: Problem) -> Character:
    """Look at a problem; for a batch at its first trajectory. Strange equations in doubles are not an error."""
    numbers = problem.numbers()
    nonzeros = band = stiffness = growth = None
    found: tuple[Span, ...] | None = None
    work: Probed | None = None
    undefined: tuple[str, ...] = ()
    cause = ""
    try:
        if problem.events:
            raise ValueError("the equations alone say little about a problem with events")
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = tuple(spans(next(problem.trajectories())))
            slopes = np.asarray(found[0].rhs(found[0].start, np.asarray(found[0].start_state, dtype=float)))
            undefined = tuple(problem.state_labels[i] for i in np.flatnonzero(~np.isfinite(slopes)))
            cause = _cause(problem) if undefined else ""
            work = probed(problem, found)
            quick = work is not None and work.explicit is not None and work.explicit <= _QUICK * (work.implicit or 0)
            method = LSODA if problem.n_states <= _IMPLICIT else RK45
            most = _MORE_NUMBERS if quick else _NUMBERS
            times, states, tangents, whole = _followed(found, problem.n_states, method, most)
            growth = _growth(states, tangents, np.asarray(found[0].atol)) if whole else None
            if problem.n_states <= DENSE:
                matrices = [_jacobian(_at(found, t), t, y, states) for t, y in zip(times, states, strict=True)]
                nonzeros, band = _structure(matrices)
                stiffness = _stiffness(matrices) * float(numbers.t1 - numbers.t0)
    except Exception:
        # Whatever a strange equation does in doubles, earlier observations are kept.
        pass
    return Character(
        n_states=problem.n_states,
        n_theta=len(numbers.theta),
        n_breakpoints=len(numbers.breakpoints),
        invariants=tuple(problem.invariants),
        nonzeros=nonzeros,
        band=band,
        stiffness=stiffness,
        growth=growth,
        probed=None if problem.events else work if work is not None else probed(problem, found),
        undefined=undefined,
        cause=cause,
        n_events=len(problem.events),
    )


def _at(found: Sequence[Span], t: float) -> Span:
    return next(span for span in found if t <= span.end)


def _followed(found: Sequence[Span], n: int, method: Any, most_numbers: int) -> tuple[Vector, Vector, Vector, bool]:
    """Times, states (n_times, n), and tangents (n_times, n_tangents, n) of length 1 at first, along the solution; and
    whether it was followed to its end."""
    y0 = np.asarray(found[0].start_state, dtype=float)
    size = np.maximum(np.abs(y0), _SCALE * np.asarray(found[0].atol))
    random = np.random.default_rng(0)
    directions = random.choice([-1.0, 1.0], (min(n, _TANGENTS), n)) * size / math.sqrt(n)
    z, work = np.concatenate([y0, directions.ravel()]), 0
    most, implicit = min(_MOST, most_numbers // len(z)), bool(method is LSODA)
    grid = np.linspace(found[0].start, found[-1].end, _STATES)
    times: list[float] = [found[0].start]
    kept = [z]
    for span in found:
        rhs = _with_tangents(span, n)
        if not is_finite(rhs, span.start, z):
            return *_tables(times, kept, n), False
        atol = np.concatenate([span.atol, np.tile(np.asarray(span.atol), len(directions))])
        newton = {"jac": _blocks(span, n, 1 + len(directions))} if implicit and span.jacobian else {}
        solver = method(rhs, span.start, z, span.end, rtol=_RTOL, atol=atol, **newton)
        while solver.status == "running":
            before = solver.t
            solver.step()
            if work + solver.nfev > most or not np.all(np.isfinite(solver.y)):
                return *_tables(times, kept, n), False
            # One state from each stretch of a uniform grid, and the states of the fast start.
            if len(times) < _STATES // 2 or np.any((grid > before) & (grid <= solver.t)):
                times.append(float(solver.t))
                kept.append(solver.y.copy())
        if solver.status != "finished":
            return *_tables(times, kept, n), False
        z, work = solver.y, work + solver.nfev
    return *_tables([*times, found[-1].end], [*kept, z], n), True


def _tables(times: Sequence[float], kept: Sequence[Vector], n: int) -> tuple[Vector, Vector, Vector]:
    table = np.array(kept)
    return np.array(times), table[:, :n], table[:, n:].reshape(len(table), -1, n)


def _with_tangents(span: Span, n: int) -> Callable[[float, Vector], Vector]:
    rhs, atol = span.rhs, np.asarray(span.atol)

    def by_differences(t: float, y: Vector, tangent: Vector) -> Vector:
        # A step that moves no component by more than a small part of its size.
        scale = np.max(np.abs(tangent) / np.maximum(np.abs(y), _SCALE * atol))
        step = _STEP / scale if scale > 0 else 0.0
        if not step:
            return np.zeros(n)
        return (np.asarray(rhs(t, y + step * tangent)) - np.asarray(rhs(t, y - step * tangent))) / (2 * step)

    def derivative(t: float, z: Vector) -> Vector:
        y, tangents = z[:n], z[n:].reshape(-1, n)
        if span.jacobian is not None:
            return np.concatenate([np.asarray(rhs(t, y)), (span.jacobian(t, y) @ tangents.T).T.ravel()])
        return np.concatenate([np.asarray(rhs(t, y)), *(by_differences(t, y, tangent) for tangent in tangents)])

    return derivative


def _blocks(span: Span, n: int, count: int) -> Callable[[float, Vector], Vector]:
    """The Jacobian once for the state and once for each tangent: what couples them only helps Newton's convergence."""

    def jacobian(t: float, z: Vector) -> Vector:
        assert span.jacobian is not None
        found = span.jacobian(t, z[:n])
        full: Vector = found.toarray() if issparse(found) else np.asarray(found, dtype=np.float64)
        return np.asarray(np.kron(np.eye(count), full), dtype=np.float64)

    return jacobian


def _growth(states: Vector, tangents: Vector, atol: Vector) -> float:
    """The largest growth of a tangent, in units of the largest value that each component has anywhere."""
    largest = np.max(np.abs(states), axis=0)
    size = np.where(largest > 0, largest, _SCALE * atol)
    lengths = np.linalg.norm(tangents / size, axis=2)
    return float(np.max(lengths / lengths[0]))


def _jacobian(span: Span, t: float, y: Vector, states: Vector) -> Vector:
    """The Jacobian as it is emitted, or by central differences, (n, n)."""
    if span.jacobian is not None:
        found = span.jacobian(t, y)
        return found.toarray() if issparse(found) else np.asarray(found)
    size = np.maximum(np.abs(y), 1e-3 * np.max(np.abs(states), axis=0))
    steps = _STEP * np.where(size > 0, size, 1.0)
    columns: list[Vector] = []
    for place, step in enumerate(steps):
        moved = np.zeros_like(y)
        moved[place] = step
        columns.append((np.asarray(span.rhs(t, y + moved)) - np.asarray(span.rhs(t, y - moved))) / (2 * step))
    return np.array(columns).T


def _structure(matrices: Sequence[Vector]) -> tuple[int, int]:
    """Return how many entries are not zero anywhere, and the half width of the narrowest band found."""
    pattern = np.any([np.isfinite(matrix) & (matrix != 0) for matrix in matrices], axis=0)
    rows, columns = np.nonzero(pattern)
    if not len(rows):
        return 0, 0
    own = int(np.max(np.abs(rows - columns)))
    order = reverse_cuthill_mckee(csc_matrix(pattern | pattern.T), symmetric_mode=True)
    place = np.argsort(order)
    return len(rows), min(own, int(np.max(np.abs(place[rows] - place[columns]))))


def _stiffness(matrices: Sequence[Vector]) -> float:
    """The largest |λ| of eigenvalues of negative real part."""
    values = itertools.chain.from_iterable(np.linalg.eigvals(m) for m in matrices if np.all(np.isfinite(m)))
    return max((abs(value) for value in values if value.real < 0), default=0.0)
