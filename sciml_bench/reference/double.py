"""A tight double-precision solution: what is left when no certified reference is affordable, and marked as such.

Two integrations at different tolerances, by SciPy's Radau where the problem is stiff and DOP853 where it is not. The
digits are those that both have in common.
"""

from __future__ import annotations

import bisect
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from sciml_bench.emit import source
from sciml_bench.problem.model import Problem
from sciml_bench.reference.case import Case
from sciml_bench.reference.dynamics import FloatArray
from sciml_bench.reference.failure import ReferenceFailure

_TOLERANCES = ((1e-10, 1e-12), (1e-12, 1e-14))
_MOST_DIGITS = 14.0


@dataclass(frozen=True)
class DoubleSolution:
    """States at the saved times (n_times, n_states), digits per component, and the evaluations it took."""

    rows: FloatArray
    digits: FloatArray
    evaluations: int


def double_solution(problem: Problem, limit_s: float) -> DoubleSolution:
    """Solve twice at tight tolerances and compare.

    Raises:
        ReferenceFailure: neither method gets to the end within the limit.
    """
    functions = emitted_numpy(problem)
    deadline = time.process_time() + limit_s
    for method in ("DOP853", "Radau"):
        # Explicit steps are cheap where they work at all; a stiff problem is given up after a tenth of the time.
        share = time.process_time() + (0.1 if method == "DOP853" else 1.0) * (deadline - time.process_time())
        try:
            coarse, fine = (integrate(problem, functions, method, *pair, share) for pair in _TOLERANCES)
        except ReferenceFailure:
            continue
        error = np.max(np.abs(coarse[0] - fine[0]), axis=0)
        size = np.max(np.abs(fine[0]), axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            digits = np.where(error > 0, -np.log10(error / size), _MOST_DIGITS)
        return DoubleSolution(fine[0], np.clip(digits, 0.0, _MOST_DIGITS), fine[1])
    raise ReferenceFailure(f"no double-precision solution of '{problem.name}' is reached within {limit_s:.0f} s")


def emitted_numpy(problem: Problem) -> dict[str, Callable[..., FloatArray]]:
    """The emitted NumPy functions of a problem."""
    if problem.controls:
        return _driven(problem)
    namespace: dict[str, Callable[..., FloatArray]] = {}
    exec(compile(source(problem, "numpy"), "<emitted NumPy source>", "exec"), namespace)
    return namespace


def _driven(problem: Problem) -> dict[str, Callable[..., Any]]:
    """The same of an equation that a path drives, which is not emitted to NumPy: the engine's own form, in doubles."""
    case, ends = Case(problem), problem.numbers().breakpoints
    segments = case.dynamics.in_doubles()
    y0 = np.array([float(value) for value in case.start.y0])

    def rhs(t: float, y: FloatArray, p: FloatArray, *_: object) -> FloatArray:
        return np.array(segments[bisect.bisect(ends, t)](t, y, p))

    return {
        "rhs": rhs,
        "arguments": lambda p: (p, *[None] * len(problem.networks)),
        "initial_state": lambda *_: y0,
        "GIVEN": (),  # pyright: ignore[reportReturnType] - data, as emitted modules have them
    }


def integrate(
    problem: Problem,
    functions: dict[str, Callable[..., FloatArray]],
    method: str,
    rtol: float,
    atol: float,
    deadline: float,
) -> tuple[FloatArray, int]:
    """One SciPy integration, stopping at breakpoints: states at the saved times and the number of evaluations.

    Raises:
        ReferenceFailure: the deadline passes, or the method fails.
    """
    numbers = problem.numbers()
    arguments = functions["arguments"](np.array(numbers.p)) if problem.networks else (np.array(numbers.p),)
    atols = atol * np.array(numbers.atol_scale)
    y, evaluations, rows = np.array(numbers.y0), 0, []
    if problem.latent:
        data: Any = functions["GIVEN"]
        found = functions["initial_state"](*data, *arguments)
        y = found[0] if isinstance(found, tuple) else found
        used = [network in problem.rhs_networks for network in problem.networks]
        arguments = (arguments[0], *(weights for weights, yes in zip(arguments[1:], used, strict=True) if yes))
    ends = [*numbers.breakpoints, numbers.t1]
    for a, b in zip([numbers.t0, *numbers.breakpoints], ends, strict=True):
        low = np.nextafter(a, np.inf) if a in numbers.breakpoints else a
        high = np.nextafter(b, -np.inf) if b in numbers.breakpoints else b

        def rhs(t: float, y: FloatArray, low: float = low, high: float = high) -> FloatArray:
            if time.process_time() > deadline:
                raise ReferenceFailure(f"{method} was given up at t = {t:.6g}")
            return functions["rhs"](min(max(t, low), high), y, *arguments)

        def jacobian(t: float, y: FloatArray, low: float = low, high: float = high) -> FloatArray:
            return functions["jacobian"](min(max(t, low), high), y, *arguments)

        wanted = [t for t in numbers.save_times if a < t <= b]
        times = sorted({*wanted, b})
        jac: dict[str, Any] = {"jac": jacobian if "jacobian" in functions else None} if method == "Radau" else {}
        try:
            with np.errstate(all="ignore"):
                result = solve_ivp(rhs, (a, b), y, method, t_eval=times, rtol=rtol, atol=atols, **jac)
        except (ArithmeticError, ValueError) as error:
            # Numbers that are not finite, or outside the domain of a function, in the state or in the Jacobian.
            raise ReferenceFailure(f"{method} fails between t = {a:.6g} and {b:.6g}: {error}") from error
        if not result.success or not np.all(np.isfinite(result.y)):
            reached = result.t[-1] if len(result.t) else a
            raise ReferenceFailure(f"{method} fails at t = {reached:.6g}: {result.message}")
        rows += [result.y[:, k] for k, t in enumerate(times) if t in wanted]
        y, evaluations = result.y[:, -1], evaluations + result.nfev
    return np.array(rows), evaluations
