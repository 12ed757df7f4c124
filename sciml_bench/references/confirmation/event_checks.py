"""Checks of references with events: another method from event to event, and differences of separate solutions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb
from scipy.integrate import solve_ivp
from sympy import Expr, Integer, Rational

from sciml_bench.references.confirmation.differences import Difference, Direction
from sciml_bench.references.confirmation.hermite_obreshkov import Care, witness
from sciml_bench.references.double_precision import emitted_numpy
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.dynamics import FloatArray
from sciml_bench.references.engine.event_functions import Events, Jump
from sciml_bench.references.engine.numbers import BITS_PER_DIGIT, exact, precision
from sciml_bench.references.engine.radau import solve
from sciml_bench.references.engine.trajectory import Settings, Start, Trajectory
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.references.progress import Watch
from sciml_bench.spec.model import to_double

#: Perturbations relative to the size of a component of theta, and the width of the second pair: the two cancel the
#: errors of second order. Separate solutions differ by what their steps leave: they need more digits than one mesh.
_PERTURBATION, _WIDER = 1e-7, 2
_TAIL, _DIGITS = 1e-26, 57
_MOST = 60.0
#: Events of double precision this near to the ends of a part are the events there: as a share of it, and of the span.
_MARGIN, _TIME_ERROR = 1e-6, 1e-7
#: A condition that double precision sees beyond zero by less, relative to its largest value, may not pass it.
_PASSED = 1e-6
_FEWEST_STEPS = 20


def follow_events(
    case: Case, trajectory: Trajectory, negligible: FloatArray, watch: Watch
) -> tuple[list[tuple[arb, ...]], float, int]:
    """Integrate from event to event by the implicit Taylor method.

    Returns the states at the saved times, the fewest digits to which a condition is zero at the engine's time of its
    event (its distance in time, against the time span), and the number of steps.

    Raises:
        ReferenceFailure: the method cannot follow the solution.
    """
    problem, events = case.problem, case.events
    assert events is not None
    bits = trajectory.settings.bits
    waiting, saved = list(problem.save_times), []
    span, digits, steps = to_double(problem.t1) - to_double(problem.t0), _MOST, 0
    start, t0, reached = case.start, problem.t0, exact(problem.t0)
    for _, jump in trajectory.jumps:
        time = _expression(case, jump)
        times = [t for t in waiting if exact(t) < jump.t]
        waiting = waiting[len(times) :]
        part = witness(
            case.dynamics.between(reached, jump.t), start, t0, [*times, time], Care(), negligible / 10, trajectory.mesh,
            watch.during("implicit Taylor method, t"), bits,
        )  # fmt: skip
        saved += part.saved[: len(times)]
        steps += part.n_steps
        with precision(bits):
            functions, before = events.compiled(), part.saved[-1]
            if not jump.scheduled:
                j = events.conditions.index(jump.event)
                value = functions.values(jump.t, before, start.p)[j]
                slope = functions.slope(j, jump.t, before, start.p, jump.left.rhs(jump.t, before, start.p))
                off = float(abs(value / slope)) / span
                digits = min(digits, _MOST if off == 0 else -np.log10(off))
            start = Start(functions.after(jump.event, jump.t, before, start.p), start.p, start.scale)
        t0, reached = time, jump.t
    if waiting:
        part = witness(
            case.dynamics.between(reached, exact(problem.t1)), start, t0, waiting, Care(), negligible / 10,
            trajectory.mesh, watch.during("implicit Taylor method, t"), bits,
        )  # fmt: skip
        saved += part.saved
        steps += part.n_steps
    return saved, float(digits), steps


def look_between(case: Case, trajectory: Trajectory) -> None:
    """Look for events that the engine has not, by LSODA in double precision on NumPy code from another emitter.

    Each part between two events is solved from the engine's state, so that nothing depends on the parts before.

    Raises:
        ReferenceFailure: a condition passes zero where the engine has no event.
    """
    problem, events = case.problem, case.events
    assert events is not None
    functions = emitted_numpy(problem)
    p, names = [float(x) for x in case.start.p], [event.name for event in problem.events]
    scale = np.array([value for state in problem.states for value in state.scale])
    stops = [float(exact(end)) for end in case.dynamics.ends]
    start, y = to_double(problem.t0), np.array([float(x) for x in case.start.y0])
    whole = to_double(problem.t1) - start
    parts = [(float(jump.t), jump.after) for _, jump in trajectory.jumps] + [(to_double(problem.t1), None)]
    for end, after in parts:
        margin = _MARGIN * (end - start) + _TIME_ERROR * whole
        # Scheduled events at one time have nothing between them.
        for a, b in pairwise([start, *(stop for stop in stops if start < stop < end), end] if end > start else []):
            found = _integrated(functions, p, events, (a, b), y, scale)
            seen = [
                (t, names[k])
                for j, (k, ts) in enumerate(zip(events.conditions, found.t_events or [], strict=False))
                for t in ts
                if start + margin < t < end - margin
                and _is_passed(functions, p, found, t, j, problem.events[k].direction)
            ]
            if seen:
                t, name = min(seen)
                raise ReferenceFailure(
                    f"no reference is certified for '{problem.name}': a solve in double precision has the event"
                    f" '{name}' at t = {t:.10g}, where the engine has none",
                    t,
                )
            y = found.y[:, -1]
        if after is not None:
            start, y = end, np.array([float(x) for x in after])


def _is_passed(
    functions: dict[str, Callable[..., Any]], p: list[float], found: Any, t: float, j: int, direction: int
) -> bool:
    """Return whether a condition is beyond zero after an event by more than the errors of double precision."""
    values = np.array([functions["events"](at, y, p)[j] for at, y in zip(found.t, found.y.T, strict=True)])
    last = np.min(found.t_events[j][found.t_events[j] > t], initial=np.inf)
    way = direction or -np.sign(values[found.t <= t][-1])
    return bool(np.max(way * values[(found.t > t) & (found.t <= last)], initial=0.0) > _PASSED * np.max(np.abs(values)))


def _integrated(
    functions: dict[str, Callable[..., Any]],
    p: list[float],
    events: Events,
    span: tuple[float, float],
    y: FloatArray,
    scale: FloatArray,
) -> Any:
    inside = (np.nextafter(span[0], np.inf), np.nextafter(span[1], -np.inf))

    def rhs(t: float, y: FloatArray) -> Any:
        return functions["rhs"](min(max(t, inside[0]), inside[1]), y, p)

    def condition(j: int, direction: int) -> Any:
        def passing(t: float, y: FloatArray) -> float:
            return functions["events"](t, y, p)[j]

        passing.direction = direction  # pyright: ignore[reportFunctionMemberAccess]
        return passing

    directions = [events.problem.events[k].direction for k in events.conditions]
    conditions = [condition(j, direction) for j, direction in enumerate(directions)]

    def solved(looking: list[Any] | None) -> Any:
        longest = (span[1] - span[0]) / _FEWEST_STEPS
        return solve_ivp(rhs, span, y, "LSODA", rtol=1e-9, atol=1e-11 * scale, events=looking, max_step=longest)

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return solved(conditions or None)
        except ValueError:
            # Its root finder gives up where rounding decides on the sign of a condition.
            return solved(None)


def _expression(case: Case, jump: Jump) -> Expr:
    """The exact time of a scheduled event, or the engine's time of another one as the fraction that it is."""
    if jump.scheduled:
        return min(case.problem.events[jump.event].at, key=lambda t: abs(to_double(t) - float(jump.t)))
    mantissa, exponent = jump.t.man_exp()
    return Rational(int(mantissa)) * Integer(2) ** int(exponent)


def separate_differences(case: Case, trajectory: Trajectory, directions: Sequence[Direction]) -> list[Difference]:
    """Central differences of the objective along each direction, from solutions that choose their own steps.

    A perturbation moves the events, so that its solution cannot share the mesh. Two widths are extrapolated to none.

    Raises:
        ReferenceFailure: a perturbed solution has other events, or cannot be followed.
    """
    names = [jump.event for _, jump in trajectory.jumps]
    settings = replace(
        trajectory.settings, tail=min(trajectory.settings.tail, _TAIL), digits=max(trajectory.settings.digits, _DIGITS),
        push=0, shaken=False, resolved=False,
    )  # fmt: skip
    found: list[Difference] = []
    with precision(int(settings.digits * BITS_PER_DIGIT) + 1):
        for direction in directions:
            near, far = (_slope(case, direction, settings, arb(width * _PERTURBATION), names) for width in (1, _WIDER))
            value = ((_WIDER**2 * near - far) / (_WIDER**2 - 1)).mid()
            found.append(Difference(direction, value))
    return found


def _slope(case: Case, direction: Direction, settings: Settings, width: arb, names: list[int]) -> arb:
    problem = case.problem
    values: list[arb] = []
    for signed in (width, -width):
        p = tuple((a + signed * b).mid() for a, b in zip(case.start.p, direction.p, strict=True))
        if case.around is None:
            y0 = tuple((a + signed * b).mid() for a, b in zip(case.start.y0, direction.y0, strict=True))
        else:
            y0 = tuple(case.around.initial(p))
        start = Start(y0, p, case.scale, case.around)
        try:
            moved = solve(case.dynamics, start, problem.t0, problem.save_times, settings, events=case.events)
        except ReferenceFailure as failure:
            raise ReferenceFailure(
                f"no gradient is certified for '{problem.name}': after a change of {direction.label} by"
                f" {float(abs(width)):.0e} of its size, {failure}",
                failure.t,
            ) from failure
        if [jump.event for _, jump in moved.jumps] != names:
            raise ReferenceFailure(
                f"no gradient is certified for '{problem.name}': a change of {direction.label} by"
                f" {float(abs(width)):.0e} of its size makes or removes an event"
            )
        values.append(case.objective.value(moved.saved, p))
    return ((values[0] - values[1]) / (2 * width)).mid()
