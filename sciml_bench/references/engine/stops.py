"""The exact times that every method steps on: saved times, and ends of the segments in which a problem is smooth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cmp_to_key

from flint import arb
from sympy import Expr

from sciml_bench.references.engine.numbers import exact, precision
from sciml_bench.references.failures import ReferenceFailure
from sciml_bench.spec.model import to_double

#: Precision at which times are compared, and how many of its last bits two ways to write one time may differ in.
_TIME_BITS, _SAME_BITS = 768, 64


def stops(
    ends: Sequence[Expr], save_times: Sequence[Expr], number: Callable[[Expr], arb] = exact
) -> list[tuple[arb, int | None, bool]]:
    """Times to step on exactly: (time, index of the saved time or None, whether a segment ends there).

    ``ends`` are the ends of the segments; the last is the end of the time span; ``number`` makes a time a ball.

    Times that are one double but not the same are two stops, in their order.

    Raises:
        ReferenceFailure: two saved times are the same double, with which everything else computes.
    """
    if len({to_double(t) for t in save_times}) < len(save_times):
        raise ReferenceFailure("two saved times differ by less than double precision resolves")
    found: list[tuple[Expr, int | None, bool]] = [(time, k, False) for k, time in enumerate(save_times)]
    doubles = {to_double(time): k for k, time in enumerate(save_times)}
    last = save_times[-1]
    for time in ends[:-1]:
        near = doubles.get(to_double(time))
        if near is not None and _order(time, save_times[near]) == 0:
            found[near] = (save_times[near], near, True)
        elif _order(time, last) < 0:
            found.append((time, None, True))
    found.sort(key=cmp_to_key(lambda a, b: _order(a[0], b[0])))
    return [(number(time), index, breaks) for time, index, breaks in found]


def _order(a: Expr, b: Expr) -> int:
    """-1, 0 or 1 as the exact time ``a`` is before, at or after ``b``."""
    if a == b:
        return 0
    if (x := to_double(a)) != (y := to_double(b)):
        return -1 if x < y else 1
    with precision(_TIME_BITS):
        difference = exact(a - b)
    if abs(difference) < arb(2) ** (_SAME_BITS - _TIME_BITS) * max(abs(difference), abs(exact(b)), arb(1)):
        return 0
    return -1 if difference < 0 else 1
