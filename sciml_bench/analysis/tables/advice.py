"""The table of what to take for problems of each kind, as text and as plain JSON values."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sciml_bench.analysis.advice.advice import LARGE, Advice, Rival
from sciml_bench.analysis.ranking import Lead
from sciml_bench.analysis.tables import formatting
from sciml_bench.analysis.tables.formatting import finite
from sciml_bench.analysis.tables.table import Column, Entry, Table, number_entry
from sciml_bench.stats.problem_resampling import FEWEST

CAPTION = (
    "which to take: the cheapest from process start for the given number of gradients, over all problems of a kind, of "
    "each library's recommended ways"
)

_READING = (
    f"large: {LARGE} or more components of the state or of theta, times the trajectories. factor: the geometric mean "
    "over the problems of its cost over the least of any cell there. take: judged over the problems, which represent "
    "others of their kind; undecided: take any of the ways not distinguished. In brackets: the 95 % "
    f"interval over the problems, also resampled. A kind has at least {FEWEST} problems."
)

_VERDICTS = {Lead.CLEAR: "cheapest", Lead.SAME: "same", Lead.UNDECIDED: "undecided"}

_NAMED = 3


def advice_table(found: Sequence[Advice]) -> Table:
    """A line for each kind and number of gradients."""
    return Table(
        caption=CAPTION,
        columns=(
            Column("problems"), Column("gradients", True), Column("take"), Column("factor", True),
            Column("not distinguished"), Column("next"),
        ),
        rows=tuple(_entries(item) for item in found),
        names=2,
        notes=tuple(_notes(found)),
        reading=_READING,
    )  # fmt: skip


def _notes(found: Sequence[Advice]) -> Iterator[str]:
    """The problems of each kind, and the omissions."""
    for kind in dict.fromkeys(item.kind for item in found):
        of = next(item for item in found if item.kind == kind)
        yield f"{kind}: {', '.join(of.problems)}"
        for problem, adapter in of.alone.items():
            yield f"  {problem} is left out: only {adapter} runs it"
        for problem in of.failed:
            yield f"  {problem} is left out: nothing has a gradient of that accuracy there"
        for solver, problems in of.missed.items():
            yield f"  {solver} is left out: no gradient of that accuracy on {', '.join(problems)}"


def silence(kinds: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Return why nothing is advised for problems of a kind."""
    for kind, problems in kinds.items():
        yield f"{kind}: nothing to advise, as no way has a gradient of that accuracy on all problems"
        yield f"  ({', '.join(problems)})"


def document(found: Sequence[Advice]) -> list[dict[str, Any]]:
    """Plain JSON values."""
    return [
        {
            "kind": item.kind,
            "problems": list(item.problems),
            "gradients": item.gradients,
            "take": item.solver,
            "verdict": _VERDICTS[item.lead],
            "factor": item.factor,
            "not_told_apart": [_rival(rival) for rival in item.even],
            "next": None if item.next is None else _rival(item.next),
            "problems_of_one_library": dict(item.alone),
            "problems_of_none": list(item.failed),
            "left_out": {solver: list(problems) for solver, problems in item.missed.items()},
        }
        for item in found
    ]


def _entries(item: Advice) -> tuple[Entry, ...]:
    even = [_with_factor(rival) for rival in item.even[:_NAMED]]
    more = len(item.even) - len(even)
    return (
        Entry(f"{item.kind} ({len(item.problems)})"),
        Entry(f"{item.gradients:,}".replace(",", " "), value=item.gradients),
        Entry(item.solver if item.lead is not Lead.UNDECIDED else f"undecided: {item.solver}"),
        number_entry(item.factor, ".2f"),
        Entry(", ".join(even) + (f" and {more} more" if more else "") or "none"),
        Entry("none" if item.next is None else _with_factor(item.next)),
    )


def _with_factor(rival: Rival) -> str:
    ratio = rival.judgement.ratio
    interval = f" [{formatting.ratio(ratio.low)}, {formatting.ratio(ratio.high)}]" if ratio.n > 1 else ""
    return f"{rival.solver} (×{formatting.ratio(ratio.estimate)}{interval})"


def _rival(rival: Rival) -> dict[str, Any]:
    return {
        "cell": rival.solver,
        "verdict": str(rival.judgement.verdict),
        "ratio": finite(dataclasses.asdict(rival.judgement.ratio)),
    }
