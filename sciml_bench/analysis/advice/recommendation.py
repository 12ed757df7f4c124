"""The answer to "what should I take?": of all ways of one problem the one that costs least, and how sure that is.

It is made of two runs. In the first all ways were looked at (``screen``), which sorts them by large factors; in the
second the best of them were compared with each other in blocks of fresh processes (``race``). A race is replayed from
the records alone, so that a stored one gives the answer that was given when it was run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sciml_bench.analysis.advice.break_even import total_ratio
from sciml_bench.analysis.advice.call_cost import NO_REFERENCE, call_cost
from sciml_bench.analysis.advice.competitors import most_digits, replayed
from sciml_bench.analysis.advice.no_way import advice_without_a_way
from sciml_bench.analysis.advice.way import Way, failed_way, way_of
from sciml_bench.analysis.failures import one_line
from sciml_bench.analysis.summary import CellSummary
from sciml_bench.analysis.tables import formatting
from sciml_bench.planning.candidates import Candidates
from sciml_bench.planning.cells import BEST
from sciml_bench.planning.purpose import Advised
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.task import GRADIENT, Cell
from sciml_bench.stats.break_even import Cost
from sciml_bench.stats.race import Race, Standing
from sciml_bench.stats.verdict import Judgement, Verdict, judge


@dataclass(frozen=True)
class Recommendation:
    """The recommendation. ``ways`` have a cost, the cheapest first; ``failed`` ways have none.

    ``standing`` belongs to the race, whose ``blocks`` were run. ``cheaper`` are ways that cost less than the first one
    for other numbers of calls beyond chance, by these numbers. ``untried`` ways were not screened, ``refused`` ones
    cannot take this problem, by reason, and ``absent`` ones are not installed. ``recipes`` are each library's
    recommended best ways. ``near`` of the failed ways reach an accuracy with a digit less.
    """

    problem: str
    advised: Advised
    ways: tuple[Way, ...]
    failed: tuple[Way, ...]
    standing: Standing[Cell]
    blocks: int
    untried: int
    refused: Mapping[str, int] = field(default_factory=dict[str, int])
    absent: Mapping[str, str] = field(default_factory=dict[str, str])
    recipes: frozenset[Cell] = frozenset()
    cheaper: Mapping[int, Way] = field(default_factory=dict[int, Way])
    why_not: str = ""
    near: int = 0

    @property
    def cured(self) -> Iterator[str]:
        """For each library whose best recipe fails here: how, and what works there instead, at what cost."""
        for way in self.failed:
            if way.cell not in self.recipes or self._was_ended(way) or way.reason == NO_REFERENCE:
                continue
            others = [other for other in self.ways if other.cell.adapter == way.cell.adapter]
            found = f"no other way in {way.cell.adapter} worked"
            if others and others[0].cost is not None:
                total = formatting.duration(others[0].cost.total_s(self.advised.count))
                found = f"{_changes(way.cell, others[0].cell)} works there, {self._uses} take {total}"
            yield f"{way.name}, usually the best way in {way.cell.adapter}, fails: {one_line(way.reason)}; {found}"

    def _was_ended(self, way: Way) -> bool:
        """Return whether a way merely took longer than the best one for all calls, which is not a failure."""
        return bool(self.ways) and not way.raced and way.reason.startswith((Outcome.TIMEOUT.value, Outcome.SLOW.value))

    @property
    def _uses(self) -> str:
        return f"{formatting.count(self.advised.count)} {self._call}s"

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of calls that totals are given for."""
        return _counts(self.advised)

    @property
    def tied(self) -> tuple[Way, ...]:
        """The ways that are not distinguished from the first one, with it."""
        even = {self.standing.leads, *self.standing.even}
        return tuple(way for way in self.ways if way.cell in even)

    @property
    def sentences(self) -> Iterator[str]:
        """The answer in words."""
        if not self.ways and self._unjudged:
            yield from self._without_reference
            return
        if not self.ways:
            yield f"No way computes a {self._call} at a relative error of {self._error} here."
            yield advice_without_a_way([way.reason for way in self.failed])
            return
        best, tied = self.ways[0], self.tied
        if self.advised.requested is not None:
            requested = formatting.tolerance(self.advised.requested)
            yield f"No way computes a {self._call} at a relative error of {requested} here, but some at {self._error}."
        if self.why_not:
            yield f"Take {best.name} for now: {self._cost(best)}. This names no winner: {self.why_not}."
        elif len(self.ways) == 1:
            always = " in every block" if self._gave_up and best.raced else ""
            only = f"the only way that reaches a relative error of {self._error}{always} here"
            yield f"Take {best.name}, {only}: {self._cost(best)}."
        elif self.standing.decided and len(tied) == 1:
            yield f"Take {best.name}: {self._cost(best)}. {self._next(self.ways[1])}"
        elif self.standing.decided:
            yield f"Take {_either(tied)}: they cost the same within 5 %. {best.name}: {self._cost(best)}."
        elif self.blocks and self.standing.leads is not None:
            others = [way for way in tied if way is not best]
            yield f"Take {best.name} for now: {self._cost(best)}."
            rivals = "; ".join(map(self._against, others[:_NAMED]))
            yield f"Undecided after {self.blocks} blocks: {rivals}{_more(others)}."
        else:
            yield f"Take {best.name} for now: {self._cost(best)}. Nothing was repeated, so this is provisional."
        if self._gave_up:
            named = "; ".join(f"{way.name}, {one_line(way.reason)}" for way in self._gave_up[:_NAMED])
            yield f"Not to be relied on: {named}{_more(self._gave_up)}."
        if self.by_count:
            yield f"Of other numbers of {self._call}s: {self.by_count}."
        if self.near > len(self.ways):
            yield f"{self.near} other ways reach {formatting.tolerance(10 * self.advised.accuracy)}: see --accuracy."

    def _cost(self, way: Way) -> str:
        bound = "at most " if way.at_most else ""
        seconds = formatting.duration(way.each.median if way.each else None)
        each = f"{bound}{seconds} per {self._call} at a relative error of {self._error}"
        first = f"{formatting.duration(way.first.median if way.first else None)} to the first one"
        total = "" if way.cost is None else formatting.duration(way.cost.total_s(self.advised.count))
        uses = f"{formatting.count(self.advised.count)} of them take {total}"
        parts = [each, first, uses]
        if way.rtol:
            reaches = f"rtol {formatting.tolerance(way.rtol)} reaches {formatting.error(way.error)}"
            parts.append(f"{reaches} in {formatting.duration(way.there_s)}")
        return "; ".join(parts)

    @property
    def _gave_up(self) -> list[Way]:
        """The ways that failed in one of several blocks of their race, whatever they gave in the others."""
        return [way for way in self.failed if way.raced]

    @property
    def _unjudged(self) -> list[Way]:
        """The ways that work, but whose error is unknown; the fastest first."""
        return sorted((way for way in self.failed if way.there_s), key=lambda way: way.there_s or math.inf)

    @property
    def _without_reference(self) -> Iterator[str]:
        ways, call = self._unjudged, self._call
        yield f"No winner: {self.problem} has no reference, so the error of a {call} is unknown."
        checked = f"whose {call}s agree with differences of the loss" if call == GRADIENT else "that reach the end"
        times = (
            f"{way.name}, {formatting.duration(way.there_s)} at rtol {formatting.tolerance(way.rtol or 0.0)}"
            for way in ways[:_NAMED]
        )
        yield f"Fastest of those {checked}: {'; '.join(times)}{_more(ways)}."
        yield "`sciml-bench reference compute` makes the reference, however long that takes; then ask again."

    @property
    def by_count(self) -> str:
        """The ways that cost less for other numbers of calls, if there are any."""
        totals = ((count, way, way.cost.total_s(count)) for count, way in self.cheaper.items() if way.cost is not None)
        return "; ".join(
            f"for {formatting.count(count)}, {way.name} takes less, {formatting.duration(total_s)}"
            for count, way, total_s in totals
        )

    def _next(self, way: Way) -> str:
        return f"Next is {self._against(way)}."

    def _against(self, way: Way) -> str:
        bound = " (known from above only)" if way.at_most else ""
        return f"{way.name}, {way.factor_text} times as long{bound}" if way.factor_text else f"{way.name}{bound}"

    @property
    def _call(self) -> str:
        return self.advised.call

    @property
    def _error(self) -> str:
        return formatting.tolerance(self.advised.accuracy)


def _counts(advised: Advised) -> tuple[int, ...]:
    return tuple(dict.fromkeys((1, advised.count, 100 * advised.count)))


def _cheaper(ways: Sequence[Way], raced: Mapping[Cell, CellSummary], advised: Advised) -> dict[int, Way]:
    """For each other number of calls the way that is judged to cost less than the first one, if there is one.

    Of several it is the one with the least total, which is not judged among them.
    """
    blocks = {way.cell: _block_costs(raced[way.cell], advised) for way in ways if way.raced and not way.at_most}
    first, rivals = ways[0].cell if ways else None, [way for way in ways[1:] if way.cell in blocks]
    counts = [count for count in _counts(advised) if count != advised.count]
    if first not in blocks:
        return {}
    ratios = {
        (count, way.cell): ratio
        for count in counts
        for way in rivals
        if (ratio := total_ratio(blocks[first], blocks[way.cell], count)) is not None
    }
    judged = judge(ratios, independent=len(rivals))
    found: dict[int, Way] = {}
    for count in counts:
        faster = [way for way in rivals if _is_faster(judged.get((count, way.cell)))]
        if faster:
            found[count] = min(faster, key=lambda way: way.cost.total_s(count) if way.cost else math.inf)
    return found


def _is_faster(judgement: Judgement | None) -> bool:
    return judgement is not None and judgement.verdict is Verdict.FASTER


def _block_costs(raced: CellSummary, advised: Advised) -> dict[int, Cost]:
    """The costs of the processes of a way by block, without starved ones."""
    found = {
        process.block: call_cost(process, advised.call, advised.digits).cost
        for process in raced.processes
        if not process.starved
    }
    return {block: cost for block, cost in found.items() if cost is not None}


def _changes(failed: Cell, works: Cell) -> str:
    """The differences of a way that works."""
    pairs = zip(works.words[1:], failed.words[1:], strict=True)
    return ", ".join(f"{now} instead of {before}" for now, before in pairs if now != before)


_NAMED = 3
"""A sentence names this many ways."""


def _more(ways: Sequence[Way]) -> str:
    return f"; and {len(ways) - _NAMED} more" if len(ways) > _NAMED else ""


def _either(ways: Sequence[Way]) -> str:
    *most, last = (way.name for way in ways[:_NAMED])
    return f"{', '.join(most)} or {last}{_more(ways)}"


def recommendation(
    problem: str,
    advised: Advised,
    screened: Sequence[CellSummary],
    raced: Sequence[CellSummary] = (),
    found: Candidates | None = None,
) -> Recommendation:
    """The recommendation from two runs: of the screened ways, and of the competitors.

    ``found`` are all candidates, with what keeps others from being one.
    """
    race = replayed(raced, advised) if raced else None
    of_race = {item.cell: item for item in raced if item.processes}
    looked = [item for item in screened if item.processes]
    gave_up = {} if race is None else {cell: item.block for cell, item in race.left.items() if item.failed}
    ways = [
        failed_way(of_race[item.cell], gave_up[item.cell], advised)
        if item.cell in gave_up
        else way_of(item, of_race.get(item.cell), advised)
        for item in looked
    ]
    known = [way for way in ways if way.cost is not None]
    standing = Standing[Cell](None, (), decided=False) if race is None else race.standing
    order = [cell for cell in (standing.leads, *standing.even) if cell is not None]

    def place(way: Way) -> tuple[int, float]:
        at = order.index(way.cell) if way.cell in order else len(order)
        return at, way.cost.total_s(advised.count) if way.cost else 0.0

    known.sort(key=place)
    standing = _with_bounds(standing, known, advised)
    ranked = [_compared(way, known[0], race, advised) for way in known]
    return Recommendation(
        problem=problem,
        advised=advised,
        ways=tuple(ranked),
        failed=tuple(way for way in ways if way.cost is None),
        standing=standing,
        blocks=max((way.raced for way in ways), default=0),
        untried=sum(not item.processes for item in screened),
        refused={} if found is None else Counter(found.refused.values()),
        absent={} if found is None else found.absent,
        recipes=frozenset(item.cell for item in screened if item.role == BEST),
        cheaper={} if race is None else _cheaper(ranked, of_race, advised),
        near=sum(advised.digits - 1 <= most_digits(item, advised.call) < advised.digits for item in looked),
    )


def _with_bounds(standing: Standing[Cell], ways: Sequence[Way], advised: Advised) -> Standing[Cell]:
    """Keep those in the group of the first way that looser tolerances, which nobody tried, could make cheaper than it.

    Only their time to the first call is certain.
    """
    if standing.leads is None or not ways or ways[0].cost is None:
        return standing
    total_s = ways[0].cost.total_s(advised.count)
    open_ = (way for way in ways[1:] if way.at_most and way.raced)
    cheaper = [way.cell for way in open_ if way.cost is not None and way.cost.first_s < total_s]
    lost = [cell for cell in cheaper if cell not in standing.even]
    return replace(standing, even=(*standing.even, *lost), decided=False) if lost else standing


def of_problem(problem: str, cells: Sequence[CellSummary], advised: Advised, why_not: str = "") -> Recommendation:
    """The recommendation that a run of whole blocks gives, whatever it was made for.

    What starts with a filled compile cache competes with nothing: it costs what filling it took, too.
    """
    cold = [item for item in cells if item.processes and item.cell.caches == "cold"]
    found = recommendation(problem, advised, cold, () if why_not else cold)
    return replace(found, why_not=why_not)


def _compared(way: Way, best: Way, race: Race[Cell] | None, advised: Advised) -> Way:
    if way is best or way.cost is None or best.cost is None:
        return way
    if race is None or not (way.raced and best.raced):
        return replace(way, factor=way.cost.total_s(advised.count) / best.cost.total_s(advised.count))
    low, high = race.ratio_interval(best.cell, way.cell)
    differences = race.differences(best.cell, way.cell)
    return replace(way, factor=_mean_ratio(differences), interval=(low, high) if len(differences) > 1 else None)


def _mean_ratio(differences: Sequence[float]) -> float | None:
    return math.exp(math.fsum(differences) / len(differences)) if differences else None
