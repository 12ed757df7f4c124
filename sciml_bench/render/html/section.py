"""One run as a section of the page."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from sciml_bench.analysis.advice.answer import certainty, cheapest, time_text
from sciml_bench.analysis.advice.break_even import GRADIENTS
from sciml_bench.analysis.loaded_run import LoadedRun
from sciml_bench.analysis.ranking import Lead, time_of
from sciml_bench.analysis.summary import RunSummary
from sciml_bench.analysis.sweep import sweep_tables
from sciml_bench.analysis.tables.advice import advice_table
from sciml_bench.analysis.tables.footnotes import family
from sciml_bench.analysis.tables.sweep import reading_help, sweep_table
from sciml_bench.analysis.tables.table import Column
from sciml_bench.render.html import facts
from sciml_bench.render.html.claim import Tested, under_test
from sciml_bench.render.html.drawings import Picture, drawing
from sciml_bench.render.html.figures import Figure, figures
from sciml_bench.render.html.looks import Looks
from sciml_bench.render.html.page_budget import PageBudget, page_budget
from sciml_bench.render.html.problem import ProblemView, problem_view
from sciml_bench.render.html.records import CellRecords, cell_records, failure_table, skipped_table
from sciml_bench.render.html.table import Entry, Places, Table


def _sweep_tables(summary: RunSummary, prefix: str, places: Places) -> Iterator[Table]:
    """Return how cost grows over a sweep; empty for any other run. Instructions are below the first table."""
    found = list(sweep_tables(summary))
    for number, table in enumerate(found):
        shown = sweep_table(table)
        reading = "" if number else reading_help(found)
        yield places.table(f"{prefix}-{number}", replace(shown, reading=reading))


Say = Callable[[str], None]


@dataclass(frozen=True)
class Section:
    """Everything that the page says of one run."""

    id: str
    name: str
    facts: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    headline: tuple[str, ...]
    tested: tuple[Tested, ...]
    wins: Table | None
    advice: Table | None
    unmeasured: tuple[str, ...]
    sweep: tuple[Table, ...]
    problems: tuple[ProblemView, ...]
    across: tuple[Figure, ...]
    failures: Table | None
    skipped: Table | None
    account: str
    rule: str
    environment: tuple[tuple[str, str], ...]
    records_file: str
    records: tuple[CellRecords, ...]


def section(
    loaded: LoadedRun, number: int, now: datetime.datetime, looks: Looks, say: Say, processes: int = 1
) -> Section:
    """The section of a run, the ``number``-th of the page from 1. ``say`` gets the current work."""
    budget = page_budget(loaded.summary)
    with drawing(loaded.analysis, f"r{number}-", budget, processes) as pictures:
        return _section(loaded, number, now, looks, budget, pictures, say)


def _section(
    loaded: LoadedRun,
    number: int,
    now: datetime.datetime,
    looks: Looks,
    budget: PageBudget,
    pictures: Iterator[list[Picture]],
    say: Say,
) -> Section:
    summary = loaded.summary
    places = Places(f"r{number}-", summary.cells, loaded.counting())
    analysis = loaded.analysis
    problems: list[ProblemView] = []
    for problem in analysis.problems:
        say(problem.name)
        problems.append(problem_view(loaded, problem, places, next(pictures), looks, budget))
    say("across problems")
    advised = analysis.advice
    return Section(
        id=f"r{number}",
        name=loaded.name,
        facts=tuple(facts.facts(loaded, now)),
        warnings=tuple(_warnings(loaded)),
        headline=tuple(_headline(loaded)),
        tested=under_test(loaded, f"r{number}", places),
        wins=_wins(problems, loaded, f"r{number}-wins", places),
        advice=places.table(f"r{number}-advice", advice_table(advised)) if advised else None,
        unmeasured=tuple(facts.unmeasured(loaded)),
        sweep=tuple(_sweep_tables(summary, f"r{number}-sweep", places)),
        problems=tuple(problems),
        across=tuple(figures(next(pictures), places, looks)),
        failures=failure_table(loaded, places),
        skipped=skipped_table(loaded, places.prefix),
        account=analysis.cell_tally.sentence,
        rule=" ".join(filter(None, family(analysis.judged))) if analysis.judged and analysis.judged.family else "",
        environment=tuple(facts.environment_rows(loaded.environment)),
        records_file="records.jsonl",
        records=tuple(cell_records(loaded, places)),
    )


def _warnings(loaded: LoadedRun) -> Iterator[str]:
    if not loaded.traces and loaded.damaged:
        yield (
            f"No record of this run can be read ({loaded.damaged[0].reason}; {len(loaded.damaged)} lines of "
            "records.jsonl): only its plan is shown."
        )
    elif not loaded.traces:
        yield "This run has no record yet: nothing was measured, so there is nothing to show but its plan."
    elif not any(cell.timed for cell in loaded.summary.cells.values()):
        yield "No cell of this run has a time: everything that ran failed. See the failures below."
    if why := loaded.analysis.why_not_comparable:
        yield f"Not comparable: {why}."


def _headline(loaded: LoadedRun) -> Iterator[str]:
    """Return how often there is a winner, and which way wins how often."""
    found = [problem.answer.ranking for problem in loaded.analysis.problems if problem.answer.ranking is not None]
    if not found or not loaded.comparable:
        return
    told = (
        (Lead.CLEAR, "one way is faster than all others"),
        (Lead.SAME, "the fastest ways are the same within 5 %"),
        (Lead.UNDECIDED, "it is undecided which way is fastest"),
        (Lead.ALONE, "only one way reaches the accuracy"),
    )
    counts = {lead: sum(item.lead is lead for item in found) for lead, _ in told}
    parts = [f"on {counts[lead]} of {len(found)} problems {what}" for lead, what in told if counts[lead]]
    yield f"{'; '.join(parts)}.".capitalize()
    wins = Counter(item.fastest.name for item in found if item.lead is Lead.CLEAR)
    if len(found) > 1 and wins:
        yield f"Clear wins: {', '.join(f'{name} on {count}' for name, count in wins.most_common())}."


_CHEAPEST = "the cheapest for the given number of gradients, from the start of the process"
_HEADINGS = (
    Column("problem"), Column("fastest"), Column("time", True), Column("at"),
    Column("against the others", wide=True),
    *(Column(f"best for {n}", meaning=_CHEAPEST) for n in ("10", "1\u00a0000", "10⁵")),
    Column("records"),
)  # fmt: skip


def _wins(problems: list[ProblemView], loaded: LoadedRun, id_: str, places: Places) -> Table | None:
    """The answer of each problem in one row."""
    rows: list[tuple[Entry, ...]] = []
    for view, problem in zip(problems, loaded.analysis.problems, strict=True):
        answer, found = problem.answer, problem.answer.ranking
        if found is None:
            continue
        best = {item.gradients: cheapest(item) for item in answer.choice.best} if answer.choice else {}
        seconds = time_of(found.fastest, found.quantity).seconds
        text = time_text(found.fastest, found.quantity)
        rows.append(
            (
                Entry(problem.name, link=view.id),
                Entry(found.fastest.name, mark=found.lead.value),
                Entry(text, f"a {found.quantity}", value=seconds.median if seconds else None),
                # Between words a line may end, but not in the middle of 1e-7.
                Entry(answer.at(found.quantity).replace("-", "-\u2060")),
                Entry(certainty(found, answer.why_not), mark=found.lead.value),
                *(Entry(best.get(gradients, "–")) for gradients in GRADIENTS),
                places.entry(found.fastest.summary.cell_id),
            )
        )
    return Table(id_, "The fastest way for each problem", _HEADINGS, tuple(rows)) if rows else None
