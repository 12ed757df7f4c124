"""A problem on a page: its formulas, its numbers, its source, and the code that was run."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup


@dataclass(frozen=True)
class Formula:
    """A line of mathematics: typeset, or, if it is too long for that, as in the file."""

    math: Markup | None
    text: str


@dataclass(frozen=True)
class Code:
    """The equations as an adapter receives them; ``note`` says whether the records of this run solved the same."""

    adapter: str
    target: str
    text: str
    note: str


@dataclass(frozen=True)
class ProblemFacts:
    """A problem in words. ``missing`` says why nothing more is known; ``changed`` that it is not the measured one."""

    missing: str = ""
    changed: str = ""
    description: str = ""
    citation: str = ""
    url: str = ""
    note: str = ""
    time: str = ""
    wrt: str = ""
    sizes: str = ""
    grids: tuple[str, ...] = ()
    definitions: tuple[Formula, ...] = ()
    equations: tuple[Formula, ...] = ()
    parameters: tuple[Formula, ...] = ()
    initial: tuple[Formula, ...] = ()
    left_out: str = ""
    codes: tuple[Code, ...] = ()
