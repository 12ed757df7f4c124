"""Four words for a comparison: faster, slower, same, undecided."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist
from typing import TypeVar

from sciml_bench.stats.discovery import adjusted
from sciml_bench.stats.ratio import Ratio
from sciml_bench.stats.student import critical_t

Key = TypeVar("Key", bound=Hashable)

# So few processes leave a 5 % change a coin toss, and the changes that they do find are overestimated.
FEW_PROCESSES = 5
LEAST_RATIO_OF_FEW = 2.0
# Beyond this, "more processes" is no advice.
MOST_PROCESSES = 10_000


class Verdict(StrEnum):
    """What a comparison says of the new side."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Judgement:
    """A verdict and what it rests on.

    ``adjusted_p`` is p after Benjamini–Hochberg over the family. ``more_processes`` is given for ``undecided`` only:
    how many more a side would decide, with a probability of 80 %, if the ratio and its spread are as observed.
    ``None`` there means that this cannot be told: a single process shows no spread, or the ratio lies so close to the
    edge of the band that more than 10 000 would be needed.
    """

    verdict: Verdict
    ratio: Ratio
    adjusted_p: float
    more_processes: int | None = None


@dataclass(frozen=True)
class Rule:
    """What judges a family: the band of equal ratios [1/(1 + band), 1 + band], the level, and the power asked for."""

    band: float = 0.05
    level: float = 0.05
    power: float = 0.8

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
    family: Mapping[Key, Ratio], band: float = 0.05, level: float = 0.05, power: float = 0.8
) -> dict[Key, Judgement]:
    """Judge all comparisons of one stated family together, in its order.

    ``same``: the interval lies inside the band, also when it excludes 1: detectable but negligible. At 95 % that is
    two one-sided tests at 2.5 % each (Schuirmann 1987, J. Pharmacokinetics and Biopharmaceutics 15, 657–680).
    ``faster`` or ``slower``: adjusted p below ``level``, and the estimate outside the band. Otherwise ``undecided``.

    Fewer than 5 processes name a winner only from a factor of 2 on. A comparison with one process tests nothing: it
    is undecided, and does not enter the family. The band is symmetric in logs, so that exchanging the sides exchanges
    faster and slower and changes nothing else.

    ``more_processes`` is for the plan of a new run. Adding to the same one until something is decided finds more than
    there is: looking a second time after doubling raises 5 % of false positives to 8 % (Armitage, McPherson & Rowe
    1969, J. R. Stat. Soc. A 132, 235–244).

    Raises:
        ValueError: ``band`` is not positive, ``level`` is not within (0, 1), or ``power`` not within (0.5, 1).
    """
    rule = Rule(band, level, power)
    tested = [key for key, ratio in family.items() if ratio.n > 1]
    probabilities = dict(zip(tested, adjusted([family[key].p for key in tested]), strict=True))
    return {key: _judged(ratio, probabilities.get(key, 1.0), rule) for key, ratio in family.items()}


def processes_to_tell(ratio: Ratio, gap: float) -> int | None:
    """How many more processes a side take the edge of an interval so far, in logs, from its middle, with a probability
    of 80 %; ``None`` where that cannot be told, see :class:`Judgement`."""
    if ratio.n < 2 or ratio.sd_log is None:
        return None
    needed = max(ratio.n + 1, _fewest(gap, ratio.sd_log, (ratio.confidence, 2 * Rule.power - 1)))
    return None if math.isinf(needed) else int(needed) - ratio.n


def _judged(ratio: Ratio, adjusted_p: float, rule: Rule) -> Judgement:
    verdict = _verdict(ratio, adjusted_p, rule)
    more = _more_processes(ratio, adjusted_p, rule) if verdict is Verdict.UNDECIDED else None
    return Judgement(verdict, ratio, adjusted_p, more)


def _verdict(ratio: Ratio, adjusted_p: float, rule: Rule) -> Verdict:
    if ratio.n < 2:
        return Verdict.UNDECIDED
    if 1 / (1 + rule.band) <= ratio.low and ratio.high <= 1 + rule.band:
        return Verdict.SAME
    if adjusted_p < rule.level and abs(math.log(ratio.estimate)) > _least(ratio.n, rule):
        return Verdict.FASTER if ratio.estimate < 1 else Verdict.SLOWER
    return Verdict.UNDECIDED


def _least(n: int, rule: Rule) -> float:
    """The distance from 1, in logs, beyond which n processes may name a winner."""
    return max(rule.edge, math.log(LEAST_RATIO_OF_FEW)) if n < FEW_PROCESSES else rule.edge


def _more_processes(ratio: Ratio, adjusted_p: float, rule: Rule) -> int | None:
    """The smallest number of further processes a side that decides with the rule's power; ``None`` if untold.

    Taken as paired, and the factor by which the family raises p as given. Inside the band the interval must come to
    lie inside it too; outside, the test must find the difference, and the estimate must stay outside.
    """
    if ratio.n < 2 or ratio.sd_log is None:
        return None
    level = max(rule.level * ratio.p / adjusted_p if adjusted_p > 0 else rule.level, 1e-12)
    likely = 2 * rule.power - 1
    distance = abs(math.log(ratio.estimate))
    if distance < rule.edge:
        needed = [ratio.n + 1, _fewest(rule.edge - distance, ratio.sd_log, (ratio.confidence, likely))]
    else:
        needed = [
            max(ratio.n + 1, FEW_PROCESSES),
            _fewest(distance, ratio.sd_log, (1 - level, likely)),
            _fewest(distance - rule.edge, ratio.sd_log, (likely,)),
        ]
    most = max(needed)
    return None if math.isinf(most) else int(most) - ratio.n


def _fewest(gap: float, sd: float, confidences: tuple[float, ...]) -> float:
    """The least n at which ``gap`` is as wide as all the intervals' half-widths together; ∞ if beyond all advice."""
    normal = sum(NormalDist().inv_cdf((1 + confidence) / 2) for confidence in confidences)
    if gap <= 0 or normal * sd > gap * math.sqrt(MOST_PROCESSES):
        return math.inf
    # Student's t needs a few more than the normal distribution does, never fewer.
    n = max(2, math.ceil((normal * sd / gap) ** 2))
    while gap * math.sqrt(n) < sum(critical_t(confidence, n - 1) for confidence in confidences) * sd:
        n += 1
    return n
