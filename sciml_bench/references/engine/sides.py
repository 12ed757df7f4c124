"""On which side of zero the conditions are that depend on the solution: they may not change along it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flint import arb
from sympy import Basic

from sciml_bench.references.failures import StepFailure


class Sides:
    """Remembers the side of each condition from the first time that it is on one."""

    def __init__(self, unsettled: str | None = "", parameters: frozenset[Basic] = frozenset()):
        """``unsettled`` says which conditions of the file there are; ``None`` lets all of them change.

        Conditions of ``parameters`` alone do not change along a solution, but from one solution to another.
        """
        self._unsettled, self._parameters = unsettled, parameters
        self._known: dict[Basic, int] = {}

    def functions(self, conditions: Sequence[Basic]) -> dict[str, Callable[..., Any]]:
        """The functions of an emitted module that look at the side of its conditions.

        They take a ball and the number of a condition, and raise :class:`StepFailure` where its side changes.
        """

        followed = [self._unsettled is not None and not c.free_symbols <= self._parameters for c in conditions]

        def side(x: arb, number: int) -> int:
            here = 1 if x > 0 else -1 if x < 0 else 0
            return self._followed(x, here, conditions[number]) if followed[number] else here

        def above(x: arb, number: int) -> arb:
            return arb(int(side(x, number) > 0))

        def above_or_at(x: arb, number: int) -> arb:
            return arb(int(side(x, number) >= 0))

        def sign(x: arb, number: int) -> arb:
            return arb(side(x, number))

        return {"above": above, "above_or_at": above_or_at, "sign": sign}

    def _followed(self, x: arb, side: int, condition: Basic) -> int:
        known = self._known.get(condition, 0)
        if known == 0:
            if side != 0:
                self._known[condition] = side
            return side
        if side != known and x.is_finite():
            raise StepFailure(
                f"a condition changes that depends on more than the time ({self._unsettled or condition})"
            )
        return side


def choose(test: arb, a: Any, b: Any) -> Any:
    """The first of two values where a condition holds."""
    return a if test > 0 else b
