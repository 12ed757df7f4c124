"""The ratio of two cells' times, from one number per process.

A process is the unit of replication. The pooled iterations of a process are not independent; tests on them find a
difference between a program and itself in 25 to 80 % of trials at a nominal 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from sciml_bench.stats.autocorrelation import autocorrelation
from sciml_bench.stats.log_means import exp, logs, mean_and_sd
from sciml_bench.stats.student import check_confidence, critical_t, two_sided_p

Block = TypeVar("Block", bound=Any)

# As good as known exactly.
_EXACT_DF = 1e9


@dataclass(frozen=True)
class Ratio:
    """new / base: below 1 the new side is faster.

    [low, high] is the interval at ``confidence`` and ``p`` the two-sided probability of a ratio this far from 1 if
    there were no difference. ``n`` is the number of block pairs (unpaired: of processes on the smaller side), ``df``
    the degrees of freedom, ``sd_log`` the standard deviation of log(new / base) of one pair, so that the standard
    error of log(estimate) is ``sd_log`` / √n for sides of equal size. With ``n`` = 1 nothing is known of the spread:
    the interval is (0, ∞), p is 1, ``sd_log`` and ``df`` are ``None``.

    ``serial`` is the autocorrelation of neighbouring blocks' log differences, ``None`` where it cannot be told.
    ``fixed_sd`` is the part of the standard error of log(estimate) that more processes do not lessen, known with
    ``fixed_df`` degrees of freedom, see :func:`with_fixed`; it is in the interval and in p.
    """

    estimate: float
    low: float
    high: float
    p: float
    n: int
    sd_log: float | None = None
    df: float | None = None
    confidence: float = 0.95
    serial: float | None = None
    fixed_sd: float = 0.0
    fixed_df: float = math.inf

    @property
    def error(self) -> float | None:
        """The standard error of log(estimate) with all its parts; ``None`` if it is unknown."""
        if self.sd_log is None or self.df is None or not 0 < self.low <= self.estimate <= self.high < math.inf:
            return None
        return (math.log(self.high) - math.log(self.estimate)) / critical_t(self.confidence, self.df)

    @property
    def inverse(self) -> Ratio:
        """base / new."""
        return replace(self, estimate=_over(self.estimate), low=_over(self.high), high=_over(self.low))


@dataclass(frozen=True)
class Pairs(Generic[Block]):
    """Times of the blocks in which both sides have one, in order of the blocks; ``alone`` are the other blocks."""

    blocks: tuple[Block, ...]
    base: tuple[float, ...]
    new: tuple[float, ...]
    alone: tuple[Block, ...]


def pair(base: Mapping[Block, float | None], new: Mapping[Block, float | None]) -> Pairs[Block]:
    """Pair two cells' times by block; a process that failed has ``None``, and its block is left out and named."""
    times = {block: (base[block], new[block]) for block in base.keys() & new.keys()}
    both = sorted((block, a, b) for block, (a, b) in times.items() if a is not None and b is not None)
    blocks = tuple(block for block, _, _ in both)
    return Pairs(
        blocks,
        base=tuple(time for _, time, _ in both),
        new=tuple(time for _, _, time in both),
        alone=tuple(sorted((base.keys() | new.keys()) - set(blocks))),
    )


def paired_ratio(
    base: Sequence[float], new: Sequence[float], confidence: float = 0.95, *, ordered: bool = True
) -> Ratio:
    """The geometric mean of new/base over blocks, with Student's t on the log differences (df = n − 1).

    Times are per-process medians; ``base[i]`` and ``new[i]`` are of the same block. Student 1908, on logarithms since
    times are multiplied by what disturbs them; pairing by block takes drift out (Kalibera & Jones 2013, "Rigorous
    benchmarking in reasonable time", demand independent repetitions; under drift only differences within a block
    are). The level holds at every n where the logs are close to normal. Few blocks with a long tail make it cautious,
    not bold: an outlying block widens the interval more than it moves the estimate.

    The pairs are in the order of time unless ``ordered`` is false; then the correlation of neighbours is not reported.

    Raises:
        ValueError: the sides differ in length or are empty, or a time is not positive and finite.
    """
    check_confidence(confidence)
    if len(base) != len(new):
        raise ValueError(f"paired sides need a time each per block, got {len(base)} of base and {len(new)} of new")
    before, after = _logs(base, new)
    differences = [b - a for a, b in zip(before, after, strict=True)]
    mean, sd = mean_and_sd(differences)
    n = len(differences)
    if n == 1:
        return _unknown(mean, confidence)
    found = _ratio(mean, sd / math.sqrt(n), n, sd, n - 1, confidence)
    return replace(found, serial=autocorrelation(differences)) if ordered else found


def unpaired_ratio(base: Sequence[float], new: Sequence[float], confidence: float = 0.95) -> Ratio:
    """The ratio of the geometric means of sides that were not measured in common blocks: Welch's t on logs.

    Welch 1947 (Biometrika 34, 28–35), degrees of freedom by Satterthwaite. It cannot tell drift between the two runs
    from a difference between the programs; measure in common blocks wherever that can be done. A side with a single
    process leaves its spread unknown, so p is 1.

    Raises:
        ValueError: a side is empty, or a time is not positive and finite.
    """
    check_confidence(confidence)
    before, after = _logs(base, new)
    (mean_before, sd_before), (mean_after, sd_after) = mean_and_sd(before), mean_and_sd(after)
    mean, n = mean_after - mean_before, min(len(before), len(after))
    if n == 1:
        return _unknown(mean, confidence)
    parts = (sd_before**2 / len(before), sd_after**2 / len(after))
    squared = sum(parts)
    # Two sides without any spread: the limit of equal spreads.
    df = float(len(before) + len(after) - 2)
    if squared > 0:
        df = 1 / ((parts[0] / squared) ** 2 / (len(before) - 1) + (parts[1] / squared) ** 2 / (len(after) - 1))
    return _ratio(mean, math.sqrt(squared), n, math.hypot(sd_before, sd_after), df, confidence)


def with_fixed(ratio: Ratio, sd: float, df: float) -> Ratio:
    """The ratio with an additional error that is the same in every process, such as that of reading times off between
    tolerances: ``sd`` in logs, known with ``df`` degrees of freedom (∞: exactly).

    The degrees of freedom of the sum are Satterthwaite's (1946, Biometrics Bulletin 2, 110–114). Few processes gain by
    them, more than a small ``sd`` costs; the interval is never narrower for it, nor p smaller.

    Raises:
        ValueError: ``sd`` is negative or not finite, or ``df`` is not positive.
    """
    if not 0 <= sd < math.inf or not df > 0:
        raise ValueError(f"an error needs a finite sd and positive degrees of freedom, got {sd!r} and {df!r}")
    of_processes = ratio.error
    if sd == 0 or of_processes is None or ratio.df is None:
        return ratio
    squared = of_processes**2 + sd**2
    unknown = of_processes**4 / ratio.df + sd**4 / df
    freedom = min(squared**2 / unknown, _EXACT_DF) if unknown > 0 else _EXACT_DF
    mean = math.log(ratio.estimate)
    made = _ratio(mean, math.sqrt(squared), ratio.n, ratio.sd_log or 0.0, freedom, ratio.confidence)
    if made.low > ratio.low:
        made = replace(made, low=ratio.low, high=ratio.high, df=ratio.df)
    return replace(
        made, p=max(ratio.p, made.p), serial=ratio.serial, fixed_sd=math.hypot(ratio.fixed_sd, sd),
        fixed_df=min(ratio.fixed_df, df),
    )  # fmt: skip


def with_alike(ratio: Ratio, factor: float) -> Ratio:
    """The ratio where the mean over blocks scatters ``factor`` times as much as for independent ones, since neighbours
    are correlated (:mod:`sciml_bench.stats.autocorrelation`): a wider interval and a larger p.

    An error that is the same in every process has no blocks, and is not widened.
    """
    if factor == 1 or not ratio.sd_log or ratio.n < 2:
        return ratio
    of_blocks = factor * ratio.sd_log / math.sqrt(ratio.n)
    wide = _ratio(math.log(ratio.estimate), of_blocks, ratio.n, ratio.sd_log, ratio.n - 1, ratio.confidence)
    return replace(with_fixed(wide, ratio.fixed_sd, ratio.fixed_df), serial=ratio.serial)


def _ratio(mean: float, error: float, n: int, sd_log: float, df: float, confidence: float) -> Ratio:
    half = critical_t(confidence, df) * error
    # Without any spread t is 0/0 or infinite; the limits of p are taken.
    p = two_sided_p(mean / error, df) if error > 0 else float(mean == 0)
    return Ratio(exp(mean), exp(mean - half), exp(mean + half), p, n, sd_log, df, confidence)


def _unknown(mean: float, confidence: float) -> Ratio:
    return Ratio(exp(mean), 0.0, math.inf, 1.0, 1, confidence=confidence)


def _logs(base: Sequence[float], new: Sequence[float]) -> tuple[list[float], list[float]]:
    if len(base) == 0 or len(new) == 0:
        raise ValueError(f"the {'base' if len(base) == 0 else 'new'} side has no process with a time")
    return logs(base, "times of base"), logs(new, "times of new")


def _over(value: float) -> float:
    return math.inf if value == 0 else 1 / value
