"""What is to be said of a plan's recommendations: where a probe contradicts a label, what is wrong with a default."""

from __future__ import annotations

from collections.abc import Iterator

from sciml_bench.adapters.base import SOLVERS, Facts
from sciml_bench.adapters.recipes import contradicted, takes_explicit
from sciml_bench.plan.plan import Plan


def notes(plan: Plan) -> Iterator[str]:
    """One line for each problem whose label is contradicted, then one for each thing said of recommended cells."""
    planned = {item.cell.problem for item in plan.planned}
    for entry in plan.entries:
        if entry.name in planned and entry.track == SOLVERS and contradicted(entry.facts):
            yield f"{entry.name}: {contradiction(entry.facts)}"
    for cell, note in dict.fromkeys((f"{i.cell.adapter} {i.cell.method}", i.note) for i in plan.planned if i.note):
        yield f"{cell}: {note}"


def contradiction(facts: Facts) -> str:
    """What a probe finds against a problem's label, in one line."""
    label = "stiff" if facts.stiff else "not stiff"
    kind = "explicit" if takes_explicit(facts) else "implicit"
    work = "" if facts.probed is None else f": {facts.probed.told}"
    return f"labelled {label}, but {kind} methods are recommended{work}"
