"""Whether the row with the least time leads beyond chance: its standing against all the others in one word."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sciml_bench.report.rows import Row
from sciml_bench.stats.verdict import Judgement, Verdict


class Lead(StrEnum):
    """What is said of the row with the least time: it is faster than all others, the same as some, or undecided."""

    CLEAR = "clear"
    SAME = "same"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Tied:
    """A row that is not judged slower than the one with the least time; without a common block it is not judged."""

    row: Row
    judgement: Judgement | None


def of_lead(against: Sequence[tuple[Row, Judgement | None]]) -> tuple[Lead, tuple[Tied, ...]]:
    """The word, and who is not slower, of the judgements on all others against the row with the least time."""
    tied = tuple(
        Tied(row, judgement)
        for row, judgement in against
        if judgement is None or judgement.verdict is not Verdict.SLOWER
    )
    return lead_of([item.judgement for item in tied]), tied


def lead_of(even: Sequence[Judgement | None]) -> Lead:
    """The word, from the judgements on those that are not slower; ``None`` is one that cannot be judged."""
    if not even:
        return Lead.CLEAR
    same = all(judgement is not None and judgement.verdict is Verdict.SAME for judgement in even)
    return Lead.SAME if same else Lead.UNDECIDED


def turned(judgement: Judgement) -> Judgement:
    """The same judgement with the sides exchanged."""
    opposite = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}
    verdict = opposite.get(judgement.verdict, judgement.verdict)
    return dataclasses.replace(judgement, verdict=verdict, ratio=judgement.ratio.inverse)
