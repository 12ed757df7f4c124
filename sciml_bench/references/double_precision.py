"""A tight double-precision solution: the substitute if no certified reference is affordable, marked as such.

Two integrations at different tolerances, by DOP853 if explicit steps work and by SciPy's Radau otherwise. The digits
are the common ones of both, with another family of methods too, and with a run whose steps are so short, and that
starts again wherever the right-hand side changes suddenly with time, that it sees events that steps of any length may
pass over.
"""

from __future__ import annotations

import bisect
import itertools
import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from scipy.integrate import solve_ivp

from sciml_bench.emit import source
from sciml_bench.emit.symbolic.elementary import filled
from sciml_bench.emit.symbolic.scalar import scalarise
from sciml_bench.references.engine.case import Case
from sciml_bench.references.engine.dynamics import FloatArray
from sciml_bench.references.failures import LimitReached, ReferenceFailure
from sciml_bench.spec.model import Problem, to_double

_TOLERANCES = ((1e-10, 1e-12), (1e-12, 1e-14))
_MOST_DIGITS = 14.0
#: The other family that a method is compared with.
_OTHERS = {"DOP853": "Radau", "Radau": "LSODA"}
#: Times at which the right-hand side is sampled for sudden changes, and the largest share of a step of the last run.
_SAMPLES = 20_000
_SHORT = 2000
#: A change between two samples is sudden when it is this share of all changes.
_SUDDEN = 50 / _SAMPLES
_MOST_STOPS = 200


class EvaluationLimit(LimitReached):
    """A double-precision integration was given up at its limit of evaluations."""


@dataclass(frozen=True)
class DoubleSolution:
    """States at the saved times (n_times, n_states), digits per component, and the evaluations it took.

    ``compared`` says what agrees to these digits.
    """

    rows: FloatArray
    digits: FloatArray
    evaluations: int
    compared: str = ""


def double_solution(problem: Problem, limit_s: float) -> DoubleSolution:
    """Solve at two tight tolerances, by another family and in short steps, and compare.

    Args:
        problem: of one trajectory.
        limit_s: processor time; once there is a solution, what it is compared with besides may take as long again.

    Raises:
        ReferenceFailure: neither method gets to the end within the limit, or a run in short steps is needed and does
            not.
    """
    functions = emitted_numpy(problem)
    began = time.process_time()
    failure = None
    for method in ("DOP853", "Radau"):
        # Explicit steps are cheap if they work at all; a stiff problem is given up after a tenth of the time.
        share = (0.1 if method == "DOP853" else 1.0) * (began + limit_s - time.process_time())
        until = time.process_time() + share
        try:
            coarse, fine = (integrate(problem, functions, method, *pair, until) for pair in _TOLERANCES)
        except ReferenceFailure as error:
            failure = error
            continue
        digits = _digits(coarse[0], fine[0])
        compared = [f"{method} at two tolerances"]
        until = time.process_time() + limit_s
        if depends_on_time(problem):
            # A force can act between the steps of all the other runs.
            stops = sudden_changes(problem, functions, fine[0])
            short = integrate(problem, functions, method, *_TOLERANCES[0], until, stops=stops, share=1 / _SHORT)
            digits = np.minimum(digits, _digits(short[0], fine[0]))
            compared.append("short steps")
        try:
            other = integrate(problem, functions, _OTHERS[method], *_TOLERANCES[1], until)
        except ReferenceFailure:
            pass
        else:
            digits = np.minimum(digits, _digits(other[0], fine[0]))
            compared.append(_OTHERS[method])
        return DoubleSolution(fine[0], digits, fine[1], ", ".join(compared))
    raise ReferenceFailure(
        f"no double-precision solution is reached within {limit_s:.4g} s of processor time: {failure}"
    ) from failure


def _digits(one: FloatArray, other: FloatArray) -> FloatArray:
    """Digits that two solutions have in common over all times, relative to the largest value, per component."""
    error = np.max(np.abs(one - other), axis=0)
    size = np.max(np.abs(other), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        digits = np.where(error > 0, -np.log10(error / size), _MOST_DIGITS)
    return np.clip(digits, 0.0, _MOST_DIGITS)


def depends_on_time(problem: Problem) -> bool:
    """Return whether the right-hand side contains the time."""
    if problem.controls:
        return True
    system = scalarise(problem)
    return any(system.t in expr.free_symbols for expr in (*system.outputs, *(expr for _, expr in system.statements)))


def sudden_changes(problem: Problem, functions: dict[str, Callable[..., FloatArray]], rows: FloatArray) -> list[float]:
    """Times around which the right-hand side changes suddenly with time alone.

    It is sampled at many times, with the state of the last saved time before each; a seeded shift of each keeps regular
    features from falling between all of them.
    """
    numbers = problem.numbers()
    y0, arguments = _start(problem, functions)
    shifts = np.random.default_rng(_SAMPLES).uniform(0, 1, _SAMPLES)
    times = numbers.t0 + (numbers.t1 - numbers.t0) * (np.arange(_SAMPLES) + shifts) / _SAMPLES
    places = np.searchsorted(np.array(numbers.save_times), times)
    states = np.vstack([y0[None], rows])
    changes = np.zeros((_SAMPLES - 1, problem.n_states))
    with np.errstate(all="ignore"):
        for k, (early, late) in enumerate(itertools.pairwise(times)):
            y = states[places[k]]
            # The same state at both times: a difference is due to the time.
            changes[k] = np.abs(functions["rhs"](late, y, *arguments) - functions["rhs"](early, y, *arguments))
        changes[~np.isfinite(changes)] = 0.0
        shares = np.max(np.nan_to_num(changes / changes.sum(axis=0)), axis=1)
    chosen = [int(k) for k in np.argsort(shares)[::-1][:_MOST_STOPS] if shares[k] > _SUDDEN]
    return sorted({float(times[k + side]) for k in chosen for side in (0, 1)})


def emitted_numpy(problem: Problem, *, as_written: bool = False) -> dict[str, Callable[..., FloatArray]]:
    """The emitted NumPy functions that a solve needs; unless ``as_written``, continued to points where it is 0/0."""
    if problem.controls:
        return _driven(problem)
    namespace: dict[str, Callable[..., FloatArray]] = {}
    text = source(problem if as_written else filled(problem), "numpy", gradients=False)
    exec(compile(text, "<emitted NumPy source>", "exec"), namespace)
    emitted = namespace["rhs"]
    # A scalar problem's returns a tuple.
    return namespace | {"rhs": lambda *arguments: np.array(emitted(*arguments))}


def _driven(problem: Problem) -> dict[str, Callable[..., Any]]:
    """Integrate an equation that a path drives, which is not emitted to NumPy: the engine's own form, in doubles."""
    case = Case(problem)
    segments, ends = case.dynamics.in_doubles(), [to_double(end) for end in case.dynamics.ends[:-1]]
    y0 = np.array([float(value) for value in case.start.y0])

    def rhs(t: float, y: FloatArray, p: FloatArray, *_: object) -> FloatArray:
        return np.array(segments[bisect.bisect(ends, t)](t, y, p))

    return {
        "rhs": rhs,
        "arguments": lambda p: (p, *[None] * len(problem.networks)),
        "initial_state": lambda *_: y0,
        "GIVEN": (),  # pyright: ignore[reportReturnType] - data, as emitted modules have them
    }


def _start(problem: Problem, functions: dict[str, Callable[..., FloatArray]]) -> tuple[FloatArray, Sequence[Any]]:
    """The initial state, and the further arguments of the right-hand side after time and state."""
    numbers = problem.numbers()
    arguments: Any = functions["arguments"](np.array(numbers.p)) if problem.networks else (np.array(numbers.p),)
    if not problem.latent:
        return np.array(numbers.y0), arguments
    data: Any = functions["GIVEN"]
    found = functions["initial_state"](*data, *arguments)
    used = [network in problem.rhs_networks for network in problem.networks]
    weights = (weights for weights, yes in zip(arguments[1:], used, strict=True) if yes)
    return found[0] if isinstance(found, tuple) else found, (arguments[0], *weights)


def integrate(
    problem: Problem,
    functions: dict[str, Callable[..., FloatArray]],
    method: str,
    rtol: float,
    atol: float,
    deadline: float,
    evaluations: int | None = None,
    stops: Sequence[float] = (),
    share: float = math.inf,
) -> tuple[FloatArray, int]:
    """One SciPy integration, stopping at breakpoints: states at the saved times and the number of evaluations.

    Args:
        problem: of one trajectory.
        functions: its emitted functions.
        method: a method of SciPy's ``solve_ivp``.
        rtol: relative tolerance.
        atol: absolute tolerance, in units of the declared scales.
        deadline: processor time of this process at which it is given up.
        evaluations: the most evaluations of the right-hand side.
        stops: more times to start again at.
        share: the longest step as a share of the time span.

    Raises:
        LimitReached: the deadline passes, or the evaluations do not do (:class:`EvaluationLimit`).
        ReferenceFailure: the method fails.
    """
    numbers = problem.numbers()
    atols = atol * np.array(numbers.atol_scale)
    y, arguments = _start(problem, functions)
    calls, rows = 0, []
    limit_s = deadline - time.process_time()
    inner = sorted({*numbers.breakpoints, *(stop for stop in stops if numbers.t0 < stop < numbers.t1)})
    ends = [*inner, numbers.t1]
    for a, b in zip([numbers.t0, *inner], ends, strict=True):
        low = np.nextafter(a, np.inf) if a in inner else a
        high = np.nextafter(b, -np.inf) if b in inner else b

        def rhs(t: float, y: FloatArray, low: float = low, high: float = high) -> FloatArray:
            nonlocal calls
            calls += 1
            if evaluations is not None and calls > evaluations:
                raise EvaluationLimit(f"{method} was given up after {evaluations} evaluations, at t = {t:.6g}")
            if time.process_time() > deadline:
                limit = f"its limit of {limit_s:.4g} s of processor time"
                raise LimitReached(f"{method} was given up at {limit}, at t = {t:.6g}")
            return functions["rhs"](min(max(t, low), high), y, *arguments)

        def jacobian(t: float, y: FloatArray, low: float = low, high: float = high) -> FloatArray:
            found: Any = functions["jacobian"](min(max(t, low), high), y, *arguments)
            # LSODA takes no sparse matrix.
            return found.toarray() if method == "LSODA" and scipy.sparse.issparse(found) else found

        wanted = [t for t in numbers.save_times if a < t <= b]
        times = sorted({*wanted, b})
        more: dict[str, Any] = {"max_step": share * (numbers.t1 - numbers.t0)}
        if method in ("Radau", "LSODA", "BDF"):
            more["jac"] = jacobian if "jacobian" in functions else None
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                # LSODA warns of the failure that its result tells as well.
                warnings.simplefilter("ignore", UserWarning)
                result = solve_ivp(rhs, (a, b), y, method, t_eval=times, rtol=rtol, atol=atols, **more)
        except (ArithmeticError, ValueError) as error:
            # Numbers that are not finite, or outside the domain of a function, in the state or in the Jacobian.
            raise ReferenceFailure(f"{method} fails between t = {a:.6g} and {b:.6g}: {error}") from error
        if not result.success or not np.all(np.isfinite(result.y)):
            reached = result.t[-1] if len(result.t) else a
            raise ReferenceFailure(f"{method} fails at t = {reached:.6g}: {result.message}")
        rows += [result.y[:, k] for k, t in enumerate(times) if t in wanted]
        y = result.y[:, -1]
    return np.array(rows), calls
