"""The answer of a problem: which way is fastest, and which is cheapest for how many gradients, over all that ran.

Everything that names a winner reads it from here: terminal, page, profile, notebook, JSON, exports and the README.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sciml_bench.analysis.advice.break_even import Best, BreakEven
from sciml_bench.analysis.comparable import disturbed
from sciml_bench.analysis.ranking import APART, Lead, Ranking, time_of
from sciml_bench.analysis.rows import Comparison, Row, Target
from sciml_bench.analysis.tables import formatting
from sciml_bench.stats.verdict import Held, Judgement, Verdict

_NAMED = 3


@dataclass(frozen=True)
class Answer:
    """The answer for one problem.

    ``rankings`` are of gradients and of solves, if there are times. ``choice`` names the cheapest way, ``None`` if
    that is not compared; ``why_not`` then says why.
    """

    problem: str
    comparison: Comparison
    rankings: Mapping[str, Ranking]
    choice: BreakEven | None
    why_not: str

    @property
    def ranking(self) -> Ranking | None:
        return self.rankings.get("gradient") or self.rankings.get("solve")

    @property
    def sentences(self) -> Iterator[str]:
        """The answer in words; the first sentence says which way is fastest."""
        yield from self.fastest
        if self.choice is not None:
            yield _cheapest_sentence(self.choice)

    @property
    def fastest(self) -> Iterator[str]:
        """The fastest way, and the ways without a time there, in words."""
        found = self.ranking
        if found is None:
            return
        yield fastest_sentence(found, self.comparison, self.why_not)
        silent = [row.name for row in self.comparison.rows if time_of(row, found.quantity).seconds is None]
        if silent:
            yield f"No {found.quantity} at {self.at(found.quantity)}: {names(silent)}."

    def at(self, quantity: str) -> str:
        """The point of comparison, in words."""
        comparison = self.comparison
        return target_text(comparison.gradient_target if quantity == "gradient" else comparison.solve_target, quantity)


def fastest_sentence(found: Ranking, comparison: Comparison, why_not: str) -> str:
    """Say which row is the fastest, or why that is not said."""
    target = comparison.gradient_target if found.quantity == "gradient" else comparison.solve_target
    what = f"{found.quantity} at {target_text(target, found.quantity)}"
    first = f"{found.fastest.name}, {time_text(found.fastest, found.quantity)}{_failing(found)}"
    sure = certainty(found, why_not)
    match found.lead:
        case Lead.CLEAR | Lead.SAME:
            return f"Fastest {what}: {first}; {sure}."
        case Lead.UNDECIDED:
            return f"Undecided which is the fastest {what}: {first}, {sure}."
        case Lead.ALONE:
            return f"Only one way has a {what}: {first}."
        case Lead.PROVISIONAL:
            return f"Provisional, since other work disturbed the processes: fastest {what} is {first}; {sure}."
        case Lead.SHOWN:
            return f"Least time of a {what}: {first}. This names no winner: {why_not}."


def _failing(found: Ranking) -> str:
    """Say in how many processes the fastest row has no time; empty if in none. Starved processes do not count."""
    blocks = time_of(found.fastest, found.quantity).blocks
    processes = [process for process in found.fastest.summary.processes if not process.starved]
    failed, total = sum(blocks.get(process.block) is None for process in processes), len(processes)
    return f" if it works, which it did not in {failed} of {total} processes" if failed else ""


def certainty(found: Ranking, why_not: str) -> str:
    """Say how the others compare with the fastest row of a ranking."""
    mark = disturbed(row.summary for row in found.rows).mark
    match found.lead:
        case Lead.CLEAR:
            return f"{_next(found)}{mark}"
        case Lead.SAME:
            same = names([tied.row.name for tied in found.tied])
            return f"the same within 5 %: {same}{_slower(found)}{mark}"
        case Lead.UNDECIDED:
            return f"or {_rivals(found)}{_slower(found)}{mark}"
        case Lead.ALONE:
            return f"the only one{mark}"
        case Lead.PROVISIONAL:
            return f"in every block all others took at least {APART:g} times as long"
        case Lead.SHOWN:
            return f"not compared: {why_not}"


def _next(found: Ranking) -> str:
    """The closest of the others with its factor."""
    second = min(found.standings, key=lambda item: item.judgement.ratio.estimate)
    ratio = second.judgement.ratio
    return f"next is {second.row.name}, which takes {_factor(ratio.estimate, ratio.low, ratio.high)} times as long"


def _slower(found: Ranking) -> str:
    """The closest slower way; empty if there is none."""
    slower = [item for item in found.standings if item.judgement.verdict is Verdict.SLOWER]
    if not slower:
        return ""
    second = min(slower, key=lambda item: item.judgement.ratio.estimate)
    ratio = second.judgement.ratio
    factor = _factor(ratio.estimate, ratio.low, ratio.high)
    return f"; {second.row.name} is slower and takes {factor} times as long"


def _rivals(found: Ranking) -> str:
    shown = [f"{tied.row.name}{_by(tied.judgement)}" for tied in found.tied[:_NAMED]]
    if len(found.tied) > _NAMED:
        shown.append(f"{len(found.tied) - _NAMED} more")
    return ", or ".join(shown)


def _by(judgement: Judgement | None) -> str:
    if judgement is None:
        return " (no common block)"
    ratio = judgement.ratio
    return f" ({_factor(ratio.estimate, ratio.low, ratio.high)} times as long{more(judgement, '; ')})"


def _factor(estimate: float, low: float, high: float) -> str:
    return f"{formatting.ratio(estimate)} [{formatting.ratio(low)}, {formatting.ratio(high)}]"


def more(judgement: Judgement, before: str = "") -> str:
    """Say why a comparison is undecided, and what would decide it; empty if it is decided."""
    if judgement.verdict is not Verdict.UNDECIDED:
        return ""
    if judgement.held is Held.BOUND:
        return f"{before}known from above only"
    count = judgement.more_processes
    would = f"{count} more processes would decide" if count else ""
    why = str(judgement.held) if judgement.held in (Held.ALIKE, Held.RUN) else ""
    told = "; ".join(part for part in (why, would) if part)
    return f"{before}{told}" if told else ""


def _cheapest_sentence(found: BreakEven) -> str:
    by_answer: dict[str, list[str]] = {}
    for best in found.best:
        by_answer.setdefault(cheapest(best), []).append(count_text(best.gradients))
    parts = [f"for {' and '.join(counts)} gradients {answer}" for answer, counts in by_answer.items()]
    if len(parts) == 1:
        parts = [f"for {count_text(found.best[0].gradients)} to {count_text(found.best[-1].gradients)} gradients "
                 f"{next(iter(by_answer))}"]  # fmt: skip
    return f"Cheapest from the start of the process: {'; '.join(parts)}."


def cheapest(item: Best) -> str:
    """Say which row is the cheapest, the same as others, or that this is undecided and between which rows."""
    tied = [tied.row.name for tied in item.tied]
    if item.lead is Lead.CLEAR:
        return item.row.name
    if item.lead is Lead.SAME:
        return f"{item.row.name} (the same within 5 %: {names(tied)})"
    return f"undecided: {item.row.name}, or {names(tied, ', or ')}"


def names(shown: Sequence[str], between: str = ", ") -> str:
    """Names in a sentence: the first few, and how many more there are."""
    first = between.join(shown[:_NAMED])
    return f"{first} and {len(shown) - _NAMED} more" if len(shown) > _NAMED else first


def target_text(target: Target, quantity: str) -> str:
    """The point of comparison, in words."""
    if target.digits is not None:
        if quantity == "gradient":
            return f"a relative error of {formatting.tolerance(10.0**-target.digits)}"
        return f"{formatting.digits(target.digits)} digits (mescd)"
    if target.batch is not None:
        return f"a batch of {target.batch}"
    if target.rtol is None:
        return "no accuracy (nothing was timed)"
    return f"rtol {formatting.tolerance(target.rtol)} (no reference: equal tolerance, not equal accuracy)"


def time_text(row: Row, quantity: str) -> str:
    """A row's time with its bound."""
    time = time_of(row, quantity)
    if time.seconds is None:
        return formatting.NOTHING
    return ("≤ " if time.at_most else "") + formatting.duration(time.seconds.median)


def count_text(number: float) -> str:
    """A count with thin groups, such as ``100 000``."""
    return f"{number:,.0f}".replace(",", " ")
