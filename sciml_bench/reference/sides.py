"""On which side of zero the conditions are that depend on the solution: they may not change along it.

Where one changes, the solution has a kink or a jump at a time that moves with theta, which collocation across it does
not resolve and the adjoint does not see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flint import arb
from sympy import Basic

from sciml_bench.reference.failure import StepFailure


class Sides:
    """Remembers the side of each condition from the first time that it is on one."""

    def __init__(self, unsettled: str | None = ""):
        """``unsettled`` says which conditions of the file there are; ``None`` lets all of them change."""
        self._unsettled = unsettled
        self._known: dict[Basic, int] = {}

    def functions(self, conditions: Sequence[Basic]) -> dict[str, Callable[..., Any]]:
        """The functions of an emitted module that look at the side of its conditions.

        They take a ball and the number of a condition, and raise :class:`StepFailure` where its side changes.
        """

        def above(x: arb, number: int) -> arb:
            return arb(int(self._side(x, conditions[number]) > 0))

        def above_or_at(x: arb, number: int) -> arb:
            return arb(int(self._side(x, conditions[number]) >= 0))

        def sign(x: arb, number: int) -> arb:
            return arb(self._side(x, conditions[number]))

        return {"above": above, "above_or_at": above_or_at, "sign": sign}

    def _side(self, x: arb, condition: Basic) -> int:
        side = 1 if x > 0 else -1 if x < 0 else 0
        if self._unsettled is None:
            return side
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
