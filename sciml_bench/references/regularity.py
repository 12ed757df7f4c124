"""Algebraic equations along a reference: with a singular Jacobian the problem has several solutions, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import sympy
from flint import arb

from sciml_bench.references.engine.case import Case
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.spec.language.operators import Node
from sciml_bench.spec.model import Problem, symbol, to_double, written_out


def refuse_singular(problem: Problem, rows: Sequence[Sequence[arb]]) -> None:
    """Refuse a solution, (n_times, n_states), along which the determinant has not the same sign at all saved times.

    Raises:
        ReferenceFailure: it does, or is zero at a saved time.
    """
    if not problem.algebraic:
        return
    entries = _entries(problem)
    names = list(problem.algebraic)
    case = Case(replace(problem, invariants={f"{i}_{j}": expr for (i, j), expr in entries.items()}))
    first, times = 0.0, [problem.t0, *problem.save_times]
    for time, values in zip(times, case.invariant_values([tuple(row) for row in rows]), strict=True):
        matrix = np.zeros((len(names), len(names)))
        for (i, j), value in zip(entries, values.values(), strict=True):
            matrix[i, j] = value
        sign = float(np.linalg.slogdet(_scaled(matrix))[0])
        first = first or sign
        if sign != first:
            raise ReferenceFailure(
                f"no reference is certified for '{problem.name}': the Jacobian of its algebraic equations by"
                f" {', '.join(names)} becomes singular up to t = {to_double(time):.6g}, where the solution may branch"
                " or end.", to_double(time),
            )  # fmt: skip


def _entries(problem: Problem) -> dict[tuple[int, int], Node]:
    """The entries of the Jacobian that are not zero, in terms of states, parameters and time."""
    known = written_out(problem.declared_definitions)
    found: dict[tuple[int, int], Node] = {}
    for i, residual in enumerate(problem.algebraic.values()):
        for j, name in enumerate(problem.algebraic):
            entry = sympy.diff(residual.xreplace(known), symbol(name))
            if entry != 0:
                found[i, j] = entry
    return found


def _scaled(matrix: np.ndarray) -> np.ndarray:
    """The matrix with rows and columns divided by their largest entries, which keeps the sign of its determinant."""
    for axis in (1, 0):
        size = np.max(np.abs(matrix), axis=axis, keepdims=True)
        matrix = matrix / np.where(size > 0, size, 1.0)
    return matrix
