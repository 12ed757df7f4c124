"""Decides if LSODA leaves the coupling of the sensitivities with the state out of its Newton matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from sciml_bench.adapters.scipy.odeint import MAX_STEPS_OPTION
from sciml_bench.adapters.scipy.system import System
from sciml_bench.record.outcome import SolverFailure

# Cost of one evaluation beyond its numbers, in operations: a call of Python.
CALL = 3000

# Operations for each number that an evaluation writes.
EVALUATION = 20

# A full matrix is factorised in blocks, this many times faster for each operation than a band.
FULL = 4

# Between two saved times the solve without the coupling gets this many times the steps of the whole other one.
STEPS = 2


class Counted(Protocol):
    """Counts of a solve."""

    @property
    def n_accepted(self) -> int: ...
    @property
    def n_rhs_evaluations(self) -> int: ...
    @property
    def n_lu(self) -> int: ...


def cheaper(coupled: Sequence[System], uncoupled: System, counts_of: Callable[[System], Counted]) -> Sequence[System]:
    """Return the systems that take less arithmetic, the coupled ones if the uncoupled one fails.

    Raises:
        SolverFailure: even the systems with the coupling do not get to the end.
    """
    counted = [counts_of(system) for system in coupled]
    limit: dict[str, Any] = {MAX_STEPS_OPTION: STEPS * max(counts.n_accepted for counts in counted)}
    try:
        without = counts_of(uncoupled._replace(options={**uncoupled.options, **limit}))
    except SolverFailure:
        return coupled
    with_coupling = sum(operations(system, counts) for system, counts in zip(coupled, counted, strict=True))
    return [uncoupled] if operations(uncoupled, without) < with_coupling else coupled


def operations(system: System, counts: Counted) -> float:
    """About how many operations on numbers a solve with these counts takes."""
    size = len(system.start)
    if "lband" in system.options:
        lower, upper = system.options["lband"], system.options["uband"]
        # Rows are exchanged, which widens the upper part by the lower one.
        factorised, solved = 2 * size * lower * (lower + upper), 2 * size * (2 * lower + upper)
    else:
        factorised, solved = 2 * size**3 / (3 * FULL), 2 * size**2
    return counts.n_rhs_evaluations * (CALL + EVALUATION * size + solved) + counts.n_lu * factorised
