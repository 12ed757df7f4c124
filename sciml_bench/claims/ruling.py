"""What is said of a claim: a rule, with nothing to choose once the ratio is measured."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sciml_bench.claims.claim import Figure
from sciml_bench.stats.ratio import Ratio
from sciml_bench.stats.verdict import Judgement, Rule, Verdict


class Ruling(StrEnum):
    """How a claim stands."""

    HOLDS = "holds"
    HOLDS_IN_PART = "holds in part"
    DOES_NOT_HOLD = "does not hold"
    UNDECIDED = "undecided"
    NOT_TESTABLE = "not testable here"


@dataclass(frozen=True)
class Finding:
    """A ruling and what it rests on: the measured ratio of slow to fast, ``None`` where there is none."""

    ruling: Ruling
    reason: str
    ratio: Ratio | None = None
    more_processes: int | None = None


def rule(figure: Figure, judgement: Judgement) -> Finding:
    """Judge a claim by the measured slow/fast.

    A claimed ratio ``holds`` when the winner is the claimed one and the interval reaches the claimed ratio, or its
    lower end where a range is claimed; with the same winner and an interval that stays below it ``holds in part``, and
    the factor is what was measured. It ``does not hold`` when both sides are the same within the band, or the other one
    wins. Without a winner it is ``undecided``. A claim that both sides are alike holds when the whole interval lies
    within the claimed factor, does not hold when all of it lies outside, and is undecided in between.
    """
    ratio = judgement.ratio
    if figure.within is not None:
        return _alike(figure.within, judgement)
    if figure.ratio is None:
        raise ValueError("a claim has a ratio, or a factor within which both sides are alike")
    if judgement.verdict is Verdict.UNDECIDED:
        words = _words(figure)
        told = words.no_winner if ratio.n > 1 else f"a single process{words.of_each} has no interval"
        return Finding(Ruling.UNDECIDED, told, ratio, judgement.more_processes)
    if judgement.verdict is not Verdict.SLOWER:
        told = _words(figure).same if judgement.verdict is Verdict.SAME else _words(figure).other
        return Finding(Ruling.DOES_NOT_HOLD, told, ratio)
    return _reached(figure, figure.ratio, ratio.high, ratio)


def rule_count(figure: Figure, slow: float, fast: float) -> Finding:
    """The same for counts, which are exact: they have no interval. What lies within the band is the same."""
    measured = slow / fast
    ratio = Ratio(measured, measured, measured, 0.0, 1)
    if figure.within is not None:
        inside = 1 / figure.within <= measured <= figure.within
        told = "within" if inside else "outside"
        return Finding(Ruling.HOLDS if inside else Ruling.DOES_NOT_HOLD, f"{told} the claimed factor", ratio)
    if figure.ratio is None:
        raise ValueError("a claim has a ratio, or a factor within which both sides are alike")
    if measured <= 1 + Rule.band and measured < figure.ratio:
        same = measured >= 1 / (1 + Rule.band)
        told = "both counts are the same within the band" if same else "the other side has the smaller count"
        return Finding(Ruling.DOES_NOT_HOLD, told, ratio)
    return _reached(figure, figure.ratio, measured, ratio)


def rounded(number: float) -> str:
    """Three digits that count, without a power of ten: ratios reach tens of thousands."""
    return f"{float(f'{number:.3g}'):g}"


def not_testable(reason: str) -> Finding:
    """A claim that was not measured, and why."""
    return Finding(Ruling.NOT_TESTABLE, reason)


@dataclass(frozen=True)
class _Words:
    """What is said of the sides of a claim: whether the claimed one wins, the other, both, or nobody knows."""

    claimed: str
    other: str
    same: str
    no_winner: str
    of_each: str


_OF_TWO = _Words(
    "the claimed side wins", "the other side wins", "both sides are the same within the band",
    "the processes do not tell which side wins", " of each side",
)  # fmt: skip
_OF_ONE = _Words(
    "the first call takes longer", "the first call is the faster one", "first and later calls are the same within the "
    "band", "the processes do not tell which call takes longer", "",
)  # fmt: skip


def _words(figure: Figure) -> _Words:
    return _OF_ONE if figure.against_later else _OF_TWO


def _reached(figure: Figure, claimed: float, high: float, ratio: Ratio) -> Finding:
    wins = _words(figure).claimed
    if high >= claimed:
        return Finding(Ruling.HOLDS, f"{wins}, and the interval reaches the claimed ratio", ratio)
    return Finding(Ruling.HOLDS_IN_PART, f"{wins}, by a factor of {rounded(ratio.estimate)}", ratio)


def _alike(within: float, judgement: Judgement) -> Finding:
    ratio = judgement.ratio
    if 1 / within <= ratio.low and ratio.high <= within:
        return Finding(Ruling.HOLDS, "the interval lies within the claimed factor", ratio)
    if ratio.low > within or ratio.high < 1 / within:
        return Finding(Ruling.DOES_NOT_HOLD, "the interval lies outside the claimed factor", ratio)
    reason = "the interval reaches past the claimed factor"
    return Finding(Ruling.UNDECIDED, reason, ratio, judgement.more_processes)
