"""The ruling on a claim: a rule, with nothing to choose once the ratio is measured.

A claimed figure is confirmed by an interval, never by its width: the whole 95 % interval must lie within a stated
factor of the claim, so that more noise can only take a ruling away.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from sciml_bench.published_claims.claim import AT_LEAST, DIRECTION, PROBLEMS, UP_TO, Figure
from sciml_bench.published_claims.conditions import Conditions
from sciml_bench.stats.ratio import Ratio
from sciml_bench.stats.verdict import Judgement, Rule, Verdict, processes_to_tell


class Ruling(StrEnum):
    """The ruling on a claim."""

    CONFIRMED = "confirmed"
    LARGER = "larger than claimed"
    SMALLER = "smaller than claimed"
    REVERSED = "reversed"
    UNDECIDED = "undecided"
    NOT_TESTABLE = "not testable here"
    OUTDATED = "out of date"


@dataclass(frozen=True)
class Finding:
    """A ruling and its basis: the measured ratio of slow to fast, ``None`` without one.

    ``disturbed`` of ``processes`` processes behind it were disturbed by other work on the machine.
    """

    ruling: Ruling
    reason: str
    ratio: Ratio | None = None
    more_processes: int | None = None
    disturbed: int = 0
    processes: int = 0


@dataclass(frozen=True)
class Words:
    """Names of sides and quantity in a sentence: ``call`` of ``slow`` takes n times as ``quantity`` as ``fast``."""

    slow: str = "the slow side"
    fast: str = "the fast side"
    verb: str = "takes"
    quantity: str = "long"
    call: str = ""


Again = Callable[[Judgement], Finding]
"""A rule, applied to another judgement."""


def rule(figure: Figure, judgement: Judgement, words: Words | None = None) -> Finding:
    """Judge a claim by the measured slow/fast.

    With the claimed winner, a claimed ratio or range is *confirmed* if the whole interval lies within ``factor`` of
    it, *larger than claimed* or *smaller than claimed* if the whole interval lies beyond, and undecided if it reaches
    across. Both sides the same within the band is smaller than claimed too; it is *reversed* if the other side wins.
    "More than" has no upper end. "Up to" is the largest of several ratios, and one of them is measured here: reaching
    or passing it can be seen, staying below says nothing. A direction only names the winner. Equal speed is confirmed
    if the interval lies within the claimed factor, and the difference is larger than claimed if the whole interval
    lies outside.
    """
    words, ratio = words or Words(), judgement.ratio
    if figure.within is not None:
        return _alike(figure.within, judgement, words)
    if figure.ratio is None:
        raise ValueError("a claim has a ratio, or a factor within which both sides are equally fast")
    measured = measured_words(words, ratio)
    if judgement.verdict is Verdict.UNDECIDED:
        single = (
            "a single process has no interval, several would"
            if ratio.n == 1
            else "which of the two is ahead is unknown"
        )
        return Finding(Ruling.UNDECIDED, f"{measured}: {single}", ratio, judgement.more_processes)
    if judgement.verdict is not Verdict.SLOWER:
        return _without_the_claimed_winner(figure, judgement.verdict is Verdict.SAME, ratio, words)
    return _of_size(figure, figure.ratio, ratio, measured)


def judgement_of_counts(figure: Figure, slow: float, fast: float) -> Judgement:
    """Judge counts, which are exact and have no interval. Ratios within the band are equal."""
    measured = slow / fast
    edge = 1 + Rule.band
    verdict = Verdict.SLOWER if measured > edge else Verdict.FASTER if measured < 1 / edge else Verdict.SAME
    if figure.ratio is not None and measured > 1 and figure.ratio <= edge:
        verdict = Verdict.SLOWER
    return Judgement(verdict, Ratio(measured, measured, measured, 0.0, 1), 0.0)


def unless_conditions(finding: Finding, conditions: Conditions, judgement: Judgement, again: Again) -> Finding:
    """Take back a ruling that a difference between the source's conditions and ours could make.

    The source's ratio may be larger than ours by the factor of the conditions that make ours smaller, and the other way
    round. A ruling stands if ``again`` rules the same over that whole range; a factor that nobody measured has no end.
    """
    if finding.ruling is Ruling.UNDECIDED and finding.more_processes and conditions.decide_nothing:
        causes = ", ".join(item.title for item in conditions.each if math.inf in (item.larger, item.smaller))
        told = f"{finding.reason}; more processes would not decide: the effect of {causes} is unknown"
        return dataclasses.replace(finding, reason=told, more_processes=None)
    if finding.ruling in (Ruling.UNDECIDED, Ruling.NOT_TESTABLE, Ruling.OUTDATED):
        return finding
    wider = {"larger": (conditions.larger, 1.0), "smaller": (1.0, conditions.smaller)}
    if finding.ruling is Ruling.SMALLER:
        # A ratio that is smaller still, or the other way round, is as far from the claim; and of a larger one its size
        # decides, whoever wins by how little.
        del wider["larger"]
        judgement = replace(judgement, verdict=Verdict.SLOWER)
    causes = [
        word
        for word, factors in wider.items()
        if max(factors) > 1 and again(_without(judgement, finding, *factors)).ruling is not finding.ruling
    ]
    if not causes:
        return finding
    names = [item.title for item in conditions.each if any(getattr(item, word) > 1 for word in causes)]
    told = f"{finding.reason}; the difference in {', '.join(names)} could explain it"
    return dataclasses.replace(finding, ruling=Ruling.UNDECIDED, reason=told, more_processes=None)


def _without(judgement: Judgement, finding: Finding, larger: float, smaller: float) -> Judgement:
    """The judgement over all ratios that the source may have if conditions made ours larger or smaller."""
    wide = replace(judgement.ratio, low=judgement.ratio.low / larger, high=judgement.ratio.high * smaller)
    edge = 1 + Rule.band
    kept = {
        Verdict.SLOWER: wide.low > 1 or finding.ruling is Ruling.SMALLER,
        Verdict.FASTER: wide.high < 1,
        Verdict.SAME: 1 / edge < wide.low and wide.high < edge,
    }.get(judgement.verdict, False)
    return replace(judgement, ratio=wide, verdict=judgement.verdict if kept else Verdict.UNDECIDED)


def rounded(number: float) -> str:
    """Three digits that count, without a power of ten: ratios reach tens of thousands."""
    return f"{float(f'{number:.3g}'):g}"


def not_testable(reason: str) -> Finding:
    """A claim that was not measured, and why."""
    return Finding(Ruling.NOT_TESTABLE, reason)


def outdated() -> Finding:
    """A setting that is another one now than when it was measured."""
    return Finding(Ruling.OUTDATED, "its run measured another problem or other sides than it names now")


def claimed_words(figure: Figure) -> str:
    """The claimed figure."""
    if figure.within is not None:
        return f"equal within {figure.within:g}×"
    if figure.ratio is None:
        return "no figure"
    if figure.kind == DIRECTION:
        return "faster"
    upper = "" if figure.most is None else f" to {figure.most:g}"
    before = _BEFORE.get(figure.kind, "")
    return f"{before}{figure.ratio:g}{upper}×"


_BEFORE = {
    AT_LEAST: "more than ", UP_TO: "up to ", "median": "a median of ", "mean": "a mean of ",
    "sizes": "at all sizes more than ",
}  # fmt: skip


_OF_OTHERS = ": this one says nothing of the others, the problems of the source would"


def measured_words(words: Words, ratio: Ratio) -> str:
    """The measured ratio, with its interval."""
    of = f"{words.call} of " if words.call else ""
    return f"{of}{words.slow} {words.verb} {_with_interval(ratio)} times as {words.quantity} as {words.fast}"


def _with_interval(ratio: Ratio) -> str:
    if math.isinf(ratio.high) or ratio.low == ratio.high:
        return rounded(ratio.estimate)
    return f"{rounded(ratio.estimate)} [{rounded(ratio.low)}, {rounded(ratio.high)}]"


def _without_the_claimed_winner(figure: Figure, same: bool, ratio: Ratio, words: Words) -> Finding:
    claimed = f"{claimed_words(figure)} is claimed"
    if figure.kind == UP_TO:
        told = f"{measured_words(words, ratio)}; {claimed}, the largest of several ratios{_OF_OTHERS}"
        return Finding(Ruling.UNDECIDED, told, ratio)
    if same:
        told = f"{measured_words(words, ratio)}, the same within {100 * Rule.band:g} %; {claimed}"
        return Finding(Ruling.SMALLER, told, ratio)
    turned = dataclasses.replace(words, slow=words.fast, fast=words.slow)
    size = "" if figure.kind == DIRECTION else f": {claimed_words(figure)}"
    told = f"{measured_words(turned, ratio.inverse)}; the opposite is claimed{size}"
    return Finding(Ruling.REVERSED, told, ratio)


def _of_size(figure: Figure, claimed: float, ratio: Ratio, measured: str) -> Finding:
    """If the claimed side wins: the interval against the claimed figure, a stated factor to either side."""
    if figure.kind == DIRECTION:
        return Finding(Ruling.CONFIRMED, f"{measured}; that it is slower is claimed, without a figure", ratio)
    low, high = claimed / figure.factor, (figure.most or claimed) * figure.factor
    if figure.kind == AT_LEAST:
        high = math.inf
    said = f"{measured}; {claimed_words(figure)} is claimed"
    if low <= ratio.low and ratio.high <= high:
        whole = "ours" if ratio.low == ratio.high else "all of the interval"
        above = figure.kind == AT_LEAST and ratio.low >= claimed
        told = "lies above that" if above else f"lies within a factor of {figure.factor:g} of it"
        if figure.kind == PROBLEMS:
            return Finding(Ruling.UNDECIDED, f"{said}: {whole} lies in this range over problems{_OF_OTHERS}", ratio)
        return Finding(Ruling.CONFIRMED, f"{said}: {whole} {told}", ratio)
    if ratio.low > high:
        times = rounded(ratio.estimate * figure.factor / high)
        return Finding(Ruling.LARGER, f"{said}: ours is larger by a factor of {times}", ratio)
    if figure.kind == UP_TO:
        return Finding(Ruling.UNDECIDED, f"{said}, the largest of several ratios{_OF_OTHERS}", ratio)
    if ratio.high < low:
        times = rounded(claimed / ratio.estimate)
        return Finding(Ruling.SMALLER, f"{said}: ours is smaller by a factor of {times}", ratio)
    edge = f"the interval reaches past a factor of {figure.factor:g} of it"
    gap = min(abs(math.log(ratio.estimate / end)) for end in (low, high) if math.isfinite(end))
    return Finding(Ruling.UNDECIDED, f"{said}; {edge}", ratio, processes_to_tell(ratio, gap))


def _alike(within: float, judgement: Judgement, words: Words) -> Finding:
    ratio = judgement.ratio
    said = f"{measured_words(words, ratio)}; equal within a factor of {within:g} is claimed"
    if 1 / within <= ratio.low and ratio.high <= within:
        return Finding(Ruling.CONFIRMED, said, ratio)
    if ratio.low > within or ratio.high < 1 / within:
        ahead = words.fast if ratio.low > within else words.slow
        return Finding(Ruling.LARGER, f"{said}: the difference is larger, and {ahead} is ahead", ratio)
    gap = min(abs(math.log(ratio.estimate * end)) for end in (within, 1 / within))
    more = processes_to_tell(ratio, gap) if ratio.n > 1 else None
    return Finding(Ruling.UNDECIDED, f"{said}; the interval reaches past it", ratio, more)
