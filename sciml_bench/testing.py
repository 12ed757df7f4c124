"""Certified gradients for the tests of other libraries; needs NumPy alone.

    from sciml_bench.testing import assert_gradient

    assert_gradient(my_gradient, "robertson", rtol=1e-6)

The objective is the loss of the problem file: unless the file says otherwise, the sum over all saved times and states
of (state/scale)**2. ``sciml-bench describe robertson`` shows it with the equations and numbers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sciml_bench.errors import UsageError
from sciml_bench.references.statement import Statement, read
from sciml_bench.spec import catalog

__all__ = ["assert_gradient", "certified"]

_SHOWN = 20


def certified(problem: str | os.PathLike[str]) -> Statement:
    """The certified objective and gradient of a problem of the catalog, or of a file that ``certify`` wrote.

    Raises:
        UsageError: the catalog has no such problem.
        StoreError: the file is not readable, or there is none.
    """
    name = os.fspath(problem)
    if name.endswith(".json"):
        return read(Path(name))
    return read(catalog.path(name).with_suffix(".reference.json"))


def assert_gradient(
    mine: Mapping[str, float] | Sequence[float] | np.ndarray[Any, Any],
    problem: str | os.PathLike[str],
    rtol: float = 1e-6,
    *,
    objective: float | None = None,
) -> None:
    """Compare a gradient with the certified one, component by component.

    Args:
        mine: numbers by the names of the parameters, or all of them in the order of the problem file.
        problem: a name of the catalog, or a JSON file of ``sciml-bench certify``.
        rtol: largest relative error of each component. A component that is certified to be negligible may be as large
            as ``rtol`` times the largest one.
        objective: also compare the value of the objective.

    Raises:
        AssertionError: a component, or the objective, is off; the message lists all of them.
        UsageError: other parameters, or fewer digits are certified than ``rtol`` asks for.
    """
    truth = certified(problem)
    given = _by_name(mine, truth)
    expected = {name: float(part.value) for name, part in truth.gradient.items()}
    largest = max(map(abs, expected.values()))
    _demand_digits(truth, rtol)
    wrong: list[str] = []
    for name, value in expected.items():
        part = truth.gradient[name]
        bound = rtol * (largest if value == 0 or abs(value) <= part.negligible else abs(value))
        if not abs(given[name] - value) <= bound:
            wrong.append(_line(name, given[name], value))
    if objective is not None and not abs(objective - float(truth.objective.value)) <= rtol * abs(
        float(truth.objective.value)
    ):
        wrong.append(_line("the objective", float(objective), float(truth.objective.value)))
    if wrong:
        more = [f"and {len(wrong) - _SHOWN} more"] if len(wrong) > _SHOWN else []
        head = f"{truth.problem}: {len(wrong)} of {len(expected) + (objective is not None)} numbers are off"
        raise AssertionError("\n  ".join([f"{head} by more than {rtol:g}:", *wrong[:_SHOWN], *more]))


def _by_name(mine: Any, truth: Statement) -> dict[str, float]:
    if not truth.gradient:
        raise UsageError(f"{truth.problem}: no gradient is certified")
    if isinstance(mine, Mapping):
        if {*mine} != {*truth.gradient}:
            names = ", ".join(truth.gradient)
            raise UsageError(f"{truth.problem}: the gradient is by {names}; not by {', '.join(map(str, mine))}")
        return {name: float(value) for name, value in mine.items()}
    flat = np.asarray(mine, dtype=float).ravel()
    if len(flat) != len(truth.gradient):
        raise UsageError(f"{truth.problem}: the gradient has {len(truth.gradient)} components, not {len(flat)}")
    return dict(zip(truth.gradient, map(float, flat), strict=True))


def _demand_digits(truth: Statement, rtol: float) -> None:
    if not 0 < rtol < 1:
        raise UsageError(f"rtol is {rtol:g}; it lies between 0 and 1")
    few = {name: part.digits for name, part in truth.gradient.items() if part.digits < -np.log10(rtol)}
    if few:
        name = min(few, key=lambda each: few[each])
        known = f"{few[name]} digits of the gradient by {name} are certified"
        raise UsageError(f"{truth.problem}: {known}; rtol = {rtol:g} asks for more")


def _line(name: str, mine: float, value: float) -> str:
    off = f", off by {abs(mine - value) / abs(value):.1e}" if value else ""
    return f"{name}: {mine!r} for {value!r}{off}"
