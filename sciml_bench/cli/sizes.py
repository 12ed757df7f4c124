"""The values of a sweep: what the user gave, or the usual ones."""

from __future__ import annotations

from sciml_bench.errors import UsageError
from sciml_bench.plan.profiles import profile_named
from sciml_bench.stats.scaling import LEAST_SIZES

USUAL = {
    "batch": (1, 4, 16, 64, 256),
    "width": (8, 32, 128, 512),
    "points": (15, 31, 63, 127),
    "span": (1, 2, 4, 8),
    # As few as the network can have, and more by the width of its layers.
    "parameters": (),
}
USUAL_TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)

# Doubles resolve no less; a solver of one digit solves nothing.
_TIGHTEST, _LOOSEST = 1e-14, 0.1


def sizes(values: str | None, over: str) -> tuple[int, ...]:
    """Whole numbers, smallest first.

    Raises:
        UsageError: one is no whole number above zero, one stands twice, or there are too few.
    """
    if values is None:
        return USUAL[over]
    found: list[int] = []
    for word in values.split(","):
        if not word.strip().isdecimal() or int(word) < 1:
            raise UsageError(f"--values: '{word.strip()}' is no whole number above zero; write for example 1,4,16,64")
        found.append(int(word))
    _check(found)
    return tuple(sorted(found))


def tolerances(values: str | None, profile: str) -> tuple[float, ...]:
    """Relative tolerances, loosest first; without values the profile's own, where they are enough.

    Raises:
        UsageError: one is no tolerance, one stands twice, or there are too few.
    """
    if values is None:
        own = profile_named(profile).rtols
        return own if len(own) >= LEAST_SIZES else USUAL_TOLERANCES
    found: list[float] = []
    for word in values.split(","):
        try:
            value = float(word)
        except ValueError:
            value = 0.0
        if not _TIGHTEST <= value <= _LOOSEST:
            raise UsageError(
                f"--values: '{word.strip()}' is no tolerance from {_TIGHTEST:g} to {_LOOSEST:g}; "
                "write for example 1e-4,1e-6,1e-8"
            )
        found.append(value)
    _check(found)
    return tuple(sorted(found, reverse=True))


def _check(found: list[int] | list[float]) -> None:
    if len(set(found)) < len(found):
        raise UsageError("--values: a value stands twice")
    if len(found) < LEAST_SIZES:
        raise UsageError(f"--values: {len(found)} given, but how cost grows takes {LEAST_SIZES} at least")
