"""The script of a cell that somebody names."""

from __future__ import annotations

from collections.abc import Sequence

from sciml_bench.adapters.registry import adapters
from sciml_bench.adapters.script import script_of
from sciml_bench.errors import UsageError
from sciml_bench.planning.plan import make_plan
from sciml_bench.planning.problems import entry_named
from sciml_bench.planning.profiles import SCREENING
from sciml_bench.planning.selection import Selection
from sciml_bench.planning.settings import Settings
from sciml_bench.record.task import DEFAULT_SAVING, Cell, Point


def script_of_cell(problem: str, words: Sequence[str], rtol: float) -> str:
    """The script of a cell of a problem, of the catalog or a file: adapter, method, sensitivity, mode, and saving.

    Raises:
        UsageError: there is no such problem or cell, or no script of it.
        ProblemError: the problem file is wrong.
    """
    entry = entry_named(problem)
    adapter, method, sensitivity, mode, *saving = words
    cell = Cell(entry.name, adapter, method, sensitivity, mode, saving=saving[0] if saving else DEFAULT_SAVING)
    plan = make_plan(Selection(cells=(cell.label,)), adapters((adapter,)), SCREENING, Settings(), chosen=(entry,))
    refusal = plan.adapters[adapter].why_not(cell, entry.facts)
    if refusal is not None:
        raise UsageError(f"{cell.solver} cannot run {entry.name}: {refusal}")
    return script_of(plan.adapters[adapter], plan.task_factory.task(cell, block=0), Point(rtol=rtol, atol=rtol))
