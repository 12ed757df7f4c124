"""The release that made a way slower, or broke it: a search between a good release and a bad one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sciml_bench.analysis.releases.releases import Change, Found

BAD = (Found.SLOWER, Found.BROKEN)
GOOD = (Found.SAME, Found.FASTER, Found.MENDED)


@dataclass(frozen=True)
class Bisection:
    """The last release found good and the first one found bad; ``between`` could not be decided."""

    good: str
    bad: str
    between: tuple[str, ...] = ()


def bisected(releases: Sequence[str], is_bad: Callable[[str], bool | None]) -> Bisection:
    """Search releases in order; the first one is good and the last one bad.

    ``is_bad`` returns ``None`` for a release that cannot be installed or decided; its neighbours are tried then.
    """
    low, high, undecided = 0, len(releases) - 1, set[int]()
    while candidates := [at for at in range(low + 1, high) if at not in undecided]:
        middle = min(candidates, key=lambda at: abs(2 * at - low - high))
        match is_bad(releases[middle]):
            case None:
                undecided.add(middle)
            case True:
                high = middle
            case False:
                low = middle
    return Bisection(releases[low], releases[high], tuple(releases[low + 1 : high]))


def worst(changes: Sequence[Change]) -> Change | None:
    """Return the change to search for: a broken way, or the slowest one; ``None`` if nothing is worse."""
    broken = [change for change in changes if change.found is Found.BROKEN]
    slower = [change for change in changes if change.found is Found.SLOWER and change.ratio is not None]
    if broken:
        return broken[0]
    return max(slower, key=lambda change: change.ratio.estimate if change.ratio else 0.0, default=None)


def is_bad(before: Change | None, after: Change | None) -> bool | None:
    """Return whether a release is bad, by its change from the good one and by the change from it to the bad one."""
    if before is not None and before.found in BAD:
        return True
    if after is not None and after.found in BAD:
        return False
    if before is not None and before.found in GOOD:
        return False
    return True if after is not None and after.found in GOOD else None
