"""Explanation of a slowdown: everything that differs between two cells apart from the framework, and how much of the
ratio of their times it accounts for.

A ratio of times is the ratio of the work done times the ratio of the cost of one unit of it. If both libraries count
the same work, the two factors are distinguished; otherwise the explanation says that they cannot be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sciml_bench.analysis.explanation.solver_counts import COUNTS, SolverCounts, work_of
from sciml_bench.analysis.rows import Row, Target
from sciml_bench.analysis.tables import formatting

# Counts within this of each other are the same work: tolerances of two libraries never give equal ones.
SAME_WORK = 1.1

# A factor explains the slowdown from this part of the log ratio on, and is named as a part of it from that one on.
MOST = 0.75
SOME = 0.25

NOT_KNOWN = "not known"
NOT_COUNTED = "not counted"


@dataclass(frozen=True)
class Difference:
    """One line: its name, its values in the faster and in the slower cell, and the ratio if there is one.

    ``differs`` is ``None`` if it is not known on one side or both.
    """

    what: str
    fast: str
    slow: str
    differs: bool | None
    ratio: float | None = None

    @property
    def known(self) -> bool:
        """Return whether it is known of at least one of the two."""
        return {self.fast, self.slow} - {NOT_KNOWN, NOT_COUNTED} != set()


@dataclass(frozen=True)
class Slowdown:
    """The gap between two rows of a table. ``ratio`` is the slower time over the faster one.

    ``sentences`` are the explanation: the factors of the ratio, the differences, and the conclusion. ``work_ratio`` is
    the ratio of the count that both libraries give, ``counted`` its name; ``None`` without one.
    """

    quantity: str
    fast: Row
    slow: Row
    ratio: float
    counted: str | None
    work_ratio: float | None
    differences: tuple[Difference, ...]
    sentences: tuple[str, ...]

    @property
    def told(self) -> tuple[Difference, ...]:
        """Differences, and facts known of only one of the two."""
        return tuple(item for item in self.differences if item.differs or (item.differs is None and item.known))

    @property
    def unknown(self) -> tuple[Difference, ...]:
        """Facts known of neither."""
        return tuple(item for item in self.differences if item.differs is None and not item.known)


def explain_slowdown(fast: Row, slow: Row, target: Target, quantity: str) -> Slowdown | None:
    """The explanation why ``slow`` takes longer than ``fast``; ``None`` if one of them has no time at the target."""
    a, b = work_of(fast, target, quantity), work_of(slow, target, quantity)
    if a is None or b is None or not (a.seconds > 0 and b.seconds > 0):
        return None
    ratio = b.seconds / a.seconds
    counted = next((name for name in COUNTS if a.counts.get(name) and b.counts.get(name)), None)
    work_ratio = b.counts[counted] / a.counts[counted] if counted else None
    settings = tuple(_settings(fast, slow))
    differences = (*settings, *_measured(fast, slow, a, b, counted))
    sentences = (
        *_factors(ratio, counted, work_ratio, a, b),
        *_own_cost(fast, slow, quantity),
        _conclusion(settings, fast, slow),
    )
    return Slowdown(quantity, fast, slow, ratio, counted, work_ratio, differences, sentences)


def _settings(fast: Row, slow: Row) -> Iterator[Difference]:
    """Choices made before anything ran."""
    a, b = fast.summary.cell, slow.summary.cell
    x, y = fast.summary.method, slow.summary.method

    def told(what: str, name: str, words: tuple[str, str] | None = None) -> Difference:
        values = [None if m is None else getattr(m, name) for m in (x, y)]
        texts = [NOT_KNOWN if v is None else words[not v] if words else str(v).replace("_", " ") for v in values]
        return Difference(what, *texts, differs=None if None in values else values[0] != values[1])

    yield _chosen("method", a.method, b.method)
    yield told("family of the method", "family")
    yield told("order of the method", "order")
    yield told("explicit or implicit", "implicit", ("implicit", "explicit"))
    yield told("step-size control", "adaptive", ("adaptive", "fixed steps"))
    yield _chosen("sensitivity", a.sensitivity, b.sensitivity)
    yield _chosen("mode", a.framework_mode, b.framework_mode)
    yield _chosen("compile caches", a.caches, b.caches)
    yield _chosen("precision", a.precision, b.precision)
    yield _chosen("device", a.device, b.device)
    yield _chosen("values at saved times", a.saving, b.saving)


def _chosen(what: str, fast: str, slow: str) -> Difference:
    return Difference(what, fast, slow, fast != slow)


def _measured(fast: Row, slow: Row, a: SolverCounts, b: SolverCounts, counted: str | None) -> Iterator[Difference]:
    """Measurements of the runs."""
    for name in COUNTS:
        yield _numbers(name, a.counts.get(name), b.counts.get(name), _count_text)
    if counted:
        each = [work.seconds / work.counts[counted] for work in (a, b)]
        yield _numbers(f"time per {_ONE[counted]}", each[0], each[1], formatting.duration)
    yield _numbers("rejected steps", a.rejected_share, b.rejected_share, lambda share: f"{100 * share:.0f} %", 0.02)
    yield _numbers("tolerance (rtol) nearest to the target", a.rtol, b.rtol, formatting.tolerance)
    yield _numbers("gradient over solve", _over_solve(fast), _over_solve(slow), formatting.ratio)
    yield _numbers("best error of the gradient", fast.gradient_error, slow.gradient_error, formatting.error)
    sizes = fast.summary.peak_rss_bytes, slow.summary.peak_rss_bytes
    yield _numbers("memory of the process", *sizes, formatting.size)
    noisy = [sum(bool(process.noisy) for process in row.summary.processes) for row in (fast, slow)]
    texts = [f"{n} of {len(row.summary.processes)}" for n, row in zip(noisy, (fast, slow), strict=True)]
    yield Difference("disturbed processes", texts[0], texts[1], noisy[0] != noisy[1])


def _numbers(
    what: str, fast: float | None, slow: float | None, text: Callable[[float], str], apart: float = 0.0
) -> Difference:
    """A line of numbers: different when they are further apart than 10 % (shares: than ``apart``)."""
    texts = [NOT_COUNTED if value is None else text(value) for value in (fast, slow)]
    if fast is None or slow is None:
        return Difference(what, *texts, differs=None)
    if apart:
        return Difference(what, *texts, differs=abs(fast - slow) > apart)
    ratio = slow / fast if fast > 0 else None
    differs = fast != slow if ratio is None or ratio <= 0 else abs(math.log(ratio)) > math.log(SAME_WORK)
    return Difference(what, *texts, differs=differs, ratio=ratio)


_ONE = {
    "accepted steps": "accepted step",
    "steps": "step",
    "evaluations of the right-hand side": "evaluation of the right-hand side",
    "evaluations of the Jacobian": "evaluation of the Jacobian",
    "factorisations": "factorisation",
}


def _factors(
    ratio: float, counted: str | None, work_ratio: float | None, a: SolverCounts, b: SolverCounts
) -> Iterator[str]:
    """The ratio, split into how much is done and what each unit of it costs."""
    if counted is None or work_ratio is None:
        names = [", ".join(work.counts) or "nothing" for work in (a, b)]
        yield (
            f"The two libraries count nothing in common (the faster: {names[0]}; the slower: {names[1]}), so more work "
            "and costlier work cannot be distinguished."
        )
        return
    cost = ratio / work_ratio
    one = _ONE[counted]
    if 1 / SAME_WORK <= work_ratio <= SAME_WORK:
        yield (
            f"It takes about as many {counted} ({_count_text(b.counts[counted])} against "
            f"{_count_text(a.counts[counted])}); each costs {_times(cost)} as much."
        )
    else:
        more = f"{_times(work_ratio)} as many {counted}" if work_ratio > 1 else (
            f"only {formatting.ratio(work_ratio)} times as many {counted}"
        )  # fmt: skip
        yield f"It takes {more}; per {one} it is {_speed(cost)}."
    yield _share(ratio, work_ratio, counted, one)


def _share(ratio: float, work_ratio: float, counted: str, one: str) -> str:
    """The factor that makes the slowdown."""
    if ratio <= 1.0 + 1e-9 or abs(math.log(ratio)) < math.log(1.05):
        return "The times are within 5 % of each other, so no difference needs an explanation."
    share = math.log(work_ratio) / math.log(ratio)
    if share >= MOST:
        return f"So the number of {counted} explains the gap."
    if share >= SOME:
        return f"So the number of {counted} explains a part of the gap ({100 * share:.0f} % of it in logs)."
    return f"So the cost of one {one} explains the gap, not their number."


def _own_cost(fast: Row, slow: Row, quantity: str) -> Iterator[str]:
    """Return whether the gap lies in the gradient itself rather than in the solve."""
    a, b = _over_solve(fast), _over_solve(slow)
    if quantity != "gradient" or a is None or b is None or not a or not b:
        return
    if b / a > 1.5:
        yield (
            f"Its gradient costs {formatting.ratio(b)} times its own solve, the faster one's "
            f"{formatting.ratio(a)} times: the way of taking the gradient is a part of the gap."
        )


def _conclusion(settings: tuple[Difference, ...], fast: Row, slow: Row) -> str:
    """The conclusion about the frameworks."""
    differing = [item for item in settings if item.differs and item.what not in ("method",)]
    names = [item.what for item in differing]
    if fast.summary.cell.adapter == slow.summary.cell.adapter:
        return f"Both are {fast.summary.cell.adapter}; what differs is {_listed(names) or 'the method'}."
    if any(item.differs is None for item in settings):
        return "One of the methods is unknown here, so the gap cannot be attributed to the frameworks."
    if not names:
        return (
            "Family, order, sensitivity, mode and precision are the same: the remaining difference is the frameworks "
            "and their implementations of the method."
        )
    return f"Besides the framework there differ: {_listed(names)}. The gap is one of combinations, not of frameworks."


def _over_solve(row: Row) -> float | None:
    solve, gradient = row.solve.seconds, row.gradient.seconds
    return gradient.median / solve.median if solve and gradient and solve.median > 0 else None


def _times(ratio: float) -> str:
    return f"{formatting.ratio(ratio)} times"


def _speed(cost: float) -> str:
    if 1 / SAME_WORK <= cost <= SAME_WORK:
        return "as fast"
    return f"{formatting.ratio(cost)} times slower" if cost > 1 else f"{formatting.ratio(1 / cost)} times faster"


def _count_text(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1] if names else ""
