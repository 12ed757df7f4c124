"""The failures of a run: each with its outcome, its phase, one line of reason, and the command that reruns it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from sciml_bench.analysis.advice.next_way import next_way
from sciml_bench.analysis.process_summary import ProcessSummary
from sciml_bench.analysis.summary import CellSummary, RunSummary
from sciml_bench.planning.purpose import kept_file
from sciml_bench.planning.written_plan import WrittenPlan
from sciml_bench.record.outcome import Outcome
from sciml_bench.record.retry_policy import RESULTS

_LONGEST_REASON = 160


@dataclass(frozen=True)
class Failure:
    """Points of one cell that failed in the same way. ``whole_cell`` if none of its points is ok.

    ``rerun`` is the command that measures the cell again, ``next_command`` one that tries the next way, and
    ``next_reason`` why that one; both are empty if no other way is known.
    """

    label: str
    outcome: Outcome
    phase: str | None
    reason: str
    points: int
    of_points: int
    whole_cell: bool
    rerun: str
    next_reason: str = ""
    next_command: str = ""


def failures(summary: RunSummary) -> list[Failure]:
    """Every failure, cells that failed altogether first."""
    found = [failure for cell in summary.cells.values() for failure in _of_cell(cell, summary)]
    return sorted(found, key=lambda failure: not failure.whole_cell)


def broken(summary: RunSummary) -> bool:
    """Return whether any process, point or training ended in a way that says nothing about a solver."""
    return any(
        outcome not in RESULTS
        for cell in summary.cells.values()
        for process in cell.processes
        for outcome in (process.outcome, *(point.outcome for point in process.points), *_of_training(process))
    )


def _of_training(process: ProcessSummary) -> tuple[Outcome, ...]:
    return () if process.training is None else (process.training.outcome,)


def _of_cell(cell: CellSummary, summary: RunSummary) -> list[Failure]:
    plan = summary.plan
    counts: dict[tuple[Outcome, str | None], int] = {}
    messages: dict[tuple[Outcome, str | None], str] = {}
    total = 0
    for process in cell.processes:
        ends = process.points or (process,)
        total += len(ends)
        for end in ends:
            if end.outcome is not Outcome.OK:
                # The first call of a kind has a separate phase; failing there is the same failure.
                key = (end.outcome, end.phase.removeprefix("first_") if end.phase else None)
                counts[key] = counts.get(key, 0) + 1
                messages.setdefault(key, end.message)
    nexts = {key: next_way(cell, *key, summary) for key in counts}
    return [
        Failure(
            label=cell.cell.label,
            outcome=outcome,
            phase=phase,
            reason=one_line(messages[outcome, phase]) or outcome.sentence,
            points=count,
            of_points=total,
            whole_cell=not cell.measured,
            rerun=rerun_command(cell.cell.label, plan),
            next_reason=found.why if (found := nexts[outcome, phase]) else "",
            next_command=rerun_command(found.label, plan) if found else "",
        )
        for (outcome, phase), count in counts.items()
    ]


def one_line(text: str) -> str:
    """The first line that says something, shortened."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= _LONGEST_REASON else f"{line[: _LONGEST_REASON - 1]}…"


def rerun_command(label: str, plan: WrittenPlan) -> str:
    """The command that measures one cell of a plan again: alone, or, at the tolerances of a claim, as its side."""
    problem = label.split("/")[0]
    files = [item.file for item in plan.problems if item.name == problem and item.file]
    claims = [claim for claim, sides in plan.sides.items() if any(label in cells for cells in sides.values())]
    if claims and files:
        folder = Path(files[0]).parent.parent
        words = ["sciml-bench", "claims", "run", *(str(kept_file(folder, claim)) for claim in claims)]
    else:
        words = ["sciml-bench", "run", *files, "--cell", label]
    words += ["--profile", plan.profile.name]
    settings = plan.settings
    if settings.timeout_s != plan.profile.timeout_s:
        words += ["--timeout", f"{settings.timeout_s:g}"]
    if settings.threads != 1:
        words += ["--threads", str(settings.threads)]
    if settings.memory_limit_bytes:
        words += ["--memory-limit", f"{settings.memory_limit_bytes // 2**20}M"]
    return shlex.join(words)
