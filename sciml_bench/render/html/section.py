"""One run as a section of the page."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from sciml_bench.analysis.loaded_run import LoadedRun
from sciml_bench.analysis.notes import cheapest, family
from sciml_bench.analysis.summary import RunSummary
from sciml_bench.analysis.sweep import sweep_tables
from sciml_bench.analysis.table import Column
from sciml_bench.analysis.tables import sweep as sweep_text
from sciml_bench.analysis.tables.advice import advice_table
from sciml_bench.render.html import facts
from sciml_bench.render.html.claim import Tested, under_test
from sciml_bench.render.html.explained import PageBudget, page_budget
from sciml_bench.render.html.figures import Figure, Looks, Picture, drawing, figures
from sciml_bench.render.html.problem import Division, ProblemView, problem_view
from sciml_bench.render.html.records import CellRecords, cell_records, failure_table, skipped_table
from sciml_bench.render.html.table import Entry, Places, Table
from sciml_bench.render.html.verdicts import standing_text


def _sweep_tables(summary: RunSummary, prefix: str, places: Places) -> Iterator[Table]:
    """How cost grows over a sweep; none for any other run. How to read the tables stands below the first."""
    found = list(sweep_tables(summary))
    for number, table in enumerate(found):
        shown = sweep_text.sweep_table(table)
        reading = "" if number else sweep_text.reading_help(found)
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
    more_wins: Table | None
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
    """The section of a run, the ``number``-th of the page from 1. ``say`` is told what is being drawn."""
    budget = page_budget(loaded.summary)
    with drawing(loaded.summary, f"r{number}-", budget, processes) as pictures:
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
    advised = analysis.advice if len(problems) > 1 else ()
    return Section(
        id=f"r{number}",
        name=loaded.name,
        facts=tuple(facts.facts(loaded, now)),
        warnings=tuple(_warnings(loaded)),
        headline=tuple(_headline(problems, loaded)),
        tested=under_test(loaded, f"r{number}", places),
        wins=_wins(problems, f"r{number}-wins", places, first=True),
        more_wins=_wins(problems, f"r{number}-more-wins", places, first=False),
        advice=places.table(f"r{number}-advice", advice_table(advised)) if advised else None,
        unmeasured=tuple(facts.unmeasured(loaded)),
        sweep=tuple(_sweep_tables(summary, f"r{number}-sweep", places)),
        problems=tuple(problems),
        across=tuple(figures(next(pictures), places, looks)),
        failures=failure_table(loaded, places),
        skipped=skipped_table(loaded, places.prefix),
        account=analysis.cell_tally.sentence,
        rule=" ".join(filter(None, family(analysis.standings))) if analysis.standings.family else "",
        environment=tuple(facts.environment_rows(loaded.environment)),
        records_file="records.jsonl",
        records=tuple(cell_records(loaded, places)),
    )


def _warnings(loaded: LoadedRun) -> Iterator[str]:
    if not loaded.traces and loaded.damaged:
        yield (
            f"No record of this run can be read ({loaded.damaged[0].reason}; {len(loaded.damaged)} lines of "
            "records.jsonl): what is shown is its plan."
        )
    elif not loaded.traces:
        yield "This run has no record yet: nothing was measured, so there is nothing to show but its plan."
    elif not any(cell.timed for cell in loaded.summary.cells.values()):
        yield "No cell of this run has a time: everything that ran failed. What failed, and why, is told below."
    if why := loaded.analysis.why_not_comparable:
        yield f"Not comparable: {why}."


def _divisions(problems: list[ProblemView]) -> Iterator[tuple[ProblemView, Division, bool]]:
    """The tables with a winner; the first of each problem, which is that of recommended ways, is told apart."""
    for problem in problems:
        for number, division in enumerate(item for item in problem.divisions if item.win is not None):
            yield problem, division, number == 0


def _headline(problems: list[ProblemView], loaded: LoadedRun) -> Iterator[str]:
    """The verdicts in numbers, and how often each cell wins."""
    words = [division.win.word for _, division, first in _divisions(problems) if first and division.win]
    if not words or not loaded.comparable:
        return
    clear, shared, alone = (words.count(word) for word in ("fastest", "shared", "alone"))
    told = (
        (clear, "one cell is faster than all others"),
        (
            shared,
            "no cell is faster than all others: the table names the shortest time, and which others may be as fast",
        ),
        (alone, "only one reaches the accuracy"),
    )
    parts = [f"on {count} of {len(words)} problems {what}" for count, what in told if count]
    text = "; ".join(parts)
    yield f"{text[0].upper()}{text[1:]}." if text else ""
    wins: dict[str, int] = {}
    for _, division, first in _divisions(problems):
        if first and division.win and division.win.word == "fastest":
            wins[division.winner] = wins.get(division.winner, 0) + 1
    if len(words) > 1 and wins:
        listed = ", ".join(f"{name} on {count}" for name, count in sorted(wins.items(), key=lambda item: -item[1]))
        yield f"Clear wins: {listed}."


_CHEAPEST = "the cheapest for so many gradients, from the start of the process"
_HEADINGS = (
    Column("problem"), Column("fastest"), Column("time", True), Column("at"),
    Column("how sure", wide=True), *(Column(f"best for {n}", meaning=_CHEAPEST) for n in ("10", "1\u00a0000", "10⁵")),
    Column("records"),
)  # fmt: skip


def _wins(problems: list[ProblemView], id_: str, places: Places, *, first: bool) -> Table | None:
    rows: list[tuple[Entry, ...]] = []
    for problem, division, leads in _divisions(problems):
        found = division.win
        if found is None or leads is not first:
            continue
        best = {item.gradients: cheapest(item) for item in found.choice.best} if found.choice else {}
        seconds = found.time.seconds
        rows.append(
            (
                Entry(problem.name, division.name, link=division.id if not first else problem.id),
                Entry(division.winner, mark=found.word),
                Entry(division.time, f"a {found.quantity}", value=seconds.median if seconds else None),
                # Between words a line may end, but not in the middle of 1e-7.
                Entry(found.at.replace("-", "-\u2060")),
                Entry(standing_text(found), mark=found.word),
                *(Entry(best.get(gradients, "–")) for gradients in (10, 1_000, 100_000)),
                places.entry(found.row.summary.cell_id),
            )
        )
    if not rows:
        return None
    caption = "Who wins where" if first else "Who wins in the other tables: matched groups, and further combinations"
    return Table(id_, caption, _HEADINGS, tuple(rows))
