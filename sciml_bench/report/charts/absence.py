"""Why there is nothing to draw, and what to do about it."""

from __future__ import annotations

from sciml_bench.report.charts.chart import ACROSS
from sciml_bench.report.summary import CellSummary, RunSummary

_LACKING = {
    "work-precision": "no solve was within its error bound, so no time is shown",
    "gradient-precision": "no gradient was within its error bound, so no time is shown",
    "latency": "no process got as far as telling of its phases",
    "steady": "no loop of calls was measured",
    "stability": "nothing was tried on perturbed parameters; profile quick and those above it do that",
    "break-even": "it takes two cells with both a first gradient and a time per gradient",
    "memory": "no process told of its memory",
    "training": "nothing was trained; problems with a [training] table are",
    "profile": "it takes two solvers that were measured on the same two problems, and one of them right",
    "forest": "it takes two solvers with times on the same two problems, in the same blocks",
    "scaling": "it takes one problem at two sizes, such as brusselator-2d-16 and brusselator-2d-32; "
    "`sciml-bench scale` makes them",
}


def reason(kind: str, summary: RunSummary, problem: str | None = None) -> str:
    """One sentence that says why a kind of chart has nothing to draw in this run, or for this problem of it."""
    cells = list(summary.cells.values()) if problem is None else summary.of_problem(problem)
    if not any(cell.processes for cell in cells):
        return "nothing to draw: the run has no record yet" + ("" if problem is None else f" of {problem}")
    if kind in ACROSS and kind != "scaling" and not summary.plan["profile"]["comparable"]:
        name = summary.plan["profile"]["name"]
        return f"nothing to draw: the times of profile {name} are never compared; run with --profile quick or more"
    failed = "" if any(cell.measured for cell in cells) else f"; all cells failed ({_outcomes(cells)})"
    return f"nothing to draw: {_LACKING[kind]}{failed}"


def _outcomes(cells: list[CellSummary]) -> str:
    found = sorted({cell.outcome.value for cell in cells if cell.outcome is not None})
    return ", ".join(found)
