"""Four words for a comparison: faster, slower, same, undecided."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import NormalDist
from typing import TypeVar

from sciml_bench.stats import autocorrelation
from sciml_bench.stats.multiplicity import adjusted
from sciml_bench.stats.ratio import Ratio, with_alike
from sciml_bench.stats.student import critical_t

Key = TypeVar("Key", bound=Hashable)

# With this few processes a 5 % change is a coin toss, and the changes that they do find are overestimated.
FEW_PROCESSES = 5
LEAST_RATIO_OF_FEW = 2.0
# Beyond this, "more processes" is not useful advice.
MOST_PROCESSES = 10_000


class Verdict(StrEnum):
    """The verdict on the new side."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNDECIDED = "undecided"


class Held(StrEnum):
    """The reason why a comparison is undecided though its p alone would name a winner."""

    FEW = "few processes"
    ALIKE = "neighbouring blocks are similar, or may be"
    BOUND = "known from above only"
    RUN = "how far runs differ is not known"
    DISTURBED = "every process of a side was disturbed"


@dataclass(frozen=True)
class Judgement:
    """A verdict and its basis.

    ``adjusted_p`` is p after Benjamini–Hochberg over the family, below a factor of 2 also corrected for correlated
    neighbouring blocks. ``more_processes`` is only given for ``undecided``: the further processes per side that would
    decide, with a probability of 80 %, if the ratio and its spread are as observed. ``None`` there means that this
    cannot be estimated: a single process shows no spread, or the ratio lies so close to the edge of the band that more
    than 10 000 would be needed. ``held`` says why a winner that p alone would name is not named. ``widening`` is the
    factor of the interval for the correlation of neighbouring blocks.
    """

    verdict: Verdict
    ratio: Ratio
    adjusted_p: float
    more_processes: int | None = None
    held: Held | None = None
    widening: float = 1.0


@dataclass(frozen=True)
class Rule:
    """The rule for a family: the band of equal ratios [1/(1 + band), 1 + band], the level, the power, and whether the
    difference between runs is known.
    """

    band: float = 0.05
    level: float = 0.05
    power: float = 0.8
    runs_known: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.band < math.inf:
            raise ValueError(f"the band must be a positive share such as 0.05, got {self.band!r}")
        if not 0 < self.level < 1:
            raise ValueError(f"the level must lie between 0 and 1, got {self.level!r}")
        if not 0.5 < self.power < 1:
            raise ValueError(f"the power must lie between 0.5 and 1, got {self.power!r}")

    @property
    def edge(self) -> float:
        """Half the width of the band in logs."""
        return math.log1p(self.band)


def judge(
    family: Mapping[Key, Ratio],
    band: float = 0.05,
    level: float = 0.05,
    power: float = 0.8,
    *,
    independent: int | None = None,
    runs_known: bool = True,
    earlier: autocorrelation.Earlier | None = None,
) -> dict[Key, Judgement]:
    """Judge all comparisons of one stated family together, in its order.

    ``same``: the interval lies inside the band, also when it excludes 1: detectable but negligible. At 95 % that is
    two one-sided tests at 2.5 % each (Schuirmann 1987, J. Pharmacokinetics and Biopharmaceutics 15, 657–680).
    ``faster`` or ``slower``: adjusted p below ``level``, and the estimate outside the band. Otherwise ``undecided``.

    Fewer than 5 processes name a winner only from a factor of 2 on, and so do two runs unless it is known how far runs
    differ (``runs_known``). A comparison with one process tests nothing: it is undecided, and does not enter the
    family. The band is symmetric in logs, so that exchanging the sides exchanges faster and slower and changes nothing
    else.

    Intervals, and below a factor of 2 probabilities, allow for the autocorrelation of neighbouring blocks
    (:mod:`sciml_bench.stats.autocorrelation`). That is estimated from all comparisons of the family together and from
    ``earlier`` series of the machine: a few blocks alone do not determine it. ``independent`` of the comparisons are
    mutually independent (by default all).

    ``more_processes`` is for the plan of a new run. Adding to the same one until something is decided finds more than
    there is: looking a second time after doubling raises 5 % of false positives to 8 % (Armitage, McPherson & Rowe
    1969, J. R. Stat. Soc. A 132, 235–244).

    Raises:
        ValueError: ``band`` is not positive, ``level`` is not within (0, 1), or ``power`` not within (0.5, 1).
    """
    rule = Rule(band, level, power, runs_known)
    tested = [key for key, ratio in family.items() if ratio.n > 1]
    alike = _Alike.of([family[key] for key in tested], independent, earlier)
    wide = {key: with_alike(family[key], factor) for key, factor in zip(tested, alike.factors, strict=True)}
    guarded = [ratio.p for ratio in wide.values()]
    plain = adjusted([family[key].p for key in tested])
    found = zip(plain, adjusted(guarded), guarded, alike.series, strict=True)
    proofs = {key: _Proof(*proof) for key, proof in zip(tested, found, strict=True)}
    shown = {key: _shown(ratio, wide[key], rule) if key in wide else ratio for key, ratio in family.items()}
    widening = dict(zip(tested, alike.factors, strict=True))
    return {
        key: replace(_judged(ratio, proofs.get(key, _NO_PROOF), rule, alike), widening=widening.get(key, 1.0))
        for key, ratio in shown.items()
    }


def processes_to_tell(ratio: Ratio, gap: float) -> int | None:
    """Return the number of further processes per side that a verdict needs, with a probability of 80 %.

    They bring the edge of the interval within ``gap``, in logs, of its middle, if it is as much wider for what blocks
    have in common as it is now. ``None`` if the number is unknown, see :class:`Judgement`.
    """
    if ratio.n < 2 or ratio.error is None or ratio.fixed_sd:
        return None
    of_one = ratio.error * math.sqrt(ratio.n)
    needed = max(ratio.n + 1, _fewest(gap, of_one, (ratio.confidence, 2 * Rule.power - 1)))
    return None if math.isinf(needed) else int(needed) - ratio.n


def with_bound(judgement: Judgement, base_at_most: bool, new_at_most: bool) -> Judgement:
    """A side that is an upper bound may be faster still, so only one direction can be judged."""
    if new_at_most:
        settled = judgement.verdict is Verdict.FASTER and not base_at_most
    else:
        settled = not base_at_most or judgement.verdict is Verdict.SLOWER
    if settled:
        return judgement
    return replace(judgement, verdict=Verdict.UNDECIDED, more_processes=None, held=Held.BOUND)


def without_winner(judgement: Judgement, held: Held) -> Judgement:
    """The judgement where no winner may be named, for the reason ``held``."""
    if judgement.verdict not in (Verdict.FASTER, Verdict.SLOWER):
        return judgement
    return replace(judgement, verdict=Verdict.UNDECIDED, more_processes=None, held=held)


@dataclass(frozen=True)
class _Alike:
    """The correlation of neighbouring blocks in a family: the factor by which t is too large in each of its
    comparisons.
    """

    found: tuple[tuple[float, int], ...]
    independent: int
    factors: tuple[float, ...]
    series: tuple[bool, ...]
    earlier: autocorrelation.Earlier | None

    @classmethod
    def of(cls, ratios: Sequence[Ratio], independent: int | None, earlier: autocorrelation.Earlier | None) -> _Alike:
        known = [None if ratio.serial is None else (ratio.serial, ratio.n) for ratio in ratios]
        found = tuple(item for item in known if item is not None)
        among = len(found) if independent is None else independent
        coefficients = iter(autocorrelation.allowed(found, among, earlier))
        factors = tuple(1.0 if item is None else autocorrelation.widening(next(coefficients)) for item in known)
        return cls(found, among, factors, tuple(item is not None for item in known), earlier)

    def planned(self, n: int) -> float:
        """The factor for ``n`` blocks, if the present coefficient is right."""
        if not self.found:
            return 1.0
        # The next run's estimate will lie above this one with the same probability as below; 1.5 leaves 80 % below.
        own = (
            max(0.0, autocorrelation.central(self.found)),
            1.5 * autocorrelation.margin(self.found, self.independent, n),
        )
        coefficient = autocorrelation.common(*own, self.earlier)
        return autocorrelation.widening(min(coefficient, autocorrelation.WORST))


@dataclass(frozen=True)
class _Proof:
    """p over the family by t alone (``plain``), with what blocks have in common (``adjusted``), and that before the
    family (``guarded``)."""

    plain: float
    adjusted: float
    guarded: float
    series: bool


_NO_PROOF = _Proof(1.0, 1.0, 1.0, False)


def _shown(ratio: Ratio, wide: Ratio, rule: Rule) -> Ratio:
    """The wider interval of a ratio with its own p, as the judgement has the family's. Where p alone names a winner,
    no drift makes the two sides the same: the interval is not widened beyond the band.
    """
    low, high, edge = wide.low, wide.high, 1 + rule.band
    if _needs_p_alone(ratio):
        low = max(low, min(ratio.low, edge)) if ratio.low > 1 else low
        high = min(high, max(ratio.high, 1 / edge)) if ratio.high < 1 else high
    return replace(wide, low=low, high=high, p=ratio.p)


def _judged(ratio: Ratio, proof: _Proof, rule: Rule, alike: _Alike) -> Judgement:
    verdict, held = _verdict(ratio, proof, rule)
    p = proof.plain if _needs_p_alone(ratio) else proof.adjusted
    more = _more_processes(ratio, proof, rule, alike) if verdict is Verdict.UNDECIDED and rule.runs_known else None
    return Judgement(verdict, ratio, p, more, held)


def _needs_p_alone(ratio: Ratio) -> bool:
    """Return whether the sides differ too much for any drift of a usable machine."""
    return abs(math.log(ratio.estimate)) > math.log(LEAST_RATIO_OF_FEW)


def _verdict(ratio: Ratio, proof: _Proof, rule: Rule) -> tuple[Verdict, Held | None]:
    if ratio.n < 2:
        return Verdict.UNDECIDED, None
    if 1 / (1 + rule.band) <= ratio.low and ratio.high <= 1 + rule.band:
        return Verdict.SAME, None
    distance = abs(math.log(ratio.estimate))
    if not (proof.plain < rule.level and distance > rule.edge):
        return Verdict.UNDECIDED, None
    if not _needs_p_alone(ratio):
        if not rule.runs_known:
            return Verdict.UNDECIDED, Held.RUN
        if ratio.n < FEW_PROCESSES:
            return Verdict.UNDECIDED, Held.FEW
        if proof.adjusted >= rule.level:
            return Verdict.UNDECIDED, Held.ALIKE
    return (Verdict.FASTER if ratio.estimate < 1 else Verdict.SLOWER), None


def _more_processes(ratio: Ratio, proof: _Proof, rule: Rule, alike: _Alike) -> int | None:
    """The smallest number of further processes a side that decides with the rule's power; ``None`` if untold.

    Taken as paired, and the factor by which the family raises p as given. Inside the band the interval must come to
    lie inside it too; outside, the test must find the difference, and the estimate must stay outside.
    """
    if ratio.n < 2 or ratio.sd_log is None or ratio.fixed_sd:
        return None
    level = max(rule.level * proof.guarded / proof.adjusted if proof.adjusted > 0 else rule.level, 1e-12)
    likely = 2 * rule.power - 1
    distance = abs(math.log(ratio.estimate))
    guarded = alike.planned if proof.series or ratio.n < FEW_PROCESSES else None
    if distance < rule.edge:
        needed = [ratio.n + 1, _fewest(rule.edge - distance, ratio.sd_log, (ratio.confidence, likely), guarded)]
    else:
        needed = [
            max(ratio.n + 1, FEW_PROCESSES),
            _fewest(distance, ratio.sd_log, (1 - level, likely), guarded),
            _fewest(distance - rule.edge, ratio.sd_log, (likely,)),
        ]
    most = max(needed)
    return None if math.isinf(most) else int(most) - ratio.n


def _fewest(
    gap: float, sd: float, confidences: tuple[float, ...], factor: Callable[[int], float] | None = None
) -> float:
    """The least n at which ``gap`` is as wide as all the intervals' half-widths together; ∞ if beyond all advice.

    ``factor`` tells for a number of blocks by how much the first of them is wider.
    """
    quantiles = [NormalDist().inv_cdf((1 + confidence) / 2) for confidence in confidences]
    if gap <= 0 or sum(quantiles) * sd > gap * math.sqrt(MOST_PROCESSES):
        return math.inf

    def lacking(n: int, first: float, *others: float) -> bool:
        return gap * math.sqrt(n) < (first * (factor(n) if factor else 1.0) + sum(others)) * sd

    n, most = FEW_PROCESSES if factor else 2, MOST_PROCESSES
    while n < most:
        middle = (n + most) // 2
        n, most = (middle + 1, most) if lacking(middle, *quantiles) else (n, middle)
    if lacking(n, *quantiles):
        return math.inf
    # Student's t needs a few more than the normal distribution does, never fewer.
    while n <= MOST_PROCESSES and lacking(n, *(critical_t(confidence, n - 1) for confidence in confidences)):
        n += 1
    return n if n <= MOST_PROCESSES else math.inf
