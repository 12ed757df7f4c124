"""The table of what to take for problems of each kind, as text and as plain JSON values."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sciml_bench.analysis import quantities
from sciml_bench.analysis.advice import LARGE, Advice, Rival, Solver
from sciml_bench.analysis.quantities import finite
from sciml_bench.analysis.ranking import Lead
from sciml_bench.analysis.tables.layouts import Layout
from sciml_bench.stats.bootstrap import FEWEST

CAPTION = (
    "which to take: the cheapest from process start for so many gradients, over all problems of a kind, of each "
    "library's recommended ways"
)

HELP = (
    f"large: {LARGE} or more components of the state or of theta, times the trajectories. factor: the geometric mean "
    "over the problems of its cost over the least of any cell there. take: judged over the problems, which stand for "
    "others of their kind; where it says undecided, take any of those that are not told apart. In brackets: the 95 % "
    f"interval over the problems, from {FEWEST} on resampled too; fewer name one to take only from a factor of 2 on."
)

_VERDICTS = {Lead.CLEAR: "cheapest", Lead.SAME: "same", Lead.UNDECIDED: "undecided"}

_USUAL = {"float64", "cpu"}
_NAMED = 3


def layout(found: Sequence[Advice]) -> Layout:
    """A line for each kind and number of gradients."""
    return Layout(
        headings=["problems", "gradients", "take", "factor", "not told apart", "next"],
        rows=[[*_line(item)] for item in found],
        first_number=6,
    )


def stacked(found: Sequence[Advice]) -> Iterator[str]:
    """No columns at all: a few short lines each."""
    for item in found:
        of, gradients, take, factor, even, following = _line(item)
        yield f"{of}, {gradients} gradients: {take} (factor {factor})"
        yield f"  not told apart: {even}"
        yield f"  next: {following}"


def notes(found: Sequence[Advice]) -> Iterator[str]:
    """Which problems each kind has, and who is left out."""
    for kind in dict.fromkeys(item.kind for item in found):
        of = next(item for item in found if item.kind == kind)
        yield f"{kind}: {', '.join(of.problems)}"
        if of.few:
            count = "one problem" if len(of.problems) == 1 else f"{len(of.problems)} problems"
            yield f"  {count}: too few to say much of others of the kind"
        for problem, adapter in of.alone.items():
            yield f"  {problem} is left out: only {adapter} runs it"
        for problem in of.failed:
            yield f"  {problem} is left out: nothing has a gradient of that accuracy there"
        for solver, problems in of.missed.items():
            yield f"  {name(solver)} is left out: no gradient of that accuracy on {', '.join(problems)}"


def silence(kinds: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Why nothing is advised for problems of a kind."""
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
            "take": name(item.solver),
            "verdict": _VERDICTS[item.lead],
            "too_few_problems": item.few,
            "factor": item.factor,
            "not_told_apart": [_rival(rival) for rival in item.even],
            "next": None if item.next is None else _rival(item.next),
            "problems_of_one_library": dict(item.alone),
            "problems_of_none": list(item.failed),
            "left_out": {name(solver): list(problems) for solver, problems in item.missed.items()},
        }
        for item in found
    ]


def name(solver: Solver) -> str:
    """How a solver is called in a sentence; precision and device where they are unusual."""
    return " ".join([*solver[:4], *(word for word in solver[4:] if word not in _USUAL)])


def _line(item: Advice) -> tuple[str, str, str, str, str, str]:
    count = len(item.problems)
    even = [_with_factor(rival) for rival in item.even[:_NAMED]]
    more = len(item.even) - len(even)
    return (
        f"{item.kind} ({count})",
        f"{item.gradients:,}".replace(",", " "),
        name(item.solver) if item.lead is not Lead.UNDECIDED else f"undecided: {name(item.solver)}",
        f"{item.factor:.2f}",
        ", ".join(even) + (f" and {more} more" if more else "") or "none",
        "none" if item.next is None else _with_factor(item.next),
    )


def _with_factor(rival: Rival) -> str:
    ratio = rival.judgement.ratio
    interval = f" [{quantities.ratio(ratio.low)}, {quantities.ratio(ratio.high)}]" if ratio.n > 1 else ""
    return f"{name(rival.solver)} (×{quantities.ratio(ratio.estimate)}{interval})"


def _rival(rival: Rival) -> dict[str, Any]:
    return {
        "cell": name(rival.solver),
        "verdict": str(rival.judgement.verdict),
        "ratio": finite(dataclasses.asdict(rival.judgement.ratio)),
    }
