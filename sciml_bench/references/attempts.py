"""The settings of each attempt at a certificate: the first pair, and tighter ones."""

from __future__ import annotations

from dataclasses import replace

from sciml_bench.references.engine.case import LARGE, Case
from sciml_bench.references.engine.trajectory import Settings

#: Components of a field share their units: small ones need not be followed as closely as large ones at first.
FIELD_FLOOR = 1e-6
#: How small a component is followed relative to itself, by how often two runs have parted: it may be for want of that.
NEGLIGIBLE = (1e-30, 1e-30, 1e-150, 1e-290)
#: The first place in this ladder with a lower floor.
LOWER_FLOOR = 2
#: Digits of the arithmetic that a further attempt has more; missing digits of two runs with nothing in common.
_MORE_DIGITS, _NOTHING_IN_COMMON = 19, 18.0


def opening_settings(case: Case) -> tuple[Settings, Settings]:
    """The first pair of settings, in different arithmetic too, so that rounding differs everywhere.

    Components of a field are followed to their common size.
    """
    if case.problem.n_states > LARGE:
        return (
            Settings(18, 5e-17, 38, FIELD_FLOOR, push=1, resolved=True),
            Settings(22, 1e-17, 45, FIELD_FLOOR, push=-1, shaken=True, resolved=True),
        )
    return Settings(18, 5e-19, push=1, resolved=True), Settings(22, 2e-19, 45, push=-1, shaken=True, resolved=True)


def tightened(settings: Settings, missing: float, followed: float, parted: int, lower: bool = False) -> Settings:
    """Settings for more digits: the tail of a step's polynomial buys a little more than its own size.

    ``followed`` of the missing digits belong to values above the floor; a lower floor gives the others. With ``lower``
    the floor of a field is lowered like any other.
    """
    negligible = NEGLIGIBLE[min(parted, len(NEGLIGIBLE) - 1)]
    return replace(
        settings,
        stages=settings.stages + (2 if followed > 2 else 0),
        tail=settings.tail * 10 ** -(0.7 * min(followed, 12.0) + 0.3),
        # Rounding may have grown to all of the solution if the runs have nothing in common.
        digits=2 * settings.digits if parted > 1 and followed > _NOTHING_IN_COMMON else settings.digits + _MORE_DIGITS,
        floor=min(settings.floor * 10**-missing, negligible)
        if settings.floor < FIELD_FLOOR or lower
        else settings.floor * 10**-missing,
        negligible=negligible,
    )
