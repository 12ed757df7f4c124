"""Remarks on a plan's recommendations: a probe that contradicts a label, or a faulty default."""

from __future__ import annotations

from collections.abc import Iterator

from sciml_bench.adapters.base import ProblemTraits
from sciml_bench.adapters.recipes import contradicted, takes_explicit, undecided
from sciml_bench.planning.plan import Plan
from sciml_bench.record.task import SOLVERS


def notes(plan: Plan) -> Iterator[str]:
    """One line for each problem whose label is contradicted or not confirmed, then notes on recommended cells."""
    planned = {item.cell.problem for item in plan.planned}
    for entry in plan.entries:
        if entry.name in planned and entry.track == SOLVERS and contradicted(entry.facts):
            yield f"{entry.name}: {contradiction(entry.facts)}"
        elif entry.name in planned and entry.track == SOLVERS and undecided(entry.facts):
            yield f"{entry.name}: it is undecided whether explicit or implicit methods suit it, so both are planned"
    for cell, note in dict.fromkeys((f"{i.cell.adapter} {i.cell.method}", i.note) for i in plan.planned if i.note):
        yield f"{cell}: {note}"


def contradiction(facts: ProblemTraits) -> str:
    """The contradiction between a probe and a problem's label, in one line."""
    label = "stiff" if facts.stiff else "not stiff"
    kind = "explicit" if takes_explicit(facts) else "implicit"
    work = "" if facts.probed is None else f": {facts.probed.told}"
    return f"labelled {label}, but {kind} methods are recommended{work}"
