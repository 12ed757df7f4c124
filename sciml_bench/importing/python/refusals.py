"""Refusals of what a user's function does with formulas, kept in case the function catches them."""

from __future__ import annotations

import traceback


class Refusal(TypeError):
    """A function does something that has no formula; ``stack`` is where. Kept in ``REFUSALS``, if the function itself
    catches it.
    """

    def __init__(self, message: str, stack: traceback.StackSummary | None = None):
        super().__init__(message)
        self.stack = stack or traceback.extract_stack()
        REFUSALS.append(self)


REFUSALS: list[Refusal] = []
"""The refusals of the present call, oldest first."""


class DataDependent(Refusal):
    """A function decides something by the value of a state, a parameter or the time, which a formula cannot."""

    def __init__(self, stack: traceback.StackSummary | None = None, library: str = "np"):
        super().__init__(f"its way depends on a value: write {library}.where(condition, a, b)", stack)


class Unsupported(Refusal):
    """A function does something that problem files have no word for."""
