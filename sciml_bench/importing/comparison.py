"""Compares a function with the formulas that were read from it: values, and derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sciml_bench.errors import ProblemError
from sciml_bench.importing.equations import Equations
from sciml_bench.importing.python.function import Call, Given

Value = Callable[[Mapping[str, float]], Sequence[float]]
"""The derivatives from numbers by name."""

_SEED = 3
#: States are near the initial one, five times, and then multiples of it.
_FACTORS = (1.0, 1.0, 1.0, 1.0, 1.0, 3.0, 20.0, -1.0, 0.0)
#: The points at which Jacobians are compared, and the entries of the largest ones.
_JACOBIANS, _ENTRIES, _STEP = 2, 1_000_000, 6e-6


def compare_values(function: Callable[..., Any], given: Given, formula: Equations, value: Value) -> None:
    """Compare a function with its formulas, which ``value`` computes from numbers by name, near the initial state and
    far from it.

    Raises:
        ProblemError: they differ, or the function is not one of its arguments alone.
    """
    call = Call(function, given)
    for factor, (t, states, values) in zip(_FACTORS, _points(call, formula), strict=True):
        try:
            with np.errstate(all="ignore"):
                own, again = (call.with_numbers(t, [*states.values()], values) for _ in range(2))
        except ProblemError:
            raise
        except Exception as error:
            if factor == 1.0:
                raise call.refused(error) from error
            # Far away it need not be defined.
            continue
        if not np.array_equal(own, again, equal_nan=True):
            raise call.error("two calls with the same arguments differ.", "Take random numbers and state out of it.")
        made = np.array(value({"t": t, **states, **{call.names[key]: of for key, of in values.items()}}))
        largest = float(np.max(np.abs(own), initial=0.0, where=np.isfinite(own)))
        of_entry, of_largest = (1e-5, 1e-6) if call.library.single else (1e-12, 1e-14)
        bound = of_entry * np.maximum(np.abs(own), np.abs(made)) + of_largest * largest
        with np.errstate(all="ignore"):
            apart = np.abs(own - made)
        wrong = ~(apart <= bound) & ~(own == made) & ~(np.isnan(own) & np.isnan(made))
        if np.any(wrong):
            place = int(np.argmax(wrong))
            name, both = list(formula.states)[place], (own[place], made[place])
            raise call.error(
                f"the derivative of {name} is {both[0]:.17g} by the function and {both[1]:.17g} by its formula, at "
                f"t = {t:g} and {factor:g} times the initial state.",
                "It may decide by a type, or depend on more than its arguments.",
            )


def compare_derivatives(function: Callable[..., Any], given: Given, formula: Equations, value: Value) -> None:
    """Compare the derivatives that a function's library takes of it with differences of its formulas' values.

    They differ where a function defines its derivatives, as with JAX's ``stop_gradient`` and ``custom_jvp``.

    Raises:
        ProblemError: they differ.
    """
    call = Call(function, given)
    names = [*formula.states, *call.names.values()]
    if call.library.single or len(formula.states) * len(names) > _ENTRIES:
        return
    random = np.random.default_rng(_SEED)
    for _, (t, states, values) in zip(range(_JACOBIANS), _points(call, formula), strict=False):
        at = np.array([*states.values(), *values.values()])

        def of(z: Any, t: float = t) -> Any:
            return np.array(value({"t": t, **dict(zip(names, z, strict=True))}))

        try:
            own = call.jacobian(t, [*states.values()], values)
        except Exception:
            # Not every function of a library can be differentiated.
            return
        if own is None:
            return
        sizes = np.where(at == 0, 1.0, np.abs(at))
        along = random.choice([-1.0, 1.0], len(at)) * random.uniform(0.5, 1.0, len(at)) * sizes
        made = (of(at + _STEP * along) - of(at - _STEP * along)) / (2 * _STEP)
        wrong = ~(np.abs(own @ along - made) <= 1e-6 * (np.abs(own) @ sizes + np.abs(made))) & np.isfinite(made)
        if np.any(wrong):
            row = int(np.argmax(wrong))
            steps = np.diag(_STEP * sizes)
            each = np.array([(of(at + step) - of(at - step))[row] / (2 * np.sum(step)) for step in steps])
            column = int(np.argmax(np.abs(own[row] - each)))
            both = (own[row, column], each[column])
            raise call.error(
                f"the derivative of d{names[row]}/dt by {names[column]} is {both[0]:.10g} by {call.library.name} and "
                f"{both[1]:.10g} by differences, at t = {t:g}.",
                "Problem files have no other derivatives than the values have: remove its rule.",
            )


def _points(call: Call, formula: Equations) -> Iterator[tuple[float, dict[str, float], dict[Any, float]]]:
    """Times, states and parameters at which functions are compared, at the factors in order."""
    random = np.random.default_rng(_SEED)
    start, end = formula.t_span

    def near(of: float) -> float:
        return float(of * random.uniform(0.7, 1.3)) if of else float(random.uniform(0, 1))

    for factor in _FACTORS:
        t = float(random.uniform(start, end))
        states = {name: factor * near(of) for name, of in formula.states.items()}
        yield t, states, {key: near(of) for key, of in call.values.items()}
