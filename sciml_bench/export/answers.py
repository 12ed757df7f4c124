"""The answers of runs as rows: for each problem the fastest way, its certainty, and the cheapest way."""

from __future__ import annotations

from collections.abc import Iterator

from sciml_bench.analysis.advice.answer import Answer
from sciml_bench.analysis.advice.break_even import GRADIENTS
from sciml_bench.analysis.analysis import Analysis
from sciml_bench.analysis.ranking import Lead, time_of
from sciml_bench.export.column import Column, Kind, Row, Value

COLUMNS = (
    Column("run", Kind.TEXT, "name of the run folder"),
    Column("problem", Kind.TEXT, "name of the problem"),
    Column("quantity", Kind.TEXT, "gradient, or solve if no gradient has a time"),
    Column("at", Kind.TEXT, "accuracy at which times are compared"),
    Column("verdict", Kind.TEXT, "fastest, same, undecided, alone, provisional or shown (not compared)"),
    *(
        Column(name, Kind.TEXT, "of the cell with the least time")
        for name in ("adapter", "method", "sensitivity", "mode", "precision", "device", "saving")
    ),
    Column("seconds", Kind.NUMBER, "its time per call"),
    Column("next", Kind.TEXT, "the closest other cell"),
    Column("next_ratio", Kind.NUMBER, "its time over the time of the fastest"),
    Column("next_ratio_low_95", Kind.NUMBER, "lower end of its interval"),
    Column("next_ratio_high_95", Kind.NUMBER, "upper end of its interval"),
    *(
        column
        for count in GRADIENTS
        for column in (
            Column(f"cheapest_{count}", Kind.TEXT, f"cell with the least total for {count} gradients"),
            Column(f"cheapest_{count}_verdict", Kind.TEXT, "cheapest, same or undecided"),
        )
    ),
)
"""The columns of an answer."""


def answer_rows(analysis: Analysis) -> Iterator[Row]:
    """One row for each problem that has a time."""
    for problem in analysis.problems:
        row = _row(analysis.folder.name, problem.answer)
        if row is not None:
            yield row


def _row(run: str, answer: Answer) -> Row | None:
    found = answer.ranking
    if found is None:
        return None
    cell, seconds = found.fastest.summary.cell, time_of(found.fastest, found.quantity).seconds
    second = min(found.standings, key=lambda item: item.judgement.ratio.estimate, default=None)
    ratio = None if second is None else second.judgement.ratio
    chosen = {} if answer.choice is None else {item.gradients: item for item in answer.choice.best}
    cheapest: list[Value] = []
    for count in GRADIENTS:
        item = chosen.get(count)
        cheapest += [None, None] if item is None else [item.row.name, _word(item.lead, "cheapest")]
    return (
        run,
        answer.problem,
        found.quantity,
        answer.at(found.quantity),
        _word(found.lead, "fastest"),
        *(cell.adapter, cell.method, cell.sensitivity, cell.mode, cell.precision, cell.device, cell.saving),
        None if seconds is None else seconds.median,
        None if second is None else second.row.name,
        *((None, None, None) if ratio is None else (ratio.estimate, ratio.low, ratio.high)),
        *cheapest,
    )


def _word(lead: Lead, clear: str) -> str:
    return clear if lead is Lead.CLEAR else lead.value
